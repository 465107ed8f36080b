"""What a run has come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from duckrow.cli.views.run_report import Report
from duckrow.core.jobs.attempt import Exit, LiveAttempt
from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import Outcome
from tests.core.language import attempt, job


class Endings:
    """A report, and jobs that end for it, each with a log of its own."""

    def __init__(self, folder: Path) -> None:
        self.report = Report()
        self._folder = folder
        self._count = 0

    def add(
        self,
        outcome: Outcome = Outcome.FAILED,
        log: str = "",
        exit_code: int | None = 1,
        signal: int | None = None,
        again: bool = False,
        detail: str = "",
        timeout_s: float | None = None,
    ) -> LiveAttempt:
        self._count += 1
        path = self._folder / f"{self._count}.log"
        path.write_text(log)
        ended = attempt(
            job(id=self._count, command=f"python train.py --seed {self._count}", timeout_s=timeout_s),
            log=str(path),
            end=Exit(exit_code, signal),
        )
        self.report.add(ended, Verdict(outcome, again, detail=detail), 1010.0)
        return ended

    def lines(self) -> list[str]:
        return self.report.failure_lines()


@pytest.fixture
def endings(tmp_path: Path) -> Endings:
    return Endings(tmp_path)


def test_a_failure_is_shown_with_the_end_of_its_log(endings: Endings) -> None:
    endings.add(log="epoch 1\n\nTraceback:\nValueError: no\n", exit_code=3)
    assert endings.lines() == [
        "  job 1, exit 3: python train.py --seed 1",
        "    | epoch 1",
        "    | Traceback:",
        "    | ValueError: no",
    ]


def test_only_the_last_lines_of_a_log_are_shown(endings: Endings) -> None:
    endings.add(log="".join(f"line {number}\n" for number in range(20)))
    assert endings.lines()[1:] == [f"    | line {number}" for number in range(15, 20)]


def test_the_same_error_is_shown_once_with_a_count(endings: Endings) -> None:
    for seed in range(3):
        endings.add(log=f"seed {seed}\nCUDA out of memory\n")
    assert endings.lines() == [
        "  3 jobs (1, 2, 3), exit 1; the first: python train.py --seed 1",
        "    | seed 0",
        "    | CUDA out of memory",
    ]


def test_a_long_list_of_the_same_error_is_cut(endings: Endings) -> None:
    for _ in range(7):
        endings.add(log="no\n")
    assert endings.lines()[0].startswith("  7 jobs (1, 2, 3, 4, 5, ...), exit 1; the first: ")


def test_different_errors_are_shown_apart_and_the_most_frequent_first(endings: Endings) -> None:
    endings.add(log="rare\n")
    endings.add(log="often\n")
    endings.add(log="often\n")
    headings = [line for line in endings.lines() if not line.startswith("    |")]
    assert headings == [
        "  2 jobs (2, 3), exit 1; the first: python train.py --seed 2",
        "  job 1, exit 1: python train.py --seed 1",
    ]


def test_the_same_last_line_with_another_exit_code_is_another_error(endings: Endings) -> None:
    endings.add(log="no\n", exit_code=1)
    endings.add(log="no\n", exit_code=2)
    assert len([line for line in endings.lines() if line.startswith("  job")]) == 2


def test_more_kinds_of_errors_than_fit_are_counted(endings: Endings) -> None:
    for error in ("one", "two", "three", "four", "five", "five"):
        endings.add(log=f"error {error}\n")
    lines = endings.lines()
    assert len([line for line in lines if line.startswith(("  job", "  2 jobs"))]) == 3
    assert lines[-1] == "  and 2 more, with 2 other errors."


def test_a_reason_of_ours_stands_before_the_log(endings: Endings) -> None:
    endings.add(log="half\n", exit_code=None, outcome=Outcome.LOST, detail="its process vanished")
    assert endings.lines() == [
        "  job 1, lost: python train.py --seed 1",
        "    | its process vanished",
        "    | half",
    ]


@pytest.mark.parametrize(
    ("outcome", "exit_code", "signal", "reason"),
    [
        (Outcome.FAILED, 2, None, "exit 2"),
        (Outcome.FAILED, None, 11, "failed by signal 11"),
        (Outcome.KILLED, None, 9, "killed by signal 9"),
        (Outcome.TIMED_OUT, 1, None, "timed-out"),
        (Outcome.LOST, None, None, "lost"),
    ],
)
def test_the_reason_is_a_few_words(
    endings: Endings, outcome: Outcome, exit_code: int | None, signal: int | None, reason: str
) -> None:
    endings.add(outcome, exit_code=exit_code, signal=signal)
    assert endings.lines() == [f"  job 1, {reason}: python train.py --seed 1"]


def test_the_reason_of_one_that_reached_its_time_limit_is_the_limit(endings: Endings) -> None:
    endings.add(Outcome.TIMED_OUT, exit_code=None, signal=15, timeout_s=90.0)
    assert endings.lines() == ["  job 1, ended by its time limit of 1m 30s: python train.py --seed 1"]


def test_what_was_interrupted_is_no_error_to_show(endings: Endings) -> None:
    endings.add(Outcome.KILLED, log="x\n", exit_code=None, signal=15, detail="interrupted")
    assert endings.lines() == []
    assert endings.report.failed == 1


def test_success_and_what_is_tried_again_are_no_failures(endings: Endings) -> None:
    endings.add(Outcome.SUCCEEDED, exit_code=0)
    endings.add(Outcome.FAILED, again=True)
    assert endings.lines() == []
    assert (endings.report.finished, endings.report.failed) == (1, 0)


def test_control_characters_of_a_log_do_not_reach_the_terminal(endings: Endings) -> None:
    endings.add(log="\x1b[2Jboo\a\n")
    assert endings.lines()[1] == "    |  [2Jboo "


def test_the_headline_counts_what_there_is_to_count(endings: Endings) -> None:
    endings.add(Outcome.SUCCEEDED)
    assert endings.report.headline(65.0, 0) == "1 succeeded, in 1m 05s."
    endings.add(Outcome.FAILED)
    endings.add(Outcome.TIMED_OUT)
    endings.add(Outcome.FAILED)
    assert endings.report.headline(3.0, left=4, succeeded_before=5, refused=6, skipped=7) == (
        "1 succeeded, 2 failed, 1 timed-out, 6 refused, 5 succeeded earlier, 7 skipped, 4 not started, in 3.0s."
    )


def test_time_is_summed_over_the_jobs_that_are_done(endings: Endings) -> None:
    endings.add(Outcome.SUCCEEDED)
    endings.add(Outcome.FAILED, again=True)
    endings.add(Outcome.FAILED)
    assert endings.report.total_s == 20.0
