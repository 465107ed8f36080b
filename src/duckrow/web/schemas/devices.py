"""Answers about devices, what ran on them, and the memory of jobs."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from duckrow.core.life.states import Outcome, State


class JobOnDevice(BaseModel):
    id: int
    name: str
    project: str | None
    pid: int | None
    state: State
    share: float
    reserved_mb: int | None
    used_mb: int | None
    for_s: float


class ForeignProcess(BaseModel):
    pid: int
    user: str | None
    command: str | None
    used_mb: int | None


class DeviceCard(BaseModel):
    name: str
    kind: Literal["gpu", "cpu"]
    index: int | None
    uuid: str | None
    model: str | None
    host: str
    total_mb: int | None
    free_mb: int | None
    used_mb: int | None
    foreign_mb: int | None
    reserved_mb: int | None
    utilization: float | None
    temperature: float | None
    state: Literal["free", "busy", "draining", "foreign", "missing", "set-aside", "asked", "unattended"]
    why: str | None
    jobs: list[JobOnDevice]
    foreign: list[ForeignProcess]
    jobs_per_gpu: int | None


class DeviceCards(BaseModel):
    items: list[DeviceCard]
    read_at: float


class DeviceCurve(BaseModel):
    name: str
    points: list[tuple[float, int | None, float | None, float | None]]  # (at, used MB, percent, degrees)


class DeviceHistory(BaseModel):
    items: list[DeviceCurve]


class TimelineBar(BaseModel):
    job: int
    attempt: int
    name: str
    project: str
    host: str
    started_at: float
    ended_at: float | None
    outcome: Outcome | None
    share: float
    reserved_mb: int | None


class TimelineLane(BaseModel):
    device: str
    bars: list[TimelineBar]


class Timeline(BaseModel):
    from_: float = Field(alias="from")
    to: float
    lanes: list[TimelineLane]
    truncated: bool


class Peak(BaseModel):
    number: int
    recipe: str
    model: str
    peak_mb: int
    runs: int
    corrected: bool
    at: float


class Peaks(BaseModel):
    items: list[Peak]


class ChangedPeak(BaseModel):
    recipe: str
    model: str
    peak_mb: int


class ChangedPeaks(BaseModel):
    changed: list[ChangedPeak]
