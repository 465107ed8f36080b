"""Which jobs are meant, by what they are; `selection` has the words that name single ones."""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.named_tuple import NamedTuple

NO_FAILURES = ("succeeded", "skipped")
"""The outcomes with which nothing went wrong."""

MARKS = {"held": ("queued",), "suspended": ("starting", "running")}
"""What a list says beside a state, `queued (held)`, and of which states; it can be asked for like these."""

_NOT_DONE = ("queued", "starting", "running", "stopping")


class Filter(NamedTuple):
    """A job must match everything that is set. Of several states or outcomes, one is enough."""

    statuses: Sequence[str] = ()  # states and outcomes, and marks
    project: str | None = None
    name: str | None = None  # a glob: train-*
    since_s: float | None = None  # created within these seconds
    older_than_s: float | None = None
    failed: bool = False  # done, and something went wrong
    ids: Sequence[int] | None = None
    sweep_id: int | None = None
    text: str | None = None  # a part of its name, project or command; or its id
    not_of_hosts: Sequence[int] = ()  # without jobs that wait for these

    def wants(self, status: str) -> bool:
        """Whether jobs in this state, or with this outcome, can match."""
        is_done = status not in _NOT_DONE
        if self.failed and (not is_done or status in NO_FAILURES):
            return False
        if not self.statuses or status in self.statuses or (is_done and "done" in self.statuses):
            return True
        return any(status in MARKS.get(word, ()) for word in self.statuses)
