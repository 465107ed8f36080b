"""The result of a verb: which jobs changed, which were refused and why, and how to undo it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from duckrow.api.queue.views import JobView
from duckrow.core.life.states import State, state_in_words
from duckrow.core.named_tuple import NamedTuple
from duckrow.store.jobs.jobs import Glance

if TYPE_CHECKING:
    from duckrow.api.client import Client


class RefusedChange(NamedTuple):
    id: int
    why: str  # a sentence without its full stop: job 7 is running, not done


J = TypeVar("J", JobView, Glance)  # all of a job, or only what hold and move need of many


@dataclass
class Changed(Generic[J]):
    before: dict[int, J]  # each existing job, as it was before
    done: list[int] = field(default_factory=list)
    refused: list[RefusedChange] = field(default_factory=list)
    undo: dict[str, Any] | None = None  # what the page sends to undo it, where that is possible

    @property
    def jobs(self) -> list[J]:
        return list(self.before.values())

    def refuse(self, job_id: int, why: str) -> None:
        self.refused.append(RefusedChange(job_id, why))

    def refuse_started(self) -> None:
        """Refuse all other jobs that were not changed: only a queued job can be."""
        answered = {*self.done, *(refused.id for refused in self.refused)}
        for job in self.jobs:
            if job.id in answered:
                continue
            if job.state == State.QUEUED:
                self.refuse(job.id, f"job {job.id} has already started and was not changed")
            else:
                now = state_in_words(job.state, job.outcome)
                self.refuse(job.id, f"job {job.id} {now}: only queued jobs can be changed")

    def as_json(self) -> dict[str, Any]:
        refused = [each._asdict() for each in self.refused]
        return {"done": self.done, "refused": refused, "undo": self.undo}


def look_at(client: Client, ids: Sequence[int]) -> Changed[JobView]:
    """An answer in which nothing is done yet; ids without a job are refused."""
    return _answer(client.views(list(dict.fromkeys(ids))), ids)


def glance_at(client: Client, ids: Sequence[int]) -> Changed[Glance]:
    return _answer(client.jobs.glance(dict.fromkeys(ids)), ids)


def _answer(found: Iterable[J], ids: Sequence[int]) -> Changed[J]:
    known = {job.id: job for job in found}
    changed = Changed({job_id: known[job_id] for job_id in dict.fromkeys(ids) if job_id in known})
    for job_id in ids:
        if job_id not in known:
            changed.refuse(job_id, f"there is no job {job_id}")
    return changed
