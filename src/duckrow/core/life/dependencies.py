"""Jobs that wait for other jobs: how that is written, and what the end of one means for the other."""

from __future__ import annotations

from collections.abc import Iterable

from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import SKIP
from duckrow.core.life.states import Outcome
from duckrow.core.named_tuple import NamedTuple

OK, ANY, FAILED = "ok", "any", "failed"
_WORDS = {
    "ok": OK, "afterok": OK, "success": OK, "any": ANY, "afterany": ANY, "after": ANY,
    "failed": FAILED, "afternotok": FAILED, "notok": FAILED,
}  # fmt: skip
_ENDS = {OK: "succeed", ANY: "end", FAILED: "fail"}
_NAMED = 3  # jobs that are named one by one


class Dependency(NamedTuple):
    """A job, by its words, and how it must end."""

    words: str
    condition: str


def parse_after(text: str) -> list[Dependency]:
    """`12`, `12,13`, `any:12`, `failed:prep`, Slurm's `afterok:12:13,afterany:14`."""
    condition = OK
    found: list[Dependency] = []
    for part in text.split(","):
        head, colon, rest = part.partition(":")
        if colon:
            if head.lower() not in _WORDS:
                raise UsageError(f"--after {text}: '{head}' is not a condition. Write ok:12, any:12 or failed:12.")
            condition = _WORDS[head.lower()]
        found += [Dependency(name, condition) for name in (rest.split(":") if colon else [part]) if name]
    if not found:
        raise UsageError(f"--after {text} names no job. Write --after 12 or --after any:12,13.")
    return found


def is_met(condition: str, outcome: Outcome) -> bool:
    """Whether a job that waits may go on, now that the one before it has ended so."""
    if condition == ANY:
        return True
    return (outcome is Outcome.SUCCEEDED) == (condition == OK)


def is_skipped(condition: str, outcome: Outcome, if_broken: str) -> bool:
    """Whether a job that waits can never start, now that the one before it has ended so, and is not to wait for a
    rerun of that one."""
    return if_broken == SKIP and not is_met(condition, outcome)


class AwaitedJob(NamedTuple):
    """A job that another one waits for, or has waited for."""

    on_job_id: int
    condition: str
    met: int = 0
    array_id: int | None = None
    array: str = ""  # its name


def awaited_in_words(jobs: Iterable[AwaitedJob]) -> list[str]:
    """`job 12 to succeed`; many at once, and those of an array: `300 jobs of the array fit to succeed: 4-303`."""
    from duckrow.core.life.failures import compact_ids  # most verbs only ask what an end means

    alike: dict[tuple[str, int | None], list[AwaitedJob]] = {}
    for job in jobs:
        alike.setdefault((job.condition, job.array_id), []).append(job)
    told: list[str] = []
    for (condition, array_id), some in alike.items():
        if len(some) <= (_NAMED if array_id is None else 1):
            told += [in_words(condition, job.on_job_id) for job in some]
        else:
            of_array = f" of the array {some[0].array}" if array_id is not None else ""
            ids = compact_ids(job.on_job_id for job in some)
            told.append(f"{len(some)} jobs{of_array} to {_ENDS[condition]}: {ids}")
    return told


def in_words(condition: str, job_id: int) -> str:
    """`job 12 to succeed`."""
    return f"job {job_id} to {_ENDS[condition]}"
