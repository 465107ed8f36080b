"""Jobs that wait for other jobs: how that is written, and what the end of one means for the other."""

from __future__ import annotations

from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import SKIP
from duckrow.core.life.states import Outcome
from duckrow.core.named_tuple import NamedTuple

OK, ANY, FAILED = "ok", "any", "failed"
_WORDS = {
    "ok": OK, "afterok": OK, "success": OK, "any": ANY, "afterany": ANY, "after": ANY,
    "failed": FAILED, "afternotok": FAILED, "notok": FAILED,
}  # fmt: skip


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


def in_words(condition: str, job_id: int) -> str:
    """`job 12 to succeed`."""
    return f"job {job_id} to {({OK: 'succeed', ANY: 'end', FAILED: 'fail'})[condition]}"
