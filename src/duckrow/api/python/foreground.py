"""Runs jobs from a Python program through `duckrow run`: JSON lines in, events out."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

from duckrow.api.calls.interpreter import module_command
from duckrow.core.devices.inventory import as_options

Event = Mapping[str, Any]

# The default handler of each signal. If the program set another one, that is called instead of ours.
_DEADLY: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


def run_jobs(
    jobs: Iterable[Mapping[str, Any]],
    list_file: str,
    gpus: Sequence[str],
    on_event: Callable[[Event], None] = lambda event: None,
    options: Sequence[str] = (),
) -> int:
    """Run these over the devices, each of which may be a group (`0+1`); the exit code of `duckrow run`.

    `list_file`: where the list of jobs is written, for `duckrow run --resume`; it is locked while the run lives. A
    signal that would end this program goes to the run instead: one lets running jobs finish, two stop them. If this
    program is killed, the run continues.
    """
    reading, writing = os.pipe()
    more = [*as_options(gpus), *options]
    command = module_command("duckrow", "run", "--format=json", f"--events=/dev/fd/{writing}", *more)
    with open(reading, encoding="utf-8") as events, _signals_passed_on() as pass_on:
        try:
            with open(list_file, "w", encoding="utf-8") as file:
                _lock(file)
                file.writelines(json.dumps(job) + "\n" for job in jobs)
                file.flush()
                # In its own session, so that a signal from the terminal does not reach it twice.
                process = subprocess.Popen(
                    [*command, list_file],
                    stdin=subprocess.DEVNULL,
                    pass_fds=[writing, file.fileno()],
                    start_new_session=pass_on.listens,
                )
        finally:
            os.close(writing)
        pass_on.to(process)
        _follow(events, on_event, process)
        return process.wait()


def _lock(file: IO[str]) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_SH)
    except OSError:
        pass  # a file system without locks


def _follow(events: Iterable[str], on_event: Callable[[Event], None], process: subprocess.Popen[bytes]) -> None:
    try:
        for line in events:
            on_event(json.loads(line))
    except BaseException:
        process.send_signal(signal.SIGINT)  # nobody will look at the results of more jobs
        process.wait()
        raise


class _PassOn:
    """Forwards our signals to a process, including those that came before it was started."""

    def __init__(self) -> None:
        self.listens = threading.current_thread() is threading.main_thread()  # only it can handle signals
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []

    def to(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        for number in self._early:
            process.send_signal(number)

    def __call__(self, number: int, frame: object) -> None:
        if self._process is None:
            self._early.append(number)
        else:
            self._process.send_signal(number)


@contextmanager
def _signals_passed_on() -> Iterator[_PassOn]:
    pass_on = _PassOn()
    ours = [number for number, deadly in _DEADLY.items() if pass_on.listens and signal.getsignal(number) == deadly]
    for number in ours:
        signal.signal(number, pass_on)
    try:
        yield pass_on
    finally:
        for number in ours:
            signal.signal(number, _DEADLY[number])
