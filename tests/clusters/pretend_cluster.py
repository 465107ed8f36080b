"""A cluster without a batch system: its jobs are processes of this machine, real pilots of real batches.

What it knows is in a file, so that the pilots can ask too. It starts and ends jobs when its controller, the object in
the test, is asked for their states: each question turns the clock by one step.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from duckrow.clusters.port import (
    ClusterJob,
    ClusterLimits,
    ClusterRefused,
    JobFacts,
    JobPhase,
    NoAnswer,
    PilotArray,
    PilotJobs,
    States,
    TooMany,
)
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.ports import Allocation

PRETEND = "pretend"
PARTITION = "main"  # there is no other
_FOLDER, _JOB = "PRETEND_CLUSTER", "PRETEND_JOB"
_REPOSITORY = str(Path(__file__).parent.parent.parent)

Jobs = dict[str, dict[str, Any]]


class PretendQuestion:
    whom = "the pretend cluster"

    def __init__(self, cluster: PretendCluster) -> None:
        self._cluster = cluster

    def answer(self, wait_s: float) -> States | None:
        if self._cluster.is_silent:
            raise NoAnswer("the pretend cluster is silent.")
        return self._cluster.states()

    def withdraw(self) -> None: ...


class PretendOwnJob:
    def __init__(self, cluster: PretendCluster, name: str) -> None:
        self._cluster = cluster
        with cluster.jobs() as jobs:
            restarts = int(jobs[name]["restarts"])
        index = int(name.partition("_")[2])
        self.facts = JobFacts(name, index, restarts, "pretend-node", allocation=Allocation(cores=1))

    def time_left_s(self) -> float | None:
        return None

    def start_again(self) -> None:
        with self._cluster.jobs() as jobs:
            jobs[self.facts.name]["again"] = True

    def ask(self) -> PretendQuestion:
        return PretendQuestion(self._cluster)


class PretendCluster:
    def __init__(self, folder: str, places: int = 2, largest_array: int = 5) -> None:
        """`places`: how many jobs run at a time; with none all wait for ever."""
        self.folder = folder
        self.is_silent = False
        self._places = places
        self._largest_array = largest_array
        self._processes: dict[str, subprocess.Popen[bytes]] = {}  # of the controller alone
        os.makedirs(folder, exist_ok=True)

    # -- the port ---------------------------------------------------------------------------------------------

    def limits(self) -> ClusterLimits:
        return ClusterLimits(self._largest_array)

    def submit(self, pilots: PilotJobs, array: PilotArray) -> int:
        self.check(pilots)
        if max(array.indices) >= self._largest_array:
            raise TooMany(f"the pretend cluster said: no array has an index above {self._largest_array - 1}")
        with self.jobs() as jobs:
            number = 1 + max((int(job.partition("_")[0]) for job in jobs), default=0)
            for index in array.indices:
                jobs[f"{number}_{index}"] = _new_job(f"{number}_{index}", self.folder, pilots, array)
        return number

    def check(self, pilots: PilotJobs) -> None:
        if pilots.request.partition not in (None, PARTITION):
            raise ClusterRefused(f"the pretend cluster said: there is no partition {pilots.request.partition}")

    def preview(self, pilots: PilotJobs, array: PilotArray) -> str:
        return f"{len(array.indices)} jobs: {' '.join(_words(pilots, array))}"

    def in_words(self, request: ClusterRequest) -> str:
        return f"pretend --partition={request.partition or PARTITION}"

    def ask(self) -> PretendQuestion:
        return PretendQuestion(self)

    def cancel(self, jobs: Sequence[str], only_waiting: bool = False) -> None:
        with self.jobs() as known:
            for name, job in known.items():
                if name in jobs or name.partition("_")[0] in jobs:
                    _cancel(job, only_waiting)

    def command_of(self, request: ClusterRequest, command: str) -> str:
        return command

    def own_job(self) -> PretendOwnJob:
        return PretendOwnJob(self, os.environ[_JOB])

    # -- the controller ---------------------------------------------------------------------------------------

    @contextmanager
    def jobs(self) -> Iterator[Jobs]:
        """All that is known; what is changed is kept."""
        with open(f"{self.folder}/jobs.json", "a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            jobs: Jobs = json.loads(file.read() or "{}")
            before = json.dumps(jobs)
            yield jobs
            if json.dumps(jobs) != before:
                file.truncate(0)
                file.write(json.dumps(jobs))

    def states(self) -> dict[str, ClusterJob]:
        with self.jobs() as jobs:
            if _JOB not in os.environ:  # a pilot asks, and turns nothing
                self._end_those_that_have_ended(jobs)
                self._start_those_that_may(jobs)
            return {name: _as_told(job) for name, job in jobs.items()}

    def _end_those_that_have_ended(self, jobs: Jobs) -> None:
        for name, process in list(self._processes.items()):
            if process.poll() is None:
                continue
            job = jobs[name]
            job |= {"phase": "waiting" if job["again"] else job["ends_as"], "ended_at": time.time(), "pid": None}
            job |= {"restarts": job["restarts"] + bool(job["again"]), "again": False}
            del self._processes[name]

    def _start_those_that_may(self, jobs: Jobs) -> None:
        for name, job in jobs.items():
            if job["phase"] != "waiting" or len(self._processes) >= self._places:
                continue
            siblings = [other for other in self._processes if other.partition("_")[0] == name.partition("_")[0]]
            before = [other for other in jobs if other.partition("_")[0] == str(job["after"])]
            if len(siblings) < job["at_a_time"] and all(jobs[other]["ended_at"] for other in before):
                self._start(name, job)

    def _start(self, name: str, job: dict[str, Any]) -> None:
        with open(job["log"], "ab") as log:
            self._processes[name] = subprocess.Popen(
                job["words"], env=job["env"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        job |= {"phase": "running", "pid": self._processes[name].pid, "ended_at": None}

    def close(self) -> None:
        """Leave nothing behind: stop what runs, and wait until it has ended."""
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        for process in self._processes.values():
            process.wait()


def pretend_cluster(_request: ClusterRequest) -> PretendCluster:
    """As a pilot finds it."""
    return PretendCluster(os.environ[_FOLDER])


def _new_job(name: str, folder: str, pilots: PilotJobs, array: PilotArray) -> dict[str, Any]:
    own = {_FOLDER: folder, _JOB: name, "PYTHONPATH": _REPOSITORY}
    environment: Mapping[str, str] = {**pilots.environment, **own}
    return {
        "phase": "waiting",
        "ends_as": "ended",
        "pid": None,
        "ended_at": None,
        "again": False,
        "restarts": 0,
        "at_a_time": array.at_a_time or len(array.indices),
        "after": array.after,
        "words": _words(pilots, array),
        "env": environment,
        "log": f"{pilots.folder}/pilots/{name}.log",
    }


def _words(pilots: PilotJobs, array: PilotArray) -> list[str]:
    """A pilot that knows this cluster; one that is in clusters/known.py starts `duckrow.scheduler.pilot` itself."""
    module = "tests.clusters.pretend_pilot"
    return [pilots.python, "-m", module, pilots.folder, str(array.first), str(pilots.group)]


def _cancel(job: dict[str, Any], only_waiting: bool) -> None:
    if job["phase"] == "waiting":
        job |= {"phase": "cancelled", "ended_at": time.time()}
    elif job["phase"] == "running" and not only_waiting:
        job["ends_as"] = "cancelled"
        os.kill(job["pid"], signal.SIGTERM)


def _as_told(job: dict[str, Any]) -> ClusterJob:
    reason = "Places" if job["phase"] == "waiting" else ""
    return ClusterJob(JobPhase(job["phase"]), job["phase"], reason, job["ended_at"])
