"""What you see of a run while it is running."""

from __future__ import annotations

import math
import os
import sys
import time

from duckrow.cli.console import clean, paint, say
from duckrow.cli.options.verb_options import WatchOptions
from duckrow.cli.views.log_tail import GrowingLines
from duckrow.cli.views.run_report import Report
from duckrow.core.devices.device import describe_devices
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import shorten
from duckrow.core.life.pausing import resume_command
from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import Outcome
from duckrow.core.ports import Observer, Progress
from duckrow.core.units import format_duration, plural

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

_TOLD_BY_EXIT_CODE = (Outcome.SUCCEEDED, Outcome.FAILED)
_TOLD_AT_ONCE = 3  # failures that are reported at once; the others only at the end
_JUDGED_EVERY_S = 1.0
_TELLS_S = 1.0  # what should have ended by now takes longer than others did: nobody knows how much
PREFIX_COLOURS = ("cyan", "magenta", "yellow", "green", "blue")


class RunView(Observer):
    """Without a terminal: the first failures as they happen, and the summary."""

    pulse_s: float | None = None

    def __init__(self, is_of_list: bool = True) -> None:
        self._is_of_list = is_of_list  # else of one command, whose exit code is ours
        self.report = Report()
        self.began_mono = time.monotonic()
        self.run: Progress | None = None
        self._left_behind = 0  # jobs that succeeded, but left processes that had to be stopped
        self.last_code: int | None = None  # the exit code of the last job, as a shell reports it

    def attach(self, run: Progress) -> None:
        self.run = run

    def open(self) -> None: ...

    def close(self) -> None: ...

    def pulse(self) -> None: ...

    def tell(self, sentence: str) -> None:
        say(f"duckrow: {sentence}")

    def ended(self, attempt: LiveAttempt, verdict: Verdict, at: float) -> None:
        assert self.run is not None
        if attempt.job_host_id != self.run.host_id:
            return
        ending = self.report.add(attempt, verdict, at)
        self.last_code = attempt.exit_code if attempt.signal is None else 128 + attempt.signal
        if verdict.again:
            self.tell(f"{attempt.job.words}: {verdict.detail}.")
        elif not self._is_of_list and not verdict.detail and verdict.outcome in _TOLD_BY_EXIT_CODE:
            return  # it becomes our exit code
        elif verdict.outcome is not Outcome.SUCCEEDED and not self.run.interrupts:
            if self.report.failed <= _TOLD_AT_ONCE:
                why = f" ({verdict.detail})" if verdict.detail else ""
                what = f": {shorten(clean(attempt.job.title))}" if self._is_of_list else "."
                self.tell(f"{attempt.job.words}: {ending.reason()}{why}{what}")
            elif self.report.failed == _TOLD_AT_ONCE + 1:
                self.tell("further failures are counted at the end.")
        elif attempt.left_behind and self._left_behind < _TOLD_AT_ONCE:
            self._left_behind += 1
            self.tell(f"job {attempt.job.id}: {attempt.left_behind}. End the command with `wait` to let it finish.")

    def back(self, job_id: int) -> None:
        self.report.take_back(job_id)

    def trouble(self, sentence: str) -> None:
        self.tell(sentence)

    def trouble_over(self) -> None:
        self.tell("the problem is solved; continuing.")

    def event(self, what: str, detail: Any) -> None:
        """An event of the run itself."""
        assert self.run is not None
        running = len(self.run.running)
        them = "it" if running == 1 else "them"
        if what == "refused":
            self.tell(detail)
        elif what == "paused":
            project = "" if "" in detail else detail[0]
            self.tell(f"{project or 'everything'} is paused, so nothing starts. To continue: {resume_command(project)}")
        elif what == "waiting":
            self.tell(f"waiting: {'; '.join(detail)}. `duckrow ls` shows what runs, `duckrow gpus` who has the GPUs.")
        elif what == "unread":
            self.tell(
                f"{plural(detail, 'waiting job')} of this run: each starts when its line has been read, and is "
                "skipped if the list ends without it."
            )
        elif what == "unlisted":
            self.tell(_unlisted(*detail))
        elif what == "gave-up":
            self.tell(f"{plural(detail, 'failure')}: starting nothing more, {running} still running.")
        elif what == "interrupted" and detail == 1:
            again = "" if self.run.hung_up else f" Press Ctrl-C again to stop {them}."
            rest = f"; {plural(running, 'running job')} may finish.{again}" if running else "."
            self.tell(f"starting nothing more{rest}")
        elif what == "interrupted" and detail == 2:
            self.tell(f"stopping {plural(running, 'running job')}. Press Ctrl-C again to kill {them} at once.")


def _unlisted(waiting: int, reads_otherwise: bool) -> str:
    """About a list that a run was resumed with, and that cannot be what was meant."""
    kept = f"{plural(waiting, 'waiting job')} of this run: not found in the list, and kept. " if waiting else ""
    if reads_otherwise:
        return (
            f"{kept}The list was read with another --format or --delimiter than before, which is not remembered. If "
            "that was wrong, resume without it."
        )
    return f"{kept}Fix the lines that were refused, and resume again."


class FollowView(RunView):
    """All output; each line begins with its job."""

    pulse_s = 0.1

    def __init__(self) -> None:
        super().__init__()
        self._logs: dict[int, tuple[str, GrowingLines]] = {}

    def started(self, attempt: LiveAttempt) -> None:
        job = attempt.job
        colour = PREFIX_COLOURS[job.id % len(PREFIX_COLOURS)]
        prefix = paint(f"[{job.id} {clean(job.full_name)}] ", colour, sys.stdout)
        self._logs[attempt.id] = (prefix, GrowingLines(attempt.log))

    def ended(self, attempt: LiveAttempt, verdict: Verdict, at: float) -> None:
        followed = self._logs.pop(attempt.id, None)
        if followed:
            _print_lines(*followed, final=True)
        super().ended(attempt, verdict, at)

    def pulse(self) -> None:
        for prefix, log in self._logs.values():
            _print_lines(prefix, log, final=False)


def _print_lines(prefix: str, log: GrowingLines, final: bool) -> None:
    sys.stdout.flush()
    for piece in log.more_bytes(prefix.encode(), final):
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


class LiveView(RunView):
    """In a terminal: its progress, what is running where, and when it will be done."""

    pulse_s = 0.125

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False)
        self._drawn_at = 0.0
        self._judged_at = self.began_mono
        self._ends_mono = math.inf  # when all will be done, as far as we know

    def open(self) -> None:
        self._live.start()

    def close(self) -> None:
        try:
            self._live.stop()
        except OSError:
            pass  # the terminal is gone

    def tell(self, sentence: str) -> None:
        try:
            self._console.print(f"duckrow: {clean(sentence)}", markup=False, soft_wrap=True)
        except OSError:
            pass

    def event(self, what: str, detail: Any) -> None:
        if what != "waiting":  # the live view already shows that
            super().event(what, detail)

    def pulse(self) -> None:
        now = time.monotonic()
        if now - self._drawn_at < 0.1:
            return
        self._drawn_at = now
        try:
            self._live.update(self._picture(), refresh=True)
        except OSError:
            pass

    def _picture(self) -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        assert self.run is not None
        total, done = self.run.added, self.report.finished
        head = Table.grid(padding=(0, 1))
        known_total = not self.run.reading
        bar = ProgressBar(total=max(total, 1), completed=min(done, total), width=30) if known_total else Text("reading")
        head.add_row(bar, Text(self._numbers(total, done, known_total)))
        rows = Table.grid(padding=(0, 2))
        now = time.time()
        for attempt in self.run.running[: max(self._console.height - 4, 3)]:
            rows.add_row(
                Text(describe_devices(attempt.devices), style="cyan"),
                Text(attempt.job.words + ("" if attempt.suspended_mono is None else ", suspended")),
                Text(format_duration(now - attempt.started_at), style="dim"),
                Text(clean(shorten(attempt.job.title, max(self._console.width - 36, 20))), no_wrap=True),
            )
        waits_for = [Text(f"waiting: {clean(reason)}", style="yellow") for reason in self.run.waits_for]
        return Group(head, rows, *waits_for)

    def _numbers(self, total: int, done: int, known_total: bool) -> str:
        assert self.run is not None
        running = len(self.run.running)
        words = [f"{done}/{total}" if known_total else f"{done} done", f"{running} running"]
        if self.report.failed:
            words.append(f"{self.report.failed} failed")
        now = time.monotonic()
        words.append(format_duration(now - self.began_mono))
        if known_total and done < total:
            self._judge(done, now)
            if _TELLS_S <= self._ends_mono - now < math.inf:
                words.append(f"ETA {format_duration(self._ends_mono - now)}")
        return "  ".join(words)

    def _judge(self, done: int, now: float) -> None:
        """Now and then: what is known about a long queue takes longer to ask for than to draw."""
        if now - self._judged_at < _JUDGED_EVERY_S:
            return
        from duckrow.api.queue.eta import run_left_s

        assert self.run is not None
        self._judged_at = now
        usual_s = self.report.total_s / done if done else math.inf
        self._ends_mono = now + run_left_s(self.run, done, usual_s, time.time())


def make_view(watch: WatchOptions) -> RunView:
    if watch.follow:
        return FollowView()
    if sys.stderr.isatty() and not watch.passthrough and os.environ.get("TERM") != "dumb":
        return LiveView()
    return RunView()
