"""Batches of runs on clusters: listing them, adding one, continuing one."""

from __future__ import annotations

import os
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel

from duckrow.api.client import Client
from duckrow.core.errors import NotFoundError
from duckrow.web.answers.json_response import JsonResponse
from duckrow.web.schemas.installation import Batches, SlurmJobs
from duckrow.web.services import Folder, ServicesOf

router = APIRouter(prefix="/batches", tags=["batches"])

BatchName = Annotated[str, Path(max_length=200, description="The name of a batch.")]


class BatchFolder(BaseModel):
    """The folder of a batch that another login node has submitted."""

    folder: Folder


@router.get(
    "",
    summary="Batches on clusters, their progress and their SLURM jobs.",
    response_model=Batches,
)
async def list_all(services: ServicesOf) -> JsonResponse:
    return await services.threads.answer(_rows, slow=True)


def _rows(client: Client, name: str | None = None) -> dict[str, Any]:
    from duckrow.api.clusters.listing import batch_rows, find_batch

    return {"items": batch_rows(client, None if name is None else find_batch(client, name))}


@router.post("", summary="Add a batch that another login node has submitted.", response_model=Batches)
async def adopt(services: ServicesOf, wanted: BatchFolder) -> JsonResponse:
    return await services.threads.change(_adopt, wanted.folder)


def _adopt(client: Client, folder: str) -> dict[str, Any]:
    from duckrow.api.clusters.listing import adopt_batch

    if not os.path.isfile(f"{folder}/batch.json"):
        raise NotFoundError(f"There is no batch in {folder[:200]!r}: a batch has a file batch.json.")
    return _rows(client, adopt_batch(client, os.path.abspath(folder)))


@router.post(
    "/{name}/start",
    summary="Submit SLURM jobs for queued runs, also after you cancelled all with scancel.",
    response_model=SlurmJobs,
)
async def start(services: ServicesOf, name: BatchName) -> JsonResponse:
    return await services.threads.change(_start, name)


def _start(client: Client, name: str) -> dict[str, Any]:
    from duckrow.api.clusters.listing import find_batch, start_batch

    return {"slurm_jobs": start_batch(client, find_batch(client, name))}
