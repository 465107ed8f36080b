"""Sweeps: which there are, their runs and metrics, beginning one, and repeating what failed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from duckrow.api.actions import MOST_JOBS, act
from duckrow.api.client import Client
from duckrow.api.result_csv import csv_text
from duckrow.api.results import results
from duckrow.api.sweep_board import metric_series, runs_to_repeat, sweep_board, sweep_list
from duckrow.api.sweep_drafts import begin_sweep, preview_sweep
from duckrow.web.answer import Json
from duckrow.web.parts import Of
from duckrow.web.routes.job_actions import Id

router = APIRouter(prefix="/sweeps", tags=["sweeps"])

SweepId = Annotated[int, Path(ge=1, le=2**62, description="The id of a sweep.")]


class NewSweep(BaseModel):
    """A parameter is a text as behind -p (`0.1 0.01`, `0..9`, `log:1e-5..1e-1`), or a list of its values."""

    pattern: str = Field(examples=["python train.py --lr {lr}"])
    parameters: dict[str, str | list[str | float | int | bool]] = Field({}, examples=[{"lr": "0.1 0.01"}])
    mode: str | None = Field(None, examples=["grid"])
    n_samples: int | None = Field(None, ge=1, le=10_000)
    seed: int = Field(0, ge=0, le=2**62)
    options: dict[str, Any] = Field({}, examples=[{"gpus": 1}])


class Repeat(BaseModel):
    """These runs, those with this error, or (`failed`) all that did not succeed."""

    ids: list[Id] | None = Field(None, max_length=MOST_JOBS)
    failure: str | None = None
    failed: bool = True


@router.get("", summary="All sweeps, the newest first.")
async def list_all(of: Of) -> Json:
    return await of.desk.show(sweep_list)


@router.post("/preview", summary="The points of a sweep, before it is begun.")
async def preview(of: Of, new: NewSweep) -> Json:
    return await of.desk.show(lambda _client: preview_sweep(new.model_dump()))


@router.post("", status_code=201, summary="Begin a sweep, or go on with it.")
async def begin(of: Of, new: NewSweep) -> Json:
    return await of.desk.do(lambda _client: begin_sweep(new.model_dump()), status=201)


@router.get("/{sweep_id:int}", summary="The runs of a sweep, and why some failed.")
async def show(of: Of, sweep_id: SweepId) -> Json:
    return await of.desk.show(sweep_board, str(sweep_id), slow=True)


@router.get("/{sweep_id:int}/metrics", summary="How a metric went in each run.")
async def metrics(
    of: Of,
    sweep_id: SweepId,
    metric: Annotated[str, Query(min_length=1, max_length=200)],
    max_points: Annotated[int, Query(ge=2, le=2000)] = 300,
) -> Json:
    return await of.desk.show(metric_series, str(sweep_id), metric, max_points, slow=True)


@router.get("/{sweep_id:int}/results.csv", summary="The results as CSV.", response_class=Response)
async def as_csv(of: Of, sweep_id: SweepId) -> Response:
    def written(client: Client) -> bytes:
        found = results(str(sweep_id), client=client)
        return csv_text(found, found.columns).encode()

    headers = {"Content-Disposition": f'attachment; filename="sweep-{sweep_id}.csv"'}
    return Response(await of.desk.look(written, slow=True), media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/{sweep_id:int}/rerun", summary="Run those again that did not succeed.")
async def rerun(of: Of, sweep_id: SweepId, wanted: Repeat) -> Json:
    def repeat(client: Client) -> dict[str, Any]:
        return asdict(act(client, "rerun", runs_to_repeat(client, str(sweep_id), wanted.ids, wanted.failure)))

    return await of.desk.do(repeat)
