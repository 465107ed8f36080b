"""`duckrow run --on`: a batch is submitted and watched until it is done, or left alone with Ctrl-C."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from duckrow.api.clusters.tender import rest_after
from duckrow.api.clusters.watch import WatchedRuns
from duckrow.api.jobs.kill import kill
from duckrow.cli.console import say, tell
from duckrow.core.clock import Now
from duckrow.core.devices.device import SOME_CPU_SLOT, reservations
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, UsageError
from duckrow.core.jobs.attempt import Exit, FirstProcess, LiveAttempt
from duckrow.core.jobs.command_list import CommandList
from duckrow.core.jobs.commands import LAST
from duckrow.core.jobs.job import JobSpec, QueuedJob
from duckrow.core.life.failures import compact_ids
from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import Outcome, State
from duckrow.core.units import plural

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.api.clusters.submit import ClusterRequest
    from duckrow.api.queue.views import JobView
    from duckrow.cli.options.typed_job_options import JobOptions
    from duckrow.cli.options.verb_options import RunOptions, WatchOptions
    from duckrow.cli.views.run_view import RunView

_LOOK_S = 0.1
_LAST_ROUNDS = 2  # of the runs that are running
_SHARE = 4  # a look that takes long is followed by a rest that is this many times as long


def run_on_cluster(
    on: str,
    asked: dict[str, Any],
    file: str | None,
    given: RunOptions,
    options: JobOptions,
    words: Sequence[str] | None,
) -> int:
    """On a cluster: read all commands, then submit them, then watch. `words`: the one command after --."""
    from duckrow.api.clusters.submit import read_request
    from duckrow.cli.opening import client_of_verb
    from duckrow.cli.options.command_words import command_of
    from duckrow.cli.runs.lines import all_commands, spec_maker
    from duckrow.cli.views.run_view import make_view

    if given.resumed:
        name = given.resumed if given.resumed != LAST else None
        if name is None and file is not None and not os.path.exists(file):
            file, name = None, file
        return resume_batch(client_of_verb(), on, asked, file, name, given.watch)
    request = read_request(on, asked)
    commands = all_commands(file, given.list_form) if words is None else CommandList([command_of(words)])
    specs = commands.each(spec_maker(given, options))
    if given.dry_run:
        return print_script(request, specs, options.name)
    if not specs:
        raise UsageError(f"There is no command in {file or 'standard input'}.")
    view = make_view(given.watch)
    variables = dict(options.variables)
    return run_batch(client_of_verb(), specs, request, variables, options.name, view, given.watch.max_failures, file)


def print_script(request: ClusterRequest, specs: Sequence[JobSpec], name: str) -> int:
    """The script for sbatch; where runs ask for different things, one for each of these."""
    from duckrow.api.clusters.dry_run import dry_groups

    groups = dry_groups(request, specs, name)
    print("\n".join(group.script for group in groups), end="")
    for group in groups:
        split = f", as {group.arrays} arrays (this cluster limits their size)" if group.arrays > 1 else ""
        asks = f" ({group.asks})" if group.asks else ""
        jobs = plural(group.jobs, "SLURM job")
        say(f"duckrow: {plural(group.runs, 'run')}{asks} in {jobs}{split}. Nothing was submitted.")
    return EXIT_OK


def run_batch(
    client: Client,
    specs: Sequence[JobSpec],
    request: ClusterRequest,
    variables: dict[str, str],
    name: str,
    view: RunView,
    max_failures: int | None,
    file: str | None,
) -> int:
    """Submit these and wait until they are done; the exit code."""
    from duckrow.api.clusters.submit import submit_batch

    ids = submit_batch(client, specs, request, variables, name, tell=tell, file=file)
    return watch_runs(client, ids, view, max_failures)


def resume_batch(
    client: Client, on: str, asked: dict[str, Any], file: str | None, name: str | None, watch: WatchOptions
) -> int:
    """Run again what has not succeeded, and wait until it is done; the exit code."""
    from duckrow.api.clusters.resume import resume_batch as resume
    from duckrow.cli.views.run_view import make_view

    ids = resume(client, on, asked, file, name)
    if not ids:
        say("duckrow: all of its runs have succeeded.")
        return EXIT_OK
    return watch_runs(client, ids, make_view(watch), watch.max_failures)


def watch_runs(client: Client, ids: Sequence[int], view: RunView, max_failures: int | None, again: str = "") -> int:
    """Watch the runs of a batch until they are done; the exit code.

    `again`: the command that runs again what has not succeeded; by default a rerun of these jobs.
    """
    named = compact_ids(ids)
    watch = BatchWatch(client, ids, view, max_failures)
    view.tell(f"{plural(len(ids), 'run')} ({named}) in batch {client.job(ids[0]).host}.")
    view.open()
    try:
        watch.see_through()
    except KeyboardInterrupt:
        view.close()
        left = len(ids) - view.report.finished
        say(
            f"duckrow: {plural(left, 'run')} keep running on SLURM. Wait for them: `duckrow wait {named}`. See"
            f" what they print: `duckrow logs -f {named}`. Stop them: `duckrow kill {named}`."
        )
        return EXIT_INTERRUPTED
    finally:
        view.close()
    left = len(ids) - view.report.finished
    say(f"duckrow: {view.report.headline(time.monotonic() - view.began_mono, left)}")
    for line in view.report.failure_lines():
        say(line)
    if view.report.failed:
        again = again or f"duckrow rerun {compact_ids(watch.unsuccessful)}"
        say(f"duckrow: to run again what did not succeed: {again}")
    return EXIT_FAILED if view.report.failed or left else EXIT_OK


class BatchWatch:
    """A batch as a run that a view can draw."""

    reading = False
    starts_more = True
    interrupts = 0
    hung_up = False
    waiting = ()  # the cluster decides who is next
    run_times = None  # those of the view's own runs tell enough
    waits_for = ()  # `duckrow batches` tells

    def __init__(self, client: Client, ids: Sequence[int], view: RunView, max_failures: int | None) -> None:
        self._client = client
        self._ids = dict.fromkeys(ids)
        self._view = view
        self._max_failures = max_failures
        self._live: dict[int, LiveAttempt] = {}
        self._ended: set[int] = set()
        self.unsuccessful: list[int] = []
        self._batch = WatchedRuns(client, ids)
        self.host_id = self._batch.batch_id
        view.attach(self)

    @property
    def added(self) -> int:
        return len(self._ids)

    @property
    def running(self) -> Sequence[LiveAttempt]:
        return list(self._live.values())

    @property
    def seat_count(self) -> int:
        return max(len(self._live), 1)

    def see_through(self) -> None:
        """Watch until everything is done, or somebody has cancelled the SLURM jobs."""
        while self._view.report.finished < len(self._ids):
            began = time.monotonic()
            self._tell_of(self._batch.changed())
            for note in self._client.tender.notes():
                self._view.tell(note)
            self._view.pulse()
            why_still = self._batch.why_still()
            if why_still:
                name = self._batch.name
                self._view.tell(f"Batch {name} is stuck: {why_still}. To continue: duckrow batches {name} --start")
                return
            left = len(self._ids) - self._view.report.finished
            if left:
                self._rest(rest_after(time.monotonic() - began, _LOOK_S, _SHARE), left)

    def _rest(self, rest_s: float, left: int) -> None:
        """Shortly before the end it pays to count the results meanwhile, and to rest only until the last one."""
        if left <= _LAST_ROUNDS * len(self._live):
            self._batch.rest(rest_s, left)
        else:
            time.sleep(rest_s)

    def _tell_of(self, views: Sequence[JobView]) -> None:
        for view in views:
            if view.id in self._ended:
                continue
            if view.state == State.QUEUED:
                self._live.pop(view.id, None)
                continue
            attempt = _attempt_of(view, self.host_id)
            known = self._live.get(view.id)
            if known is None or known.number != attempt.number:
                self._live[view.id] = attempt
                self._view.started(attempt)
            if view.state == State.DONE:
                del self._live[view.id]
                self._ended.add(view.id)
                verdict = Verdict(Outcome(view.outcome or Outcome.LOST), again=False, detail=view.detail)
                if verdict.outcome is not Outcome.SUCCEEDED:
                    self.unsuccessful.append(view.id)
                self._view.ended(attempt, verdict, view.ended_at or time.time())
        self._give_up_if_due()

    def _give_up_if_due(self) -> None:
        if self._max_failures is not None and self._view.report.failed >= self._max_failures:
            self._max_failures = None
            waiting = [view.id for view in self._client.views(list(self._ids)) if view.state == State.QUEUED]
            kill(self._client, waiting, answered=False)
            self._view.tell(f"{plural(self._view.report.failed, 'failure')}: starting nothing more.")


def _attempt_of(view: JobView, host_id: int) -> LiveAttempt:
    job = QueuedJob(
        id=view.id,
        project=view.project,
        name=view.name,
        command=view.command,
        cwd=view.cwd,
        environment_id=0,
        shell="",
        gpus=view.gpus,
        outfile=None,
        max_log_bytes=None,
        timeout_s=view.timeout_s,
        notice_signal=None,
        notice_s=0.0,
        grace_s=0.0,
        retries=view.retries,
        retries_used=0,
        backoff_s=0.0,
        attempts=view.attempts,
        array_id=view.array_id,
        array_index=view.array_index,
        folder=view.folder,
    )
    return LiveAttempt(
        number=view.attempts,
        job=job,
        keeper="",
        holds=reservations((name, WHOLE) for name in view.devices or [SOME_CPU_SLOT]),
        # Of another machine, only the wall clock means anything here.
        started=Now(view.started_at or view.ended_at or time.time(), 0.0, 0.0),
        log=view.log or "",
        job_host_id=host_id,
        first=None if view.pid is None else FirstProcess(view.pid),
        end=Exit(view.exit_code, view.signal),
    )
