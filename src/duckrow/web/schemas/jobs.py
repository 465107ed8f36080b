"""Answers about jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from duckrow.api.queue.views import JobView
from duckrow.core.life.states import Outcome, State

Counts = dict[str, int]  # state or outcome -> how many


class JobPage(BaseModel):
    items: list[JobView]
    total: int  # matching jobs
    page: int
    per_page: int
    counts: Counts  # of all matching jobs, whatever their state


class Dependency(BaseModel):
    id: int
    condition: str
    met: bool


class JobEvent(BaseModel):
    at: float
    before: str
    after: str
    outcome: Outcome | None
    attempt: int | None
    detail: str
    text: str


class Attempt(BaseModel):
    number: int
    state: State
    devices: list[str]
    log: str
    started_at: float
    ended_at: float | None
    duration_s: float
    pid: int | None
    exit_code: int | None
    signal: int | None
    outcome: Outcome | None
    peak_memory_mb: int | None
    host_peak_mb: int | None
    utilization: float | None
    gpu_seconds: float
    curve: list[tuple[float, int | None, float | None]]  # (seconds since its start, MB, percent)
    detail: str


class CodeVersion(BaseModel):
    commit: str
    branch: str | None
    dirty: bool


class Needs(BaseModel):
    """What the job asks for. Fields that it does not ask for are absent."""

    gpu_mem_mb: int | None = None
    total_gpu_mem_mb: int | None = None
    auto: bool | None = None
    recipe: str | None = None
    parameters: str | None = None
    deciding: str | None = None
    cpus: int | None = None
    mem_mb: int | None = None
    mem_limit: bool | None = None
    ooms: int | None = None
    ran_out_mb: int | None = None
    alone: bool | None = None
    larger_than_mb: int | None = None


@dataclass(kw_only=True)
class JobDetails(JobView):
    after: list[Dependency]
    attempts_list: list[Attempt]
    events: list[JobEvent]
    needs: Needs
    environment_names: list[str]
    code: CodeVersion | None
    run_folder: str
    sweep_id: int | None
    error: list[str]  # the end of its log, if it did not succeed


class JobMetric(BaseModel):
    metric: str
    last: Any  # a number, a text; NaN and infinities as text
    points: list[tuple[float, Any]]  # (step, value)


class JobMetrics(BaseModel):
    items: list[JobMetric]
    truncated: bool


class WaitingReasons(BaseModel):
    reasons: list[str]


class EnvironmentVariable(BaseModel):
    name: str
    value: str
    masked: bool


class JobEnvironment(BaseModel):
    variables: list[EnvironmentVariable]


class MemoryCurvePoint(BaseModel):
    at: float
    memory_mb: int | None
    utilization: float | None


class MemoryCurve(BaseModel):
    attempt: int | None
    points: list[MemoryCurvePoint]
    reserved_mb: int | None


class ErrorGroup(BaseModel):
    error: str
    outcome: Outcome
    exit: list[str]
    count: int
    ids: list[int]
    lines: list[str]
    rerun: str


class ErrorGroups(BaseModel):
    items: list[ErrorGroup]
    left_out: int


class WaitResult(BaseModel):
    done: bool
    succeeded: bool
    waiting: list[int]
    items: list[JobView]


class PreviewedJob(BaseModel):
    name: str
    command: str
    array_index: int | None
    words: list[str]
    note: str | None
    outfile: str | None
    placement: str
    problems: list[str]


class JobsPreview(BaseModel):
    jobs: list[PreviewedJob]
    problems: list[str]


class AddedJobs(BaseModel):
    ids: list[int]


class RefusedJob(BaseModel):
    id: int
    why: str


class ActionResult(BaseModel):
    done: list[int]
    refused: list[RefusedJob]
    undo: dict[str, Any] | None  # send this to POST /jobs/actions to undo the action


class CleanedJobs(BaseModel):
    ids: list[int]
    removed: bool


class MetricsNoted(BaseModel):
    noted: int


class LogPiece(BaseModel):
    text: str
    from_: int = Field(alias="from")
    to: int
    size: int
    ended: bool
    attempt: int | None


class LogMatch(BaseModel):
    at: int
    line: str


class LogMatches(BaseModel):
    hits: list[LogMatch]
    next: int | None
    complete: bool
