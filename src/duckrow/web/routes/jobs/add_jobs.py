"""Adding jobs: a preview of what a text becomes, and adding all of it or nothing."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from duckrow.api.adding.drafts import DraftedJobs, add_drafts, preview
from duckrow.web.answers.json_response import JsonResponse
from duckrow.web.schemas.jobs import AddedJobs, JobsPreview
from duckrow.web.services import Folder, ServicesOf

router = APIRouter(tags=["jobs"])


class NewJobs(BaseModel):
    """`options`: those of `duckrow.submit`, which are those of the command line."""

    text: str = Field(examples=["python train.py --lr 0.1\npython train.py --lr 0.01"])
    options: dict[str, Any] = Field({}, examples=[{"project": "thesis", "gpus": 1, "timeout": "2h"}])
    array: str | None = Field(None, max_length=1000, description="0-9%4: the one command, once for each index.")
    delimiter: str | None = Field(
        None, min_length=1, max_length=100, description="A line with only this text ends a job of several lines."
    )
    root: Folder | None = Field(None, description="Create the folders of the runs in this one.")
    snapshot: bool = Field(False, description="Copy the code first, so that later edits do not change it.")

    def wanted(self) -> DraftedJobs:
        return DraftedJobs(**{name: getattr(self, name) for name in type(self).model_fields})


@router.post("/jobs/preview", summary="What would be added, and where it would be placed.", response_model=JobsPreview)
async def preview_jobs(services: ServicesOf, new: NewJobs) -> JsonResponse:
    return await services.threads.answer(preview, new.wanted())


@router.post("/jobs", status_code=201, summary="Add jobs: all of them, or none.", response_model=AddedJobs)
async def add_jobs(services: ServicesOf, new: NewJobs) -> JsonResponse:
    return await services.threads.change(lambda client: {"ids": add_drafts(client, new.wanted())}, status=201)
