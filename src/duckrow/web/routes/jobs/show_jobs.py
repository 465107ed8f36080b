"""Looking at jobs: a page of them, one of them, why it waits, what it uses."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from duckrow.api.client import Client
from duckrow.api.logs.error_groups import errors_of
from duckrow.api.queue.job_details import check_job, job_details
from duckrow.api.queue.job_pages import MOST_PER_PAGE, PER_PAGE, STATUSES, count_of, page_with_counts
from duckrow.api.queue.listing import parse_words
from duckrow.api.queue.masked_environment import masked_environment
from duckrow.api.queue.why import why
from duckrow.api.results.metric_curves import curves_of_job
from duckrow.api.sweeps.listing import find_sweep
from duckrow.core.jobs.job_filter import Filter
from duckrow.core.units import parse_duration_s
from duckrow.web.answers.json_response import JsonResponse
from duckrow.web.schemas.jobs import (
    ErrorGroups,
    JobDetails,
    JobEnvironment,
    JobMetrics,
    JobPage,
    MemoryCurve,
    WaitingReasons,
)
from duckrow.web.services import JobId, Services, ServicesOf

router = APIRouter(tags=["jobs"])

_ERROR_LINES = 5

Statuses = Annotated[list[str] | None, Query(alias="status", description="States and outcomes; one is enough.")]
Text = Annotated[str | None, Query(max_length=200)]
Age = Annotated[str | None, Query(max_length=30, description="Added within this time, or longer ago: 90s, 2h, 7d")]
Attempt = Annotated[int | None, Query(ge=1, le=10**9, description="Which attempt; by default the latest.")]


@router.get("/jobs", summary="A page of the jobs that match.", response_model=JobPage)
async def list_jobs(
    request: Request,
    services: ServicesOf,
    status: Statuses = None,
    project: Text = None,
    sweep: Text = None,
    q: Text = None,
    name: Annotated[str | None, Query(max_length=200, description="A name, or a pattern: train-*")] = None,
    failed: Annotated[bool, Query(description="Only finished jobs that did not succeed.")] = False,
    since: Age = None,
    older_than: Age = None,
    sort: Annotated[str | None, Query(max_length=20, description="id, -id, name, ...")] = None,
    page: Annotated[int, Query(ge=1, le=10**9)] = 1,
    per_page: Annotated[int, Query(ge=1, le=MOST_PER_PAGE)] = PER_PAGE,
) -> JsonResponse:
    words = {
        "project": project,
        "sweep": sweep,
        "q": q,
        "name": name,
        "failed": failed,
        "since": since,
        "older_than": older_than,
    }
    return await services.answer_cache.answer(request, _page, services, status or [], words, sort, page, per_page)


def _page(
    client: Client,
    services: Services,
    statuses: list[str],
    words: dict[str, Any],
    sort: str | None,
    page: int,
    size: int,
) -> dict[str, Any]:
    wanted = filter_of(client, statuses, **words)
    views, counts = page_with_counts(client, wanted, services.job_counts.of_filter, sort or None, page, size)
    return {
        "items": [view.as_json() for view in views],
        "total": count_of(counts, wanted.statuses),
        "page": page,
        "per_page": size,
        "counts": counts,
    }


def filter_of(
    client: Client,
    statuses: list[str],
    project: str | None = None,
    sweep: str | None = None,
    q: str | None = None,
    name: str | None = None,
    failed: bool = False,
    since: str | None = None,
    older_than: str | None = None,
) -> Filter:
    return Filter(
        statuses=parse_words("state", statuses, STATUSES),
        project=project or None,
        name=name or None,
        failed=failed,
        since_s=parse_duration_s(since) if since else None,
        older_than_s=parse_duration_s(older_than) if older_than else None,
        sweep_id=find_sweep(client, sweep).id if sweep else None,
        text=q.strip() if q else None,
    )


@router.get(
    "/jobs/errors",
    summary="Why jobs failed: each error once, the most frequent first.",
    response_model=ErrorGroups,
)
async def errors(
    services: ServicesOf,
    project: Text = None,
    sweep: Text = None,
    lines: Annotated[int, Query(ge=1, le=100)] = _ERROR_LINES,
) -> JsonResponse:
    return await services.threads.answer(_errors, project, sweep, lines, slow=True)


def _errors(client: Client, project: str | None, sweep: str | None, lines: int) -> dict[str, Any]:
    failed = filter_of(client, [], project=project, sweep=sweep, failed=True)
    groups, left_out = errors_of(client, failed, lines)
    return {"items": groups, "left_out": left_out}


@router.get("/jobs/{job_id:int}", summary="Everything about a job.", response_model=JobDetails)
async def show_job(services: ServicesOf, job_id: JobId) -> JsonResponse:
    return await services.threads.answer(job_details, job_id)


@router.get("/jobs/{job_id:int}/why", summary="Why it is not running, in sentences.", response_model=WaitingReasons)
async def why_job(services: ServicesOf, job_id: JobId) -> JsonResponse:
    return await services.threads.answer(_why, job_id)


def _why(client: Client, job_id: int) -> dict[str, Any]:
    check_job(client, job_id)
    return {"reasons": why(client, job_id)}


@router.get(
    "/jobs/{job_id:int}/environment",
    summary="Its variables; what may be a secret is masked.",
    response_model=JobEnvironment,
)
async def environment_of_job(services: ServicesOf, job_id: JobId) -> JsonResponse:
    return await services.threads.answer(lambda client: {"variables": masked_environment(client, job_id)})


@router.get(
    "/jobs/{job_id:int}/metrics",
    summary="What it has reported: each metric, its last value and its curve.",
    response_model=JobMetrics,
)
async def metrics_of_job(
    services: ServicesOf, job_id: JobId, max_points: Annotated[int, Query(ge=2, le=2000)] = 300
) -> JsonResponse:
    return await services.threads.answer(curves_of_job, job_id, max_points)


@router.get(
    "/jobs/{job_id:int}/curve",
    summary="The GPU memory and utilisation of an attempt over its time.",
    response_model=MemoryCurve,
)
async def curve_of_job(services: ServicesOf, job_id: JobId, attempt: Attempt = None) -> JsonResponse:
    return await services.threads.answer(services.device_cache.curve, job_id, attempt)
