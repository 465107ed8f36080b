"""Sweeps: listing them, their runs and metrics, starting one, and rerunning what failed."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from duckrow.api.client import Client
from duckrow.api.jobs.actions import MOST_JOBS, act
from duckrow.api.results.choice import Choice, choose
from duckrow.api.results.csv import csv_text
from duckrow.api.results.results import results
from duckrow.api.sweeps.details import MOST_ROWS, metric_series, runs_to_repeat, sweep_details, sweep_list
from duckrow.api.sweeps.drafts import begin_sweep, preview_sweep
from duckrow.web.answers.json_response import JsonResponse
from duckrow.web.openapi import text_of
from duckrow.web.routes.jobs.act_on_jobs import Id
from duckrow.web.schemas.jobs import ActionResult
from duckrow.web.schemas.sweeps import MetricCurves, ResultRows, StartedSweep, SweepDetails, SweepList, SweepPreview
from duckrow.web.services import Folder, ServicesOf

router = APIRouter(prefix="/sweeps", tags=["sweeps"])

Word = Annotated[str | None, Query(max_length=200, description="A column; a minus in front reverses the order.")]
SweepId = Annotated[int, Path(ge=1, le=2**62, description="The id of a sweep.")]


Grid = dict[str, str | list[str | float | int | bool]]


class NewSweep(BaseModel):
    """A parameter is a text as behind -p (`0.1 0.01`, `0..9`, `log:1e-5..1e-1`), or a list of its values.

    `parameters` may be a list of such grids, whose points are united.
    """

    pattern: str = Field(examples=["python train.py --lr {lr}"])
    parameters: Grid | list[Grid] = Field({}, examples=[{"lr": "0.1 0.01"}])
    mode: str | None = Field(None, examples=["grid"])
    n_samples: int | None = Field(None, ge=1, le=10_000)
    seed: int = Field(0, ge=0, le=2**62)
    root: Folder | None = Field(None, description="Create the folders of the runs in this one.")
    snapshot: bool = Field(False, description="Copy the code first, so that later edits do not change it.")
    options: dict[str, Any] = Field({}, examples=[{"gpus": 1}])


def _choice(
    where: Annotated[list[str] | None, Query(max_length=20, description="Only rows such as lr=0.1, loss<0.3.")] = None,
    sort: Word = None,
    best: Annotated[str | None, Query(max_length=200, description="Only the lowest of this metric.")] = None,
    highest: Annotated[bool, Query(description="With best: the highest.")] = False,
    per: Annotated[str | None, Query(max_length=1000, description="With best: for each value of this.")] = None,
    columns: Annotated[str | None, Query(max_length=10_000, description="Which, with commas.")] = None,
) -> Choice:
    return Choice(tuple(where or ()), sort, best, highest, per, columns)


ChoiceOf = Annotated[Choice, Depends(_choice)]


class RerunRuns(BaseModel):
    """These runs, those with this error, or (`failed`) all that did not succeed."""

    ids: list[Id] | None = Field(None, max_length=MOST_JOBS)
    failure: str | None = None
    failed: bool = True


@router.get("", summary="All sweeps, the newest first.", response_model=SweepList)
async def list_all(request: Request, services: ServicesOf) -> JsonResponse:
    return await services.answer_cache.answer(request, sweep_list)


@router.post("/preview", summary="The points of a sweep, before it starts.", response_model=SweepPreview)
async def preview(services: ServicesOf, new: NewSweep) -> JsonResponse:
    return await services.threads.answer(lambda _client: preview_sweep(new.model_dump()))


@router.post("", status_code=201, summary="Start a sweep, or continue it.", response_model=StartedSweep)
async def begin(services: ServicesOf, new: NewSweep) -> JsonResponse:
    return await services.threads.change(lambda _client: begin_sweep(new.model_dump()), status=201)


@router.get("/{sweep_id:int}", summary="The runs of a sweep, and why some failed.", response_model=SweepDetails)
async def show(request: Request, services: ServicesOf, sweep_id: SweepId) -> JsonResponse:
    return await services.answer_cache.answer(request, sweep_details, str(sweep_id), slow=True)


@router.get("/{sweep_id:int}/metrics", summary="A metric over time in each run.", response_model=MetricCurves)
async def metrics(
    request: Request,
    services: ServicesOf,
    sweep_id: SweepId,
    metric: Annotated[str, Query(min_length=1, max_length=200)],
    max_points: Annotated[int, Query(ge=2, le=2000)] = 300,
) -> JsonResponse:
    return await services.answer_cache.answer(request, metric_series, str(sweep_id), metric, max_points, slow=True)


@router.get(
    "/{sweep_id:int}/results",
    summary="The runs as rows, as chosen and sorted.",
    response_model=ResultRows,
)
async def as_rows(services: ServicesOf, sweep_id: SweepId, choice: ChoiceOf) -> JsonResponse:
    return await services.threads.answer(_rows, sweep_id, choice, slow=True)


def _rows(client: Client, sweep_id: int, choice: Choice) -> dict[str, Any]:
    chosen, columns = choose(results(str(sweep_id), client=client), choice)
    rows = [{column: row[column] for column in columns} for row in chosen[:MOST_ROWS]]
    return {"columns": columns, "items": rows, "total": len(chosen)}


@router.get(
    "/{sweep_id:int}/results.csv",
    summary="The same as CSV, all of them.",
    response_class=Response,
    responses=text_of("text/csv", "A line for each run."),
)
async def as_csv(services: ServicesOf, sweep_id: SweepId, choice: ChoiceOf) -> Response:
    def written(client: Client) -> bytes:
        chosen, columns = choose(results(str(sweep_id), client=client), choice)
        return csv_text(chosen, columns).encode()

    headers = {"Content-Disposition": f'attachment; filename="sweep-{sweep_id}.csv"'}
    return Response(
        await services.threads.read(written, slow=True), media_type="text/csv; charset=utf-8", headers=headers
    )


@router.post("/{sweep_id:int}/rerun", summary="Run again what did not succeed.", response_model=ActionResult)
async def rerun(services: ServicesOf, sweep_id: SweepId, wanted: RerunRuns) -> JsonResponse:
    def repeat(client: Client) -> dict[str, Any]:
        return act(client, "rerun", runs_to_repeat(client, str(sweep_id), wanted.ids, wanted.failure)).as_json()

    return await services.threads.change(repeat)
