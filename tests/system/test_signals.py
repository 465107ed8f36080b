"""One signal is one signal, whoever of the two processes of a run it reaches, and however often it is passed on."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S, Duckrow, press_ctrl_c, until

ONCE = "starting nothing more; 2 running jobs may finish"
TWICE = "stopping 2 running jobs"
PASSES_ON = """
import signal, subprocess, sys
child = subprocess.Popen(sys.argv[1:])
signal.signal(signal.SIGINT, lambda number, _: child.send_signal(number))
sys.exit(child.wait())
"""


class Interrupted:
    """A `duckrow run` in a process group of its own, with two jobs that wait for a gate."""

    def __init__(self, duckrow: Duckrow, *wrapper: str, terminal: int | None = None) -> None:
        self.duckrow = duckrow
        self._gate = duckrow.work / "gate"
        self._out = duckrow.work / "out"
        for path in (self._gate, self._out):
            path.unlink(missing_ok=True)
        job = f"while [ ! -e {self._gate} ]; do sleep 0.01; done; echo end >> {self._out}\n"
        (duckrow.work / "jobs.txt").write_text(job * 2)
        before = self._hosts()
        self.process = subprocess.Popen(
            [*wrapper, *duckrow.command("run", "--slots", "2", "jobs.txt")],
            env=duckrow.env,
            cwd=duckrow.work,
            stdin=terminal,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=None if terminal is None else lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self.host = until(lambda: next(iter(self._hosts() - before), None), "the host")
        self.keeper = parent_of(self.host)
        until(self._both_run, "two running jobs")

    def _hosts(self) -> set[int]:
        if not self.duckrow.sql("SELECT 1 FROM sqlite_master WHERE name = 'wishes'"):
            return set()
        return {pid for (pid,) in self.duckrow.sql("SELECT pid FROM hosts WHERE pid IS NOT NULL")}

    def _both_run(self) -> bool:
        return self.duckrow.sql("SELECT count(*) FROM jobs WHERE state = 'running'") == [(2,)]

    def said(self, words: str) -> None:
        assert self.process.stderr
        heard = ""
        while words not in heard:
            line = self.process.stderr.readline().decode()
            assert line, f"it never said {words!r}, but: {heard}"
            heard += line

    def is_told_once(self) -> None:
        """It lets its jobs finish; no second signal is on its way."""
        self.said(ONCE)
        self.lets_jobs_finish()

    def lets_jobs_finish(self) -> None:
        until(lambda: not (has_pending(self.keeper) or has_pending(self.host)), "all signals to arrive")
        self._gate.touch()
        rest = self.end()
        assert "stopping" not in rest, rest
        assert self._out.read_text() == "end\n" * 2

    def is_told_twice(self) -> None:
        self.said(TWICE)
        self.end()
        assert not self._out.exists()
        assert not self.duckrow.job_processes()

    def end(self) -> str:
        assert self.process.stderr
        with self.process.stderr as stream:
            rest = stream.read().decode()
        self.process.wait(DEADLINE_S)
        return rest


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def has_pending(pid: int) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().split("\n")
    return any(int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd", "ShdPnd")))


@pytest.fixture
def start(duckrow: Duckrow) -> Callable[..., Interrupted]:
    duckrow("ls")  # makes the database
    return lambda *wrapper, **options: Interrupted(duckrow, *wrapper, **options)


Start = Callable[..., Interrupted]


def test_what_timeout_sends_to_its_child_and_to_the_group_is_one_signal(start: Start) -> None:
    for _ in range(5):
        run = start("timeout", "-s", "TERM", "600")
        run.process.send_signal(signal.SIGTERM)  # it does as it would after the 600 s
        run.is_told_once()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_to_the_group_is_one(start: Start, number: int) -> None:
    run = start()
    os.killpg(run.process.pid, number)
    run.is_told_once()


@pytest.mark.parametrize("whom", ["keeper", "host"])
def test_one_signal_to_the_keeper_or_the_host_alone_is_one(start: Start, whom: str) -> None:
    run = start()
    os.kill(getattr(run, whom), signal.SIGTERM)
    run.is_told_once()


@pytest.mark.parametrize("late", ["keeper", "host"])
def test_one_signal_is_one_when_one_of_the_two_hears_it_late(start: Start, late: str) -> None:
    run = start()
    pid = getattr(run, late)
    os.kill(pid, signal.SIGSTOP)
    until(lambda: is_stopped(pid), "its stop")
    os.killpg(run.process.pid, signal.SIGTERM)
    if late == "keeper":
        run.said(ONCE)
    else:
        until(lambda: not has_pending(run.keeper), "the keeper to hear it")
    os.kill(pid, signal.SIGCONT)
    if late == "host":
        run.said(ONCE)
    run.lets_jobs_finish()


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def test_ctrl_c_twice_in_a_terminal_stops_the_jobs_also_within_a_second(start: Start) -> None:
    ours, theirs = pty.openpty()
    run = start(terminal=theirs)
    os.close(theirs)
    press_ctrl_c(ours, run.process.pid)
    run.said(ONCE)
    press_ctrl_c(ours, run.process.pid)
    run.is_told_twice()
    os.close(ours)


def test_ctrl_c_that_a_wrapper_passes_on_is_one(start: Start) -> None:
    """As `uv run`, `npm run` and others do: the terminal has told everybody already."""
    ours, theirs = pty.openpty()
    run = start(sys.executable, "-c", PASSES_ON, terminal=theirs)
    os.close(theirs)
    os.write(ours, b"\x03")
    run.is_told_once()
    os.close(ours)


def test_a_second_signal_counts_though_only_the_other_of_the_two_hears_it(start: Start) -> None:
    run = start()
    os.kill(run.host, signal.SIGTERM)
    run.said(ONCE)
    until(lambda: counts_again(run.process, signal.SIGTERM), "the end of the jobs")
    run.is_told_twice()


def counts_again(process: subprocess.Popen[bytes], number: int) -> bool:
    """Send it: within a second of the one before it is a copy of that."""
    process.send_signal(number)
    assert process.stderr
    return bool(select.select([process.stderr], [], [], 0.2)[0])


def test_who_was_told_to_ignore_a_hang_up_does(start: Start) -> None:
    run = start("nohup")
    os.killpg(run.process.pid, signal.SIGHUP)
    until(lambda: not (has_pending(run.keeper) or has_pending(run.host)), "it to arrive")
    os.killpg(run.process.pid, signal.SIGTERM)
    run.is_told_once()


def test_signals_that_are_sent_one_after_the_other_count_each(start: Start) -> None:
    run = start()
    run.process.send_signal(signal.SIGINT)
    run.said(ONCE)
    run.process.send_signal(signal.SIGTERM)
    run.is_told_twice()
