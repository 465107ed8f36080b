"""The queue as a whole: pause, resume, and how many jobs of a project run at a time."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from duckrow.api.client import Client
from duckrow.api.jobs.limit import limit_project
from duckrow.api.jobs.pause_queue import pause_queue, resume_queue
from duckrow.core.jobs.job import check_name
from duckrow.web.answers.json_response import JsonResponse
from duckrow.web.schemas.installation import ProjectLimit, QueuePaused, Sentence
from duckrow.web.services import ServicesOf

router = APIRouter(prefix="/queue", tags=["queue"])

Project = Annotated[str | None, Field(max_length=100)]


class WholeQueueOrProject(BaseModel):
    """All, or one project."""

    project: Project = None


class PauseQueue(WholeQueueOrProject):
    stop_running: bool = False  # suspend running jobs; they keep their GPU memory


class LimitProject(BaseModel):
    project: str = Field(max_length=100)
    max_running: int | None = Field(None, ge=0, le=10**9)  # null: no limit


@router.post("/pause", summary="Pause the queue or a project.", response_model=QueuePaused)
async def pause(services: ServicesOf, wanted: PauseQueue) -> JsonResponse:
    return await services.threads.change(_pause, wanted)


def _pause(client: Client, wanted: PauseQueue) -> dict[str, Any]:
    if wanted.project is not None:
        check_name("project", wanted.project)
    suspended = pause_queue(client, wanted.project, wanted.stop_running)
    return {"sentence": f"{wanted.project or 'Everything'} is paused.", "suspended": suspended}


@router.post("/resume", summary="Continue after a pause.", response_model=Sentence)
async def resume(services: ServicesOf, wanted: WholeQueueOrProject) -> JsonResponse:
    return await services.threads.change(_resume, wanted)


def _resume(client: Client, wanted: WholeQueueOrProject) -> dict[str, Any]:
    if wanted.project is not None:
        check_name("project", wanted.project)
    resume_queue(client, wanted.project)
    return {"sentence": f"{wanted.project or 'Everything'} continues."}


@router.post("/limit", summary="Limit how many jobs of a project run at a time.", response_model=ProjectLimit)
async def limit(services: ServicesOf, wanted: LimitProject) -> JsonResponse:
    return await services.threads.change(_limit, wanted)


def _limit(client: Client, wanted: LimitProject) -> dict[str, Any]:
    check_name("project", wanted.project)
    limit_project(client, wanted.project, wanted.max_running)
    return {"project": wanted.project, "max_running": wanted.max_running}
