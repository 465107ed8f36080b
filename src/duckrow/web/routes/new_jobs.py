"""Adding jobs: a preview of what a text becomes, and adding all of it or nothing."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from duckrow.api.drafts import add_drafts, preview
from duckrow.web.answer import Json
from duckrow.web.parts import Of

router = APIRouter(tags=["jobs"])


class NewJobs(BaseModel):
    """`options`: those of `duckrow.submit`, which are those of the command line."""

    text: str = Field(examples=["python train.py --lr 0.1\npython train.py --lr 0.01"])
    options: dict[str, Any] = Field({}, examples=[{"project": "thesis", "gpus": 1, "timeout": "2h"}])


@router.post("/jobs/preview", summary="What would be added, and where it would be placed.")
async def preview_jobs(of: Of, new: NewJobs) -> Json:
    return await of.desk.show(preview, new.text, new.options)


@router.post("/jobs", status_code=201, summary="Add jobs: all of them, or none.")
async def add_jobs(of: Of, new: NewJobs) -> Json:
    return await of.desk.do(lambda client: {"ids": add_drafts(client, new.text, new.options)}, status=201)
