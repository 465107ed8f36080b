"""Which jobs are meant, by what they are; `selection` has the words that name single ones."""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.named_tuple import NamedTuple


class Filter(NamedTuple):
    """A job must match everything that is set. Of several states or outcomes, one is enough."""

    statuses: Sequence[str] = ()  # states and outcomes
    project: str | None = None
    name: str | None = None  # a glob: train-*
    since_s: float | None = None  # created within these seconds
    older_than_s: float | None = None
    failed: bool = False  # done, neither succeeded nor skipped
    ids: Sequence[int] | None = None
    sweep_id: int | None = None
    text: str | None = None  # a part of its name, project or command; or its id
    not_of_hosts: Sequence[int] = ()  # without jobs that wait for these
