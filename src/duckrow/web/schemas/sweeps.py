"""Answers about sweeps."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from duckrow.core.life.states import Outcome, State
from duckrow.web.schemas.jobs import Counts


class ListedSweep(BaseModel):
    id: int
    name: str
    project: str
    runs: int
    total: int
    succeeded: int
    failed: int
    running: int
    waiting: int
    counts: Counts
    created_at: float
    pattern: str
    folder: str


class SweepList(BaseModel):
    items: list[ListedSweep]


class SweepRun(BaseModel):
    job: int
    name: str
    state: State
    outcome: Outcome | None
    parameters: dict[str, Any]
    metrics: dict[str, Any]
    duration_s: float | None
    peak_memory_mb: int | None
    attempts: int
    exit_code: int | None


class SweepFailure(BaseModel):
    text: str
    count: int
    ids: list[int]


class SweepDetails(ListedSweep):
    columns: list[str]
    parameters: list[str]
    varying: list[str]
    metrics: list[str]
    rows: list[SweepRun]
    truncated: bool
    failures: list[SweepFailure]


class SweepPoint(BaseModel):
    name: str
    command: str
    parameters: dict[str, Any]


class SweepPreview(BaseModel):
    total: int
    points: list[SweepPoint]
    notes: list[str]
    problems: list[str]


class StartedSweep(BaseModel):
    sweep: int
    name: str
    summary: str
    ids: list[int]


class MetricSeries(BaseModel):
    job: int
    name: str
    points: list[tuple[float, Any]]  # (step, value)


class MetricCurves(BaseModel):
    metric: str
    series: list[MetricSeries]
    truncated: bool


class ResultRows(BaseModel):
    columns: list[str]
    items: list[dict[str, Any]]
    total: int
