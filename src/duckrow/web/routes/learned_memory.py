"""What is known about the GPU memory of jobs: show, correct and forget it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from duckrow.api.client import Client
from duckrow.api.devices.memory import Memory
from duckrow.core.errors import UsageError
from duckrow.core.units import parse_size_mb
from duckrow.web.answers.json_response import JsonResponse
from duckrow.web.schemas.devices import ChangedPeaks, Peaks
from duckrow.web.services import ServicesOf

router = APIRouter(prefix="/memory", tags=["memory"])

_RECIPE = Field(max_length=1000, description="Its number in the list, or a part of the text of just one recipe.")


class CorrectPeak(BaseModel):
    """What jobs of a recipe take at most, on all GPUs or on those of a model."""

    recipe: str = _RECIPE
    size: str | int = Field(examples=["12G"], description="A number is megabytes.")
    model: str | None = Field(None, max_length=200)


class ForgetPeaks(BaseModel):
    """One recipe, or (`all`) everything."""

    recipe: str | None = Field(None, max_length=1000)
    all: bool = False


@router.get("", summary="The most GPU memory that jobs have used, by recipe and GPU model.", response_model=Peaks)
async def show(services: ServicesOf) -> JsonResponse:
    return await services.threads.answer(_peaks)


def _peaks(client: Client) -> dict[str, Any]:
    peaks = Memory(client).peaks()
    return {"items": [{"number": number, **peak._asdict()} for number, peak in enumerate(peaks, start=1)]}


@router.post(
    "/set",
    summary="Set what jobs of a recipe use. This stays until you forget it.",
    response_model=ChangedPeaks,
)
async def correct(services: ServicesOf, wanted: CorrectPeak) -> JsonResponse:
    return await services.threads.change(_correct, wanted)


def _correct(client: Client, wanted: CorrectPeak) -> dict[str, Any]:
    peak_mb = parse_size_mb(str(wanted.size))
    corrected = Memory(client).correct(wanted.recipe, peak_mb, wanted.model)
    return {"changed": [{"recipe": peak.recipe, "model": peak.model, "peak_mb": peak_mb} for peak in corrected]}


@router.post(
    "/forget",
    summary="Forget what a recipe uses: its next job is measured.",
    response_model=ChangedPeaks,
)
async def forget(services: ServicesOf, wanted: ForgetPeaks) -> JsonResponse:
    return await services.threads.change(_forget, wanted)


def _forget(client: Client, wanted: ForgetPeaks) -> dict[str, Any]:
    if (wanted.recipe is None) != wanted.all:
        raise UsageError("Say which recipe to forget, by its number or a part of its text; or 'all': true.")
    forgotten = Memory(client).forget(wanted.recipe)
    return {"changed": [{"recipe": peak.recipe, "model": peak.model, "peak_mb": peak.peak_mb} for peak in forgotten]}
