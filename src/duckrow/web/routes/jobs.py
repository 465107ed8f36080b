"""Looking at jobs: a page of them, one of them, why it waits, what it uses."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from duckrow.api.client import Client
from duckrow.api.job_details import check_job, job_details
from duckrow.api.job_pages import MOST_PER_PAGE, PER_PAGE, STATUSES, count_of, jobs_of_page
from duckrow.api.listing import Filter, parse_words
from duckrow.api.masked_environment import masked_environment
from duckrow.api.sweep_list import find_sweep
from duckrow.api.why import why
from duckrow.web.answer import Json
from duckrow.web.parts import JobId, Of, Parts

router = APIRouter(tags=["jobs"])

Statuses = Annotated[list[str] | None, Query(alias="status", description="States and outcomes; one is enough.")]
Text = Annotated[str | None, Query(max_length=200)]
Attempt = Annotated[int | None, Query(ge=1, le=10**9, description="Which attempt; by default the latest.")]


@router.get("/jobs", summary="A page of the jobs that match.")
async def list_jobs(
    request: Request,
    of: Of,
    status: Statuses = None,
    project: Text = None,
    sweep: Text = None,
    q: Text = None,
    sort: Annotated[str | None, Query(max_length=20, description="id, -id, name, ...")] = None,
    page: Annotated[int, Query(ge=1, le=10**9)] = 1,
    per_page: Annotated[int, Query(ge=1, le=MOST_PER_PAGE)] = PER_PAGE,
) -> Json:
    words = {"project": project, "sweep": sweep, "q": q}
    return await of.shared.show(request, _page, of, status or [], words, sort, page, per_page)


def _page(
    client: Client, of: Parts, statuses: list[str], words: dict[str, str | None], sort: str | None, page: int, size: int
) -> dict[str, Any]:
    wanted = filter_of(client, statuses, **words)
    views = jobs_of_page(client, wanted, sort or None, page, size)
    counts = of.tallies.of_filter(client, filter_of(client, [], **words))
    return {
        "items": [view.as_json() for view in views],
        "total": count_of(counts, wanted.statuses),
        "page": page,
        "per_page": size,
        "counts": counts,
    }


def filter_of(
    client: Client, statuses: list[str], project: str | None = None, sweep: str | None = None, q: str | None = None
) -> Filter:
    return Filter(
        statuses=parse_words("state", statuses, STATUSES),
        project=project or None,
        sweep_id=find_sweep(client, sweep).id if sweep else None,
        text=q.strip() if q else None,
    )


@router.get("/jobs/{job_id:int}", summary="All that is known of a job.")
async def show_job(of: Of, job_id: JobId) -> Json:
    return await of.desk.show(job_details, job_id)


@router.get("/jobs/{job_id:int}/why", summary="Why it is not running, in sentences.")
async def why_job(of: Of, job_id: JobId) -> Json:
    return await of.desk.show(_why, job_id)


def _why(client: Client, job_id: int) -> dict[str, Any]:
    check_job(client, job_id)
    return {"reasons": why(client, job_id)}


@router.get("/jobs/{job_id:int}/environment", summary="Its variables; what may be a secret is masked.")
async def environment_of_job(of: Of, job_id: JobId) -> Json:
    return await of.desk.show(lambda client: {"variables": masked_environment(client, job_id)})


@router.get("/jobs/{job_id:int}/curve", summary="The GPU memory and utilisation of an attempt over its time.")
async def curve_of_job(of: Of, job_id: JobId, attempt: Attempt = None) -> Json:
    return await of.desk.show(of.board.curve, job_id, attempt)
