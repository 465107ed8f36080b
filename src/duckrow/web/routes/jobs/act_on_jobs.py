"""Actions on one job or many: verbs, changes, and running again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from duckrow.api.client import Client
from duckrow.api.jobs.actions import MOST_JOBS, act
from duckrow.api.jobs.clean import clean as clean_jobs
from duckrow.api.jobs.clean import old_jobs
from duckrow.api.jobs.edit import edit, edit_words
from duckrow.api.jobs.rerun import rerun
from duckrow.api.queue.job_details import check_job, job_details
from duckrow.api.results.run_metrics import report_for
from duckrow.core.errors import ConflictError, UsageError
from duckrow.core.units import parse_duration_s
from duckrow.web.answers.job_selection import selected_ids
from duckrow.web.answers.json_response import JsonResponse
from duckrow.web.schemas.jobs import ActionResult, CleanedJobs, JobDetails, MetricsNoted
from duckrow.web.services import JobId, ServicesOf

router = APIRouter(tags=["jobs"])

Id = Annotated[int, Field(ge=1, le=2**62)]
Position = Annotated[float, Field(allow_inf_nan=False)]
Priority = Annotated[int, Field(ge=-(2**31), le=2**31)]


class JobAction(BaseModel):
    """What to do to which jobs: `ids`, or all that match `select`, the query of GET /jobs; `all=true` means all."""

    action: Literal[
        "kill", "rerun", "hold", "release", "pause", "resume", "remove", "priority", "first", "last", "before", "place"
    ]
    ids: list[Id] | None = Field(None, max_length=MOST_JOBS)
    select: str | None = Field(None, max_length=1000, examples=["status=failed&project=thesis"])
    priority: Priority | None = None
    before: Id | None = None
    changes: dict[str, Any] | None = None
    places: list[tuple[Id, Priority, Position]] = Field([], max_length=MOST_JOBS)
    now: bool = False  # kill: without grace time


class CleanJobs(BaseModel):
    older_than: str | float = Field(examples=["7d"], description="Done for longer than this; a number is seconds.")
    dry_run: bool = False  # only say which


class JobChanges(BaseModel):
    changes: dict[str, Any] = {}


@router.post("/jobs/actions", summary="Do something to one job or to many.", response_model=ActionResult)
async def do(services: ServicesOf, action: JobAction) -> JsonResponse:
    return await services.threads.change(_do, action)


def _do(client: Client, wanted: JobAction) -> dict[str, Any]:
    if (wanted.ids is None) == (wanted.select is None):
        raise UsageError("Say which jobs: either 'ids' or 'select'.")
    ids = wanted.ids if wanted.ids is not None else selected_ids(client, wanted.select or "")
    changed = act(
        client,
        wanted.action,
        ids,
        priority=wanted.priority,
        before=wanted.before,
        changes=wanted.changes,
        places=wanted.places,
        now=wanted.now,
    )
    return changed.as_json()


@router.post(
    "/jobs/clean",
    summary="Forget old jobs, with their logs and folders.",
    response_model=CleanedJobs,
)
async def clean(services: ServicesOf, wanted: CleanJobs) -> JsonResponse:
    return await services.threads.change(_clean, wanted)


def _clean(client: Client, wanted: CleanJobs) -> dict[str, Any]:
    old = old_jobs(client, parse_duration_s(str(wanted.older_than)))
    return {"ids": old if wanted.dry_run else clean_jobs(client, old), "removed": not wanted.dry_run}


@router.patch("/jobs/{job_id:int}", summary="Change a queued job.", response_model=JobDetails)
async def edit_job(services: ServicesOf, job_id: JobId, changes: dict[str, Any]) -> JsonResponse:
    return await services.threads.change(_edit, job_id, changes)


def _edit(client: Client, job_id: int, changes: dict[str, Any]) -> dict[str, Any]:
    check_job(client, job_id)
    edit(client, job_id, edit_words(changes))
    return job_details(client, job_id)


@router.post(
    "/jobs/{job_id:int}/rerun",
    summary="Run a finished job again, as it is or with changes.",
    response_model=JobDetails,
)
async def rerun_job(services: ServicesOf, job_id: JobId, changes: JobChanges) -> JsonResponse:
    return await services.threads.change(_rerun, job_id, changes.changes)


def _rerun(client: Client, job_id: int, changes: dict[str, Any]) -> dict[str, Any]:
    check_job(client, job_id)
    changed = rerun(client, [job_id], edit_words(changes))
    if changed.refused:
        raise ConflictError(f"J{changed.refused[0].why[1:]}.")
    return job_details(client, job_id)


@router.post(
    "/jobs/{job_id:int}/metrics",
    summary="Record metrics of a run, as the run itself would.",
    response_model=MetricsNoted,
)
async def report(services: ServicesOf, job_id: JobId, metrics: dict[str, str | int | float | bool]) -> JsonResponse:
    return await services.threads.change(_report, job_id, metrics)


def _report(client: Client, job_id: int, metrics: dict[str, Any]) -> dict[str, Any]:
    report_for(client, job_id, metrics)
    return {"noted": len(metrics)}
