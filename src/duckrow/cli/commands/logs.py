"""`duckrow logs`: what jobs have printed, now or as they print it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable

import click

from duckrow.api.client import Client
from duckrow.api.queue.attendance import Attendance
from duckrow.api.queue.job_story import story_of
from duckrow.api.queue.views import JobView
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import clean, paint, print_json, say, tell
from duckrow.cli.opening import client_of_verb
from duckrow.cli.views.log_tail import GrowingLines, GrowingLog, offset_of_last_lines
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.life.states import State

_LOOK_S = 0.1
_ERROR_LINES = 5
_PREFIX_COLOURS = ("cyan", "magenta", "yellow", "green", "blue")


@click.command(short_help="Print the output of jobs.")
@click.argument("words", nargs=-1, metavar="[IDS]...", shell_complete=complete_jobs)
@click.option("--follow", "-f", is_flag=True, help="Keep printing until the jobs are done, retries included.")
@click.option("--tail", "-t", type=click.IntRange(1), metavar="N", help="Only the last N lines.")
@click.option("--attempt", type=click.IntRange(1), metavar="N", help="Show attempt N, not the latest.")
@click.option("--errors", is_flag=True, help="Show the end of each failed job's log, each error once.")
@click.option("--raw", is_flag=True, help="Print the log unchanged: do not fold progress bars.")
@click.option("--path", is_flag=True, help="Print where the logs are instead.")
@click.option("--json", "as_json", is_flag=True, help="With --errors: print JSON (docs/json.md describes it).")
def command(
    words: tuple[str, ...],
    follow: bool,
    tail: int | None,
    attempt: int | None,
    errors: bool,
    raw: bool,
    path: bool,
    as_json: bool,
) -> int:
    """Print the output of jobs (by default the last one). With several jobs, each line begins with its job.

    \b
    duckrow logs 12             all of it
    duckrow logs -f last        as it comes
    duckrow logs -t 20 10-14    the last lines of each
    duckrow logs --errors       why jobs failed, the most frequent error first
    duckrow logs 12 --attempt 1 before it was retried
    """
    if as_json and not errors:
        raise UsageError("--json goes with --errors. `duckrow show --json` names the logs of a job.")
    if follow and (attempt is not None or errors):
        raise UsageError("--follow shows the latest attempt. Omit --attempt and --errors.")
    client = client_of_verb()
    if errors:
        return _errors(client, words, tail or _ERROR_LINES, as_json)
    client.tender.copy()
    views = client.views(client.select(words or ("last",)))
    if attempt is not None:
        _turn_to_attempt(client, views, attempt)
    if path:
        for view in views:
            print(view.log or "")
    elif follow:
        _Follower(client, [view.id for view in views], tail, raw).follow()
    else:
        for view in views:
            _print_log(view, tail, raw, prefix_of(view) if len(views) > 1 else b"")
    return EXIT_OK


def _errors(client: Client, words: tuple[str, ...], lines: int, as_json: bool) -> int:
    from duckrow.api.logs.error_groups import errors_of
    from duckrow.cli.views.log_errors import print_errors, say_totals
    from duckrow.core.jobs.job_filter import Filter

    groups, left_out = errors_of(client, Filter(failed=True, ids=client.select(words) if words else None), lines)
    if as_json:
        print_json(groups)
    else:
        print_errors(groups)
        say_totals(groups, left_out)
    return EXIT_OK


def _turn_to_attempt(client: Client, views: Iterable[JobView], number: int) -> None:
    for view in views:
        logs = {made["number"]: made["log"] for made in story_of(client, view.id)["attempts_made"]}
        if number not in logs:
            had = f"It has had {len(logs)}" if logs else "It has not started"
            raise UsageError(f"Job {view.id} has no attempt {number}. {had}; `duckrow show {view.id}` lists them.")
        view.log = logs[number]


def prefix_of(view: JobView) -> bytes:
    colour = _PREFIX_COLOURS[view.id % len(_PREFIX_COLOURS)]
    return paint(f"[{view.id} {clean(view.full_name)}] ", colour, sys.stdout).encode()


def _print_log(view: JobView, tail: int | None, raw: bool, prefix: bytes) -> None:
    if view.log is None:
        say(f"duckrow: {view.words} has not started, so there is no output.")
    elif view.log and not os.path.exists(view.log):
        say(f"duckrow: {view.words} has no log: its output went to the terminal, or {view.log} was removed.")
    elif view.log and raw:
        _write(GrowingLog(view.log, 0 if tail is None else offset_of_last_lines(view.log, tail)).more())
    elif view.log:
        lines = GrowingLines(view.log, 0 if tail is None else offset_of_last_lines(view.log, tail))
        _write(lines.more_bytes(prefix, final=True))


def _write(pieces: Iterable[bytes]) -> None:
    sys.stdout.flush()
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


class _Follower:
    """Prints the logs of jobs as they grow, through all attempts, until all jobs are done."""

    def __init__(self, client: Client, ids: list[int], tail: int | None, raw: bool) -> None:
        if not ids:
            raise UsageError("There is no job to follow.")
        self._client = client
        self._ids = ids
        self._tail = tail
        # A terminal folds progress bars itself, and shows them moving.
        self._raw = len(ids) == 1 and (raw or sys.stdout.isatty())
        self._logs: dict[tuple[int, str], GrowingLines | GrowingLog] = {}
        self._attempts: dict[int, int] = {}  # the attempt that is followed

    def follow(self) -> None:
        attendance = Attendance(self._client, tell)
        while True:
            self._client.tender.see_to()
            views = self._client.views(self._ids)
            for view in views:
                self._catch_up(view)
            self._tail = None  # a log that comes later is printed from its beginning
            if all(view.state == State.DONE for view in views):
                return
            attendance.look(self._ids)
            time.sleep(_LOOK_S)

    def _catch_up(self, view: JobView) -> None:
        followed = self._attempts.setdefault(view.id, view.attempts)
        if followed < view.attempts:
            made = story_of(self._client, view.id)["attempts_made"]
            for earlier in made[max(followed - 1, 0) : -1]:
                self._print(view, earlier["log"], final=True)
            if followed:
                say(f"duckrow: {view.words} is being retried (attempt {view.attempts}).")
            self._attempts[view.id] = view.attempts
        if view.log:
            self._print(view, view.log, final=view.state in (State.DONE, State.QUEUED))

    def _print(self, view: JobView, path: str, final: bool) -> None:
        if not path:
            return
        log = self._logs.get((view.id, path))
        if log is None:
            offset = 0 if self._tail is None else offset_of_last_lines(path, self._tail)
            log = self._logs[view.id, path] = (GrowingLog if self._raw else GrowingLines)(path, offset)
        if isinstance(log, GrowingLog):
            _write(log.more())
        else:
            _write(log.more_bytes(prefix_of(view) if len(self._ids) > 1 else b"", final))
