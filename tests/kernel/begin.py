"""Processes for tests: each ends with its test."""

from __future__ import annotations

import os
import subprocess

from duckrow.engines.local.processes.processes import TAG
from duckrow.kernel.process import environment_of
from tests.conftest import is_running, kill_if_there, until


class Begin:
    """Starts processes that end with the test."""

    def __init__(self) -> None:
        self._begun: list[subprocess.Popen[str]] = []
        self._others: list[int] = []

    def __call__(self, *words: str, tag: str = "", session: bool = False) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            words,
            env={"PATH": os.environ["PATH"], **({TAG: tag} if tag else {})},
            start_new_session=session,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._begun.append(process)
        if tag:  # for a moment, a process that begins shows no environment at all
            tagged = f"{TAG}={tag}".encode()
            until(lambda: tagged in environment_of(process.pid) or not is_running(process.pid), "its tag")
        return process

    def shell(self, script: str, tag: str = "", session: bool = False) -> tuple[int, int]:
        """The PIDs of a shell and of the process whose PID it prints."""
        process = self("/bin/sh", "-c", script, tag=tag, session=session)
        assert process.stdout is not None
        child = int(process.stdout.readline())
        self.end_with_test(child)
        return process.pid, child

    def end_with_test(self, pid: int) -> None:
        self._others.append(pid)

    def end(self) -> None:
        for pid in self._others:
            kill_if_there(pid)
        for process in self._begun:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        until(lambda: not any(map(is_running, self._others)), "the end of all processes")
