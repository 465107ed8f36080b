"""Answers about the whole: the queue, the scheduler, batches on clusters, this installation."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from duckrow.web.schemas.jobs import Counts


class DaemonStatus(BaseModel):
    """Whether the daemon is running. The other fields are set only if it is."""

    running: bool
    pid: int | None = None
    since: float | None = None
    home: str | None = None


class Project(BaseModel):
    name: str
    counts: Counts
    limit: int | None


class Host(BaseModel):
    id: int
    name: str
    kind: str
    alive: bool


class Status(BaseModel):
    version: str
    user: str
    machine: str
    read_only: bool
    now: float
    cwd: str
    daemon: DaemonStatus
    paused: bool
    paused_projects: list[str]
    counts: Counts
    projects: list[Project]
    hosts: list[Host]


class Sentence(BaseModel):
    sentence: str


class QueuePaused(Sentence):
    suspended: int


class ProjectLimit(BaseModel):
    project: str
    max_running: int | None


class Batch(BaseModel):
    name: str
    folder: str
    runs: int
    running: int
    done: int
    failed: int
    jobs: str
    still: str = Field(description="Why nothing more is submitted for it; empty: more is, or need not be.")


class Batches(BaseModel):
    items: list[Batch]


class SlurmJobs(BaseModel):
    slurm_jobs: list[str]


class Setting(BaseModel):
    setting: str
    value: Any
    source: str
    help: str


class SettingsInForce(BaseModel):
    file: str
    items: list[Setting]
    projects: list[str]


class Finding(BaseModel):
    check: str
    level: str
    found: str
    advice: str


class Findings(BaseModel):
    items: list[Finding]
    problems: int


class DaemonStarted(BaseModel):
    started: bool
    pid: int | None


class DaemonEnded(BaseModel):
    ended: bool
    still_running: int
