"""The summary of a run: counts, and its failures grouped by their error."""

from __future__ import annotations

from collections import Counter

from duckrow.cli.console import clean
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import shorten
from duckrow.core.life.failures import essence
from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import Outcome
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.units import format_duration
from duckrow.kernel.log_ends import LINE_SHOWN, last_lines

_GROUPS_SHOWN = 3
_LINES_SHOWN = 5
_FAILURES_KEPT = 20_000  # failures whose logs are read to group them; the others are only counted
_COMMANDS_LISTED = 5


class EndedJob(NamedTuple):
    attempt: LiveAttempt
    outcome: Outcome
    at: float
    detail: str

    @property
    def duration_s(self) -> float:
        return self.at - self.attempt.started_at

    def reason(self) -> str:
        """Why, in a few words."""
        if self.outcome is Outcome.FAILED and self.attempt.exit_code is not None:
            return f"exit {self.attempt.exit_code}"
        if self.outcome is Outcome.TIMED_OUT and self.attempt.job.timeout_s is not None:
            return f"ended by its time limit of {format_duration(self.attempt.job.timeout_s)}"
        if self.attempt.signal is not None:
            return f"{self.outcome} by signal {self.attempt.signal}"
        return f"{self.outcome}"


class Report:
    def __init__(self) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self.failures: list[EndedJob] = []
        self.total_s = 0.0

    def add(self, attempt: LiveAttempt, verdict: Verdict, at: float) -> EndedJob:
        ending = EndedJob(attempt, verdict.outcome, at, verdict.detail)
        if not verdict.again:
            self.outcomes[verdict.outcome] += 1
            self.total_s += ending.duration_s
            if verdict.outcome is not Outcome.SUCCEEDED and len(self.failures) < _FAILURES_KEPT:
                self.failures.append(ending)
        return ending

    def take_back(self, job_id: int) -> None:
        """The job was counted as failed, but is retried after all."""
        self.outcomes[Outcome.FAILED] -= 1
        for ending in [ending for ending in self.failures if ending.attempt.job.id == job_id][-1:]:
            self.failures.remove(ending)
            self.total_s -= ending.duration_s

    @property
    def finished(self) -> int:
        return self.outcomes.total()

    @property
    def failed(self) -> int:
        return self.finished - self.outcomes[Outcome.SUCCEEDED]

    def headline(
        self, elapsed_s: float, left: int, succeeded_before: int = 0, refused: int = 0, skipped: int = 0
    ) -> str:
        """`skipped`: without an attempt, as they were no longer wanted."""
        parts = [f"{self.outcomes[Outcome.SUCCEEDED]} succeeded"]
        parts += [
            f"{count} {outcome}"
            for outcome, count in self.outcomes.items()
            if count and outcome is not Outcome.SUCCEEDED
        ]
        if refused:
            parts.append(f"{refused} refused")
        if succeeded_before:
            parts.append(f"{succeeded_before} succeeded earlier")
        if skipped:
            parts.append(f"{skipped} skipped")
        if left:
            parts.append(f"{left} not started")
        return f"{', '.join(parts)}, in {format_duration(elapsed_s)}."

    def failure_lines(self) -> list[str]:
        """The first failures of each kind with the end of their log; the same error is shown once, with a count."""
        groups: dict[tuple[str, str], list[EndedJob]] = {}
        for ending in self.failures:
            if ending.outcome is Outcome.KILLED and ending.detail == "interrupted":
                continue
            error = ending.detail or next(iter(last_lines(ending.attempt.log, 1, longest=LINE_SHOWN)), "")
            groups.setdefault((ending.reason(), essence(error)), []).append(ending)
        lines: list[str] = []
        shown = sorted(groups.items(), key=lambda group: -len(group[1]))
        for (reason, _), endings in shown[:_GROUPS_SHOWN]:
            lines += _group_lines(reason, endings)
        if len(shown) > _GROUPS_SHOWN:
            rest = sum(len(endings) for _, endings in shown[_GROUPS_SHOWN:])
            lines.append(f"  and {rest} more, with {len(shown) - _GROUPS_SHOWN} other errors.")
        if self.failed > len(self.failures):
            lines.append(f"  and {self.failed - len(self.failures)} more.")
        return lines


def _group_lines(reason: str, endings: list[EndedJob]) -> list[str]:
    first = endings[0]
    if len(endings) == 1:
        lines = [f"  {first.attempt.job.words}, {reason}: {clean(shorten(first.attempt.job.title, 100))}"]
    else:
        listed = ", ".join(str(ending.attempt.job.id) for ending in endings[:_COMMANDS_LISTED])
        more = ", ..." if len(endings) > _COMMANDS_LISTED else ""
        lines = [
            f"  {len(endings)} jobs ({listed}{more}), {reason}; the first: "
            f"{clean(shorten(first.attempt.job.title, 100))}"
        ]
    if first.detail:
        lines.append(f"    | {clean(first.detail)}")
    lines += [f"    | {clean(line)}" for line in last_lines(first.attempt.log, _LINES_SHOWN, longest=LINE_SHOWN)]
    return lines
