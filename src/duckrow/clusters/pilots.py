"""The pilots of a batch: what each writes into its folder, and whether it is over."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from typing import Any

from duckrow.clusters.batch import Batch
from duckrow.clusters.port import GONE, States
from duckrow.clusters.shared_files import get, is_full, names, put, server_time, touch
from duckrow.core.named_tuple import NamedTuple

# The reasons that a pilot gives for its end.
TIME_LIMIT, TOLD_TO_END = "the time limit of its SLURM job came", "its SLURM job was told to end"


class PilotFolder:
    """What a pilot writes about itself."""

    def __init__(self, batch: Batch, slurm_job: str, node: str = "") -> None:
        """`slurm_job`: as the cluster names it (12_3). If the cluster starts it again, that is another pilot."""
        life = 0
        while True:
            self.name = f"{slurm_job}.{life}"
            self.path = f"{batch.pilots}/{self.name}"
            try:
                os.mkdir(self.path, 0o700)
                break
            except FileExistsError:
                life += 1
        self.card = f"{self.path}/card"
        node = node or socket.gethostname()
        self.facts = {"pilot": self.name, "slurm_job": slurm_job, "node": node, "started_at": time.time()}
        try:
            put(self.card, self.facts)
        except OSError:
            import shutil

            shutil.rmtree(self.path, ignore_errors=True)  # so that nobody thinks we have started
            raise

    def renew(self, status: Mapping[str, Any]) -> None:
        """Say that we are alive, and what we do. On a full disk, say at least that we are alive."""
        path = f"{self.path}/status.json"
        try:
            put(path, {"at": time.time(), **status}, durable=False)
        except OSError as error:
            if not is_full(error):
                raise
            touch(path, self.card)

    def end(self, why: str) -> None:
        """Say that nothing of ours is running any more."""
        put(f"{self.path}/end.json", {"at": time.time(), "why": why})


class Pilot(NamedTuple):
    """A pilot as others see it."""

    name: str
    slurm_job: str
    life: int
    status: dict[str, Any]  # its latest status; empty: nothing yet
    end: dict[str, Any] | None

    @property
    def takes_no_more(self) -> bool:
        """Whether it has ended, or is about to: it says so before it gives anything back."""
        return self.end is not None or bool(self.status.get("leaving"))

    @property
    def is_idle(self) -> bool:
        """Whether it has begun to take runs and now has none. A pilot that has just started is not idle."""
        return bool(self.status.get("idle")) or (bool(self.status.get("taken")) and not self.running)

    @property
    def running(self) -> dict[int, dict[str, Any]]:
        return {int(run): facts for run, facts in self.status.get("running", {}).items()}


def read_pilots(batch: Batch) -> list[Pilot]:
    return [read_pilot(batch, name) for name in sorted(names(batch.pilots)) if not name.endswith(".log")]


def read_pilot(batch: Batch, name: str) -> Pilot:
    path = f"{batch.pilots}/{name}"
    slurm_job, _, life = name.rpartition(".")
    return Pilot(name, slurm_job, int(life), get(f"{path}/status.json") or {}, get(f"{path}/end.json"))


def is_over(batch: Batch, pilot: Pilot, states: States, is_last_life: bool) -> bool:
    """Whether others may take what it had claimed. `states`: those of all jobs, from the cluster.

    Either it has said that it ended. Or the cluster no longer runs it, and it has been silent for longer than its
    lease: a pilot that cannot renew its lease ends before that.
    """
    if pilot.end is not None:
        return True
    if states.get(pilot.slurm_job, GONE).runs and is_last_life:
        return False
    return silent_s(batch, pilot) > batch.request.lease


def silent_s(batch: Batch, pilot: Pilot) -> float:
    """How long ago it last renewed its lease, by the clock of the file server."""
    path = f"{batch.pilots}/{pilot.name}"
    for name in ("status.json", "card", ""):
        try:
            return max(server_time(batch.pilots) - os.stat(f"{path}/{name}").st_mtime, 0.0)
        except FileNotFoundError:
            continue
    return 0.0


def started_at(batch: Batch, pilot: Pilot) -> float:
    path = f"{batch.pilots}/{pilot.name}"
    try:
        return os.stat(f"{path}/card").st_mtime
    except FileNotFoundError:  # the pilot is about to write its card
        return os.stat(path).st_mtime
