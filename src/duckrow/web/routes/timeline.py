"""GET /timeline: what ran on which device when."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from duckrow.api.queue.timeline import timeline
from duckrow.web.answers.json_response import JsonResponse
from duckrow.web.schemas.devices import Timeline
from duckrow.web.services import ServicesOf

router = APIRouter(tags=["timeline"])

Time = Annotated[float | None, Query(ge=0, le=1e11, allow_inf_nan=False)]


@router.get(
    "/timeline",
    summary="A lane for each device, with a bar for each attempt on it.",
    response_model=Timeline,
)
async def show_timeline(
    request: Request,
    services: ServicesOf,
    from_: Annotated[float | None, Query(alias="from", ge=0, le=1e11, allow_inf_nan=False)] = None,
    to: Time = None,
) -> JsonResponse:
    return await services.answer_cache.answer(request, timeline, from_, to)
