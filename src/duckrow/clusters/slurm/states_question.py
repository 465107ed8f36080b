"""Asks squeue for the states of our jobs."""

from __future__ import annotations

import os
import pwd
import subprocess
import time
import weakref
from typing import IO

from duckrow.clusters.port import ANSWER_S, ClusterJob, JobPhase, NoAnswer, late
from duckrow.clusters.slurm.commands import of_clusters, program, sentence, wall_time

_FORMAT = "--format=%F|%K|%T|%e|%r"  # array, index, state, end, reason
# The states of jobs that may have processes.
_ALIVE = frozenset("RUNNING CONFIGURING SUSPENDED STOPPED SIGNALING STAGE_OUT RESIZING".split())
_WAITING = frozenset("PENDING REQUEUED REQUEUE_HOLD REQUEUE_FED SPECIAL_EXIT RESV_DEL_HOLD".split())
# SLURM does not start these jobs because a launch failed, or because somebody requeued them in this state. A job that
# its owner holds (JobHeldUser) is meant to wait.
_HELD_STATES = frozenset({"REQUEUE_HOLD", "SPECIAL_EXIT"})
_HELD = frozenset({"launch failed requeued held", "job requeued in held state", "JobHeldAdmin", "BadConstraints"})


class StatesQuestion:
    """Asks for the states of our jobs without waiting for the answer: a controller may be slow."""

    whom = "squeue"

    def __init__(self, clusters: str = "") -> None:
        """`clusters`: another cluster of this site than this node's."""
        import tempfile

        user = pwd.getpwuid(os.getuid()).pw_name
        words = [program("squeue"), "--noheader", "--array", "--states=all", f"--user={user}", _FORMAT]
        words += of_clusters(clusters)
        self._asked_at = time.monotonic()
        self._told = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed by `withdraw`
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self._told, stderr=subprocess.STDOUT)
        self.withdraw = weakref.finalize(self, _end_question, self._process, self._told)
        """Runs by itself when nobody refers to the question any more."""

    def answer(self, wait_s: float) -> dict[str, ClusterJob] | None:
        """Job (`12_3`) -> state, for all our jobs that SLURM still knows, also those that ended a few minutes ago.

        None: it has not answered yet. It answers only once.
        """
        try:
            code = self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            if time.monotonic() - self._asked_at < ANSWER_S:
                return None
            self.withdraw()
            raise late(self, ANSWER_S) from None
        self._told.seek(0)
        told = self._told.read()
        self.withdraw()
        if code != 0:
            raise NoAnswer(f"SLURM did not answer: {sentence(told)}.")
        return _states_in(told)


def _end_question(process: subprocess.Popen[bytes], told: IO[str]) -> None:
    process.kill()
    process.wait()
    told.close()


def _states_in(told: str) -> dict[str, ClusterJob]:
    states: dict[str, ClusterJob] = {}
    for line in told.splitlines():
        base, index, state, end, reason = [*line.strip().split("|", 4), "", "", "", ""][:5]
        told_of = job_told(state, "" if reason == "None" else reason, wall_time(end))
        states[f"{base}_{index}" if index.isdigit() else base] = told_of
    return states


def job_told(state: str, reason: str = "", ended_at: float | None = None) -> ClusterJob:
    return ClusterJob(_phase_of(state, reason), state.lower(), reason, ended_at)


def _phase_of(state: str, reason: str) -> JobPhase:
    if state in _ALIVE:
        return JobPhase.RUNNING
    if state == "COMPLETING":
        return JobPhase.ENDING
    if state in _WAITING:
        return JobPhase.HELD if reason in _HELD or state in _HELD_STATES else JobPhase.WAITING
    return JobPhase.CANCELLED if state == "CANCELLED" else JobPhase.ENDED
