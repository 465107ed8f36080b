"""Jobs that a Python program runs here and now: `duckrow run`, fed with lines of JSON, told of in events."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Event = Mapping[str, Any]


def run_jobs(
    jobs: Iterable[Mapping[str, Any]],
    list_file: str,
    gpus: Sequence[str],
    on_event: Callable[[Event], None] = lambda event: None,
    options: Sequence[str] = (),
) -> int:
    """Run these over the devices, each of which may be a group (`0+1`); the exit code of `duckrow run`.

    `list_file`: where the list of jobs is written; it is kept while they run, for `duckrow run --resume`.
    """
    with open(list_file, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(job) + "\n" for job in jobs)
    reading, writing = os.pipe()
    words = [f"--gpus={token}" for token in gpus]
    command = [sys.executable, "-m", "duckrow", "run", "--format", "json", "--events", f"/dev/fd/{writing}"]
    process = subprocess.Popen([*command, *words, *options, list_file], stdin=subprocess.DEVNULL, pass_fds=[writing])
    os.close(writing)
    with open(reading, encoding="utf-8") as events:
        _follow(events, on_event)
    return _wait(process)


def _follow(events: Iterable[str], on_event: Callable[[Event], None]) -> None:
    lines = iter(events)
    while True:
        try:
            for line in lines:
                on_event(json.loads(line))
            return
        except KeyboardInterrupt:
            continue  # the run has heard it too, and says what it does about it


def _wait(process: subprocess.Popen[bytes]) -> int:
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue
