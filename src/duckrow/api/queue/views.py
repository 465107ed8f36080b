"""What front ends get to see of a job: one shape, the same in tables, JSON and Python. Documented in docs/json.md."""

from __future__ import annotations

import json
from collections.abc import Iterable

from duckrow.core.devices.device import Device, describe_devices
from duckrow.core.jobs.title import full_name, job_words, title_of
from duckrow.core.quick_dataclass import dataclass
from duckrow.store.jobs.listed_job import ListedJob

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any


@dataclass
class JobView:
    id: int
    name: str
    project: str
    command: str
    cwd: str
    state: str
    outcome: str | None
    exit_code: int | None
    signal: int | None
    gpus: int | None
    devices: list[str]  # of the latest attempt
    pid: int | None
    attempts: int
    priority: int
    created_at: float
    started_at: float | None
    ended_at: float | None
    duration_s: float | None
    peak_memory_mb: int | None  # of the latest attempt, on the GPU where it used most
    log: str | None
    host: str  # daemon, or the name of the run
    detail: str
    timeout_s: float | None = None
    retries: int = 0
    requeue_lost: bool = False
    held: bool = False
    not_before: float | None = None
    eta_s: float | None = None  # until it will be done, judged by similar jobs; None: unknown
    run_ended: bool = False  # it waits for a run that has ended
    folder: str | None = None  # of the run, if one was chosen; the others are in the state folder
    sweep: str | None = None
    utilization: float | None = None  # mean share of the time that its GPUs were busy, in percent
    gpu_seconds: float | None = None  # of the latest attempt: number of GPUs times duration
    parameters: dict[str, Any] | None = None  # its point of the sweep
    outfile: str | None = None  # where its output goes, if the user said so
    suspended: bool = False  # it was paused while it was running: its processes exist, but do nothing
    array_id: int | None = None  # the first job of its array
    array_index: int | None = None  # which one of the array it is: DUCKROW_ARRAY_INDEX
    title: str = ""  # the command for people to read; for a Python function, the call

    @property
    def words(self) -> str:
        """Its name for people."""
        return job_words(self.id, self.array_index)

    @property
    def full_name(self) -> str:
        return full_name(self.name, self.array_index)

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))


def job_view(row: ListedJob, now: float) -> JobView:
    started, ended = row.started_at, row.ended_at
    is_queued = row.state == "queued"
    devices = [] if is_queued else [device for device, _ in row.holds]
    return JobView(
        id=row.id,
        name=row.name,
        project=row.project,
        command=row.command,
        cwd=row.cwd,
        state=row.state,
        outcome=row.outcome,
        exit_code=row.exit_code,
        signal=row.signal,
        gpus=row.gpus,
        devices=[str(device) for device in devices],
        pid=row.pid if ended is None else None,
        attempts=row.attempts,
        priority=row.priority,
        created_at=row.created_at,
        started_at=started,
        ended_at=row.changed_at if row.state == "done" else None,
        duration_s=None if started is None or is_queued else (ended or now) - started,
        peak_memory_mb=row.peak_memory_mb,
        log=row.log,
        host=row.host_name,
        detail=row.detail,
        timeout_s=row.timeout_s,
        retries=row.retries,
        requeue_lost=bool(row.requeue_lost),
        held=bool(row.held) and is_queued,
        not_before=row.not_before if is_queued else None,
        folder=row.folder,
        sweep=row.sweep,
        utilization=row.utilization,
        gpu_seconds=None if started is None or is_queued else gpu_seconds(devices, started, ended or now),
        parameters=None if row.parameters is None else json.loads(row.parameters),
        outfile=row.outfile,
        suspended=bool(row.suspended) and row.state in ("starting", "running"),
        array_id=row.array_id,
        array_index=row.array_index,
        title=title_of(row.command),
    )


def gpu_seconds(devices: Iterable[Device], started_at: float, ended_at: float) -> float:
    """What an attempt cost: a shared GPU counts in full; a CPU slot does not count."""
    gpus = sum(device.is_gpu for device in devices)
    return gpus * max(ended_at - started_at, 0.0)


def devices_text(devices: list[str]) -> str:
    return describe_devices(map(Device, devices)) if devices else ""


def exit_text(exit_code: int | None, signal: int | None) -> str:
    if signal is not None:
        return f"sig {signal}"
    return "" if exit_code is None else str(exit_code)
