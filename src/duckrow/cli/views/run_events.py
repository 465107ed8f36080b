"""Other observers of a run: a line for each start, and events for a program."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence

from duckrow.core.devices.inventory import visible_devices
from duckrow.core.errors import UsageError
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.life.retry import Verdict
from duckrow.core.ports import Observer

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any, TextIO


class Watchers(Observer):
    """Several observers of one run."""

    def __init__(self, watchers: Sequence[Observer]) -> None:
        self._watchers = watchers

    def starting(self, attempt: LiveAttempt) -> None:
        for watcher in self._watchers:
            watcher.starting(attempt)

    def started(self, attempt: LiveAttempt) -> None:
        for watcher in self._watchers:
            watcher.started(attempt)

    def ended(self, attempt: LiveAttempt, verdict: Verdict, at: float) -> None:
        for watcher in self._watchers:
            watcher.ended(attempt, verdict, at)

    def back(self, job_id: int) -> None:
        for watcher in self._watchers:
            watcher.back(job_id)

    def trouble(self, sentence: str) -> None:
        for watcher in self._watchers:
            watcher.trouble(sentence)

    def trouble_over(self) -> None:
        for watcher in self._watchers:
            watcher.trouble_over()


class Announcer(Observer):
    """Prints a line before each job starts, unbuffered."""

    def __init__(self, template: str, written: Mapping[str, str] = {}) -> None:
        self._template = template
        self._written = written  # how to write GPUs, if not by name

    def starting(self, attempt: LiveAttempt) -> None:
        if sys.stdout is None:  # closed
            return
        line = self._template.replace("{gpus}", visible_devices(attempt.holds, self._written)).replace(
            "{command}", attempt.job.command
        )
        rest = line.encode("utf-8", "surrogateescape") + b"\n"
        try:
            while rest:  # unbuffered: a buffer would keep what nobody reads, and fail at exit
                rest = rest[os.write(sys.stdout.fileno(), rest) :]
        except OSError:
            pass  # nobody is reading any more; the jobs keep running


class EventWriter(Observer):
    """JSON lines: one when a job starts, one when it has ended. Documented in docs/json.md.

    A start comes after the end that made room for it. A lined-up job is reported as started when its turn comes.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.host_id: int | None = None  # whose jobs are reported; jobs of a dead run that we watch are not ours
        self._behind: dict[int, LiveAttempt] = {}  # attempt -> the one lined up behind it

    def started(self, attempt: LiveAttempt) -> None:
        if attempt.follows is None:
            self._write("starting", attempt, attempt.started_at)
        else:
            self._behind[attempt.follows] = attempt

    def ended(self, attempt: LiveAttempt, verdict: Verdict, at: float) -> None:
        how = {"exit_code": attempt.exit_code, "signal": attempt.signal, "detail": verdict.detail}
        self._write("ended", attempt, at, outcome=verdict.outcome, again=verdict.again, **how)
        successor = self._behind.pop(attempt.id, None)
        if successor is not None and successor.follows is None:  # otherwise it gave up its place and is queued again
            self._write("starting", successor, successor.started_at)

    def _write(self, event: str, attempt: LiveAttempt, at: float, **more: Any) -> None:
        if self.host_id not in (None, attempt.job_host_id):
            return
        job = attempt.job
        what = {"event": event, "at": at, "id": job.id, "name": job.name, "folder": job.folder}
        where = {"attempt": attempt.number, "devices": attempt.devices}
        try:
            self._file.write(json.dumps({**what, **where, **more}) + "\n")
            self._file.flush()
        except OSError:
            pass  # nobody is reading any more; the jobs keep running


def open_events(path: str) -> TextIO:
    path = "/dev/stdout" if path == "-" else path
    try:
        # Append: standard output may already go to this file.
        return open(path, "a", encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise UsageError(f"--events: {path} cannot be written: {error.strerror}.") from None
