"""GET /jobs/wait: answers when jobs are done, so that clients need not poll."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Query

from duckrow.api.client import Client
from duckrow.core.life.states import Outcome, State
from duckrow.web.answers.json_response import JsonResponse
from duckrow.web.routes.jobs.act_on_jobs import Id
from duckrow.web.schemas.jobs import WaitResult
from duckrow.web.services import ServicesOf

router = APIRouter(tags=["jobs"])

_MOST_JOBS = 500
_LOOK_S = 5.0  # a run on a cluster may end without a change here


@router.get(
    "/jobs/wait",
    summary="Answers when these jobs are done, or when the time is up.",
    response_model=WaitResult,
)
async def wait(
    services: ServicesOf,
    ids: Annotated[list[Id], Query(max_length=_MOST_JOBS)],
    timeout: Annotated[float, Query(ge=0, le=600, description="Seconds.")] = 60,
) -> JsonResponse:
    until = time.monotonic() + timeout
    with services.change_feed.stream() as listener:
        while True:
            told = await services.threads.read(_told, ids)
            left_s = until - time.monotonic()
            if told["done"] or left_s <= 0 or services.change_feed.closing.is_set():
                return JsonResponse(told)
            await listener.wait(min(left_s, _LOOK_S))


def _told(client: Client, ids: list[int]) -> dict[str, Any]:
    views = client.views(client.select([str(job_id) for job_id in ids]))
    waiting = [view.id for view in views if view.state != State.DONE]
    succeeded = not waiting and all(view.outcome == Outcome.SUCCEEDED for view in views)
    return {"done": not waiting, "succeeded": succeeded, "waiting": waiting, "items": [v.as_json() for v in views]}
