"""GET /events: says that something has changed, so that pages refresh."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from functools import partial

from fastapi import APIRouter
from starlette.responses import Response

from duckrow.web.answers.change_feed import ChangeFeed, ChangeListener
from duckrow.web.answers.event_stream import PING, EventStream, event
from duckrow.web.openapi import text_of
from duckrow.web.services import ServicesOf

router = APIRouter(tags=["events"])

_PING_S = 15.0
_APART_S = 0.5  # changes that come faster are reported together


@router.get(
    "/events",
    summary="A stream of changes (server-sent events).",
    response_class=Response,
    responses=text_of("text/event-stream", "`change`, with what has changed: jobs, devices."),
)
async def events(services: ServicesOf) -> Response:
    return EventStream(partial(_changes, services.change_feed), services.change_feed)


async def _changes(change_feed: ChangeFeed, listener: ChangeListener) -> AsyncGenerator[str, None]:
    yield event({"seq": change_feed.changes}, "hello")
    while True:
        change = await listener.wait(_PING_S)
        if change is None:
            yield PING
        else:
            yield event({"seq": change_feed.changes, "jobs": change.jobs, "devices": change.devices}, "change")
            await asyncio.sleep(_APART_S)
