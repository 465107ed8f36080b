"""A queue in which nothing happens but what a test writes: what the scheduler and the runs would have left."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from duckrow.api.client import Client
from duckrow.core.devices.inventory import WHOLE, Seat
from duckrow.core.devices.machine import Machine
from duckrow.core.jobs.job import JobSpec, PointOfSweep
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON, try_lock, unlock
from duckrow.store.sweeps import SweepStore


class QuietQueue:
    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.client = Client(folder)
        self._lock: int | None = None

    @property
    def work(self) -> Path:
        """Where the user stands."""
        return Path(self.folder.root).parent

    def close(self) -> None:
        self.down()
        self.client.close()

    # -- the daemon: its rows and its lock --------------------------------------------------------------------

    def offers(self, seats: Sequence[Seat], sizes_mb: Mapping[str, int] | None = None, **machine: Any) -> None:
        known = Machine(total_mb=dict(sizes_mb or {}))._replace(**machine)
        self.client.hosts.open(DAEMON, seats, known)

    def up(self) -> None:
        self._lock = try_lock(self.folder, DAEMON)

    def down(self) -> None:
        if self._lock is not None:
            unlock(self.folder, DAEMON, self._lock)
            self._lock = None

    # -- jobs -------------------------------------------------------------------------------------------------

    def add(self, *names: str, host: int = DAEMON, command: str = "true", **fields: Any) -> list[int]:
        specs = [JobSpec(command, str(self.work), name=name, **fields) for name in names or ("job",)]
        with self.client.database.transaction():
            return list(self.client.jobs.add(host, specs, {"HOME": "/home/ada"}))

    def start(
        self, job_id: int, *devices: str, share: int = WHOLE, started_at: float | None = None, log: str = ""
    ) -> None:
        """An attempt at it begins, one more than it has had."""
        holds = json.dumps([[device, share] for device in devices or ("cpu0",)])
        self.write("UPDATE jobs SET state = 'running', outcome = NULL, attempts = attempts + 1 WHERE id = ?", job_id)
        self.write(
            "INSERT INTO attempts (job_id, number, host_id, keeper, holds, log, started_at, pid)"
            " SELECT id, attempts, 1, '', ?, ?, ?, 4242 FROM jobs WHERE id = ?",
            holds,
            log,
            time.time() - 10 if started_at is None else started_at,
            job_id,
        )

    def end(self, job_id: int, outcome: str = "succeeded", exit_code: int | None = 0, took_s: float = 5.0) -> None:
        """Its attempt ends."""
        self.write("UPDATE jobs SET state = 'done', outcome = ? WHERE id = ?", outcome, job_id)
        self.write(
            "UPDATE attempts SET ended_at = started_at + ?, outcome = ?, exit_code = ? WHERE job_id = ?"
            " AND ended_at IS NULL",
            took_s,
            outcome,
            exit_code,
            job_id,
        )

    def done(self, job_id: int, outcome: str = "succeeded", log: str = "", **how: Any) -> None:
        """One attempt, from its start to its end."""
        path = self.run_folder(job_id) / "attempt-1.log"
        path.write_text(log)
        self.start(job_id, log=str(path) if log else "")
        self.end(job_id, outcome, **how)

    def run_folder(self, job_id: int) -> Path:
        view = self.client.job(job_id)
        folder = Path(view.folder or self.folder.run_folder(view.project, view.name, view.id))
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def report(self, job_id: int, *lines: Mapping[str, Any]) -> None:
        with (self.run_folder(job_id) / "metrics.jsonl").open("a") as file:
            file.writelines(f"{json.dumps(line)}\n" for line in lines)

    def sweep(self, name: str, *points: Mapping[str, Any], host: int = DAEMON) -> list[int]:
        root = str(self.work / "runs")
        with self.client.database.transaction():
            sweep_id = SweepStore(self.client.database).add("default", name, root, f"train {name}")
            specs = [
                JobSpec(
                    "train",
                    str(self.work),
                    name=f"run-{number}",
                    folder=f"{root}/default/{name}/{number}",
                    point=PointOfSweep(sweep_id, json.dumps(point), json.dumps(point)),
                )
                for number, point in enumerate(points)
            ]
            return list(self.client.jobs.add(host, specs, {}))

    # -- the database -----------------------------------------------------------------------------------------

    def write(self, statement: str, *values: Any) -> None:
        with self.client.database.transaction():
            self.client.database.execute(statement, values)

    def state(self, job_id: int) -> str:
        view = self.client.job(job_id)
        return view.outcome or view.state
