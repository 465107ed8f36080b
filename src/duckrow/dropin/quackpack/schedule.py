"""Runs commands on all GPUs: each on as few as have enough memory, the largest first."""

from __future__ import annotations

import math
import os
import pdb
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from duckrow.api.client import Client
from duckrow.api.python.foreground import Event, run_jobs
from duckrow.api.queue.views import JobView
from duckrow.core.devices.inventory import parse_gpus
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Ask
from duckrow.core.devices.policy import Policy
from duckrow.core.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, DuckrowError, UsageError
from duckrow.core.jobs.job import name_of_command, shorten
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.schedule.placement import refusal
from duckrow.core.units import plural
from duckrow.dropin.quackpack.apply_calls import ApplyFunction, store_functions
from duckrow.dropin.quackpack.apply_server import ApplyServer
from duckrow.dropin.quackpack.deadline import Deadline
from duckrow.dropin.quackpack.gpus import GpuInfo, get_memory_gpus
from duckrow.dropin.quackpack.launching import command_in_attempt, command_without_shell
from duckrow.kernel.log_ends import last_lines

# Memory is used to the last MB, as in the original. The value for all jobs here only says that jobs have such a need;
# each has its own. Jobs that have not run yet will run when the script is started again.
_OPTIONS = ["--mem-margin=0", "--total-gpu-mem=1", "--no-follow", "--no-table", "--once", "--share-gpus"]
_SHOWN = 20  # lines of a log, for debugging


class GpuJobInfo(NamedTuple):
    cmd: str
    total_mbs_gpus: int

    @property
    def need_mb(self) -> int:
        return max(math.ceil(self.total_mbs_gpus), 1)


def schedule_cmd_gpus(
    command_list: Sequence[GpuJobInfo],
    timeout_s: float = 60 * 60 * 24 * 7,
    sleep_s: float = 3,
    command_apply_functions: Sequence[ApplyFunction] | None = None,
    debug_on_crash: bool = False,
) -> int:
    """Run these to their end: 0 if all have succeeded, else 1.

    `timeout_s`: for all together; then what runs is stopped, and what waits is not run. `sleep_s` has no meaning any
    more: what a job will take is reserved for it from the start. `debug_on_crash`: when all have ended and some have
    failed, a debugger opens here.
    """
    jobs = sorted((GpuJobInfo._make(job) for job in command_list), key=lambda job: -job.total_mbs_gpus)
    if not jobs:
        return EXIT_OK
    gpus = get_memory_gpus(most_free_first=False)
    _refuse_impossible(jobs, gpus)
    if timeout_s <= 0:
        print(f"timeout_s={timeout_s:g} leaves no time to run anything. Nothing was started.", file=sys.stderr)
        return EXIT_FAILED
    progress = _Progress()
    code = _run(jobs, [str(gpu.idx) for gpu in gpus], timeout_s, command_apply_functions or (), progress)
    if code == EXIT_INTERRUPTED:
        raise KeyboardInterrupt("the schedule was interrupted")
    if code not in (EXIT_OK, EXIT_FAILED):
        raise DuckrowError(f"The jobs did not finish: duckrow ended with exit code {code}.")
    if debug_on_crash and progress.failed:
        _debug(progress.failed, progress.commands)
    return code


def _refuse_impossible(jobs: Sequence[GpuJobInfo], gpus: Sequence[GpuInfo]) -> None:
    if not gpus:
        raise UsageError("No GPU was found on this machine. Nothing was started.")
    names = [str(gpu.idx) for gpu in gpus]
    totals = {str(gpu.idx): gpu.total_mbs for gpu in gpus}
    machine, seats = Machine(total_mb=totals, policy=Policy(margin_mb=0)), parse_gpus([",".join(names)])
    for job in jobs:
        why_not = refusal(Ask(total_mb=job.need_mb), seats, machine)
        if why_not:
            raise UsageError(f"The job {shorten(job.cmd)} can never start. {why_not} Nothing was started.")


def _run(
    jobs: Sequence[GpuJobInfo],
    gpus: Sequence[str],
    timeout_s: float,
    functions: Sequence[ApplyFunction],
    progress: _Progress,
) -> int:
    """The exit code of `duckrow run`."""
    folder = tempfile.mkdtemp(prefix="duckrow-quackpack-")
    list_file = os.path.join(folder, "jobs.jsonl")
    needed = False
    try:
        lines = _lines(jobs, folder if functions else None)
        progress.commands = {line["command"]: job.cmd for line, job in zip(lines, jobs, strict=True)}
        if functions:
            store_functions(functions, folder)
            progress.calls = ApplyServer(functions, folder)
        with Deadline(list_file, timeout_s) as deadline, _on_sigterm(deadline.end_now):
            needed = True  # if this program is killed, the run continues
            code = run_jobs(lines, list_file, [",".join(gpus)], progress.note, _OPTIONS)
            needed = bool(functions) and code != EXIT_OK  # for `duckrow rerun`
        if deadline.passed:
            print(f"The {timeout_s:g} s of the schedule are over: running jobs were stopped.", file=sys.stderr)
        return code
    finally:
        if progress.calls is not None:
            progress.calls.close()
        if not needed:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _on_sigterm(stop: Callable[[], None]) -> Iterator[None]:
    """On SIGTERM, stop all jobs, then end this program; unless it has its own handler."""
    ours = threading.current_thread() is threading.main_thread()  # only it can handle signals
    if not ours or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    came: list[int] = []

    def note(number: int, frame: object) -> None:
        came.append(number)
        stop()

    signal.signal(signal.SIGTERM, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if came:
        print("Exiting: SIGTERM. Running jobs were stopped.", file=sys.stderr)
        raise SystemExit(0)  # as the original did


def _lines(jobs: Sequence[GpuJobInfo], asks: str | None) -> list[dict[str, Any]]:
    """A line of `duckrow run --format json` for each job. `asks`: the folder where it asks for its command."""
    return [
        {
            "command": command_without_shell(job.cmd) if asks is None else command_in_attempt(asks, job.cmd),
            "name": name_of_command(job.cmd),
            "total_gpu_mem": job.need_mb,
        }
        for job in jobs
    ]


class _Progress:
    """Reports each start, and collects the jobs that failed on their own."""

    def __init__(self) -> None:
        self.commands: Mapping[str, str] = {}  # what an attempt runs -> what the caller asked for
        self.failed: list[JobView] = []
        self.calls: ApplyServer | None = None
        self._client: Client | None = None

    def note(self, event: Event) -> None:
        self._client = self._client or Client()  # the state folder exists now
        if event["event"] == "starting":
            self.failed = [job for job in self.failed if job.id != event["id"]]  # its GPU was broken
            self._launch(self._client.job(event["id"]).command, event)
        elif event["outcome"] not in ("succeeded", "killed") and not event["again"]:
            self.failed.append(self._client.job(event["id"]))

    def _launch(self, line: str, event: Event) -> None:
        command, gpus = self.commands.get(line, line), event["devices"]
        self._tell(f"Scheduled {command} into", gpus)
        if self.calls is not None:
            self.calls.launch(f"{event['id']}.{event['attempt']}", command, ",".join(gpus))

    @staticmethod
    def _tell(what: str, devices: Sequence[str]) -> None:
        try:
            print(f"{what} CUDA_VISIBLE_DEVICES={','.join(devices)}", flush=True)
        except OSError:
            pass  # nobody is reading any more; the jobs keep running


def _debug(failed: Sequence[JobView], commands: Mapping[str, str]) -> None:
    """`failed` is a variable for the debugger."""
    for job in failed:
        how = job.detail or (f"exit code {job.exit_code}" if job.signal is None else f"signal {job.signal}")
        print(f"{commands.get(job.command, job.command)} {job.outcome} ({how}): the end of {job.log}")
        print("\n".join(last_lines(job.log, _SHOWN, blank=True)) if job.log else "")
    print(f"{plural(len(failed), 'job')} did not succeed, see `failed`. `c` continues.", flush=True)
    pdb.set_trace()
