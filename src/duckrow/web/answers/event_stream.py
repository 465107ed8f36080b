"""Server-sent events: a stream that ends with its client, with the server, or when nobody reads it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from duckrow.web.answers.change_feed import ChangeFeed, ChangeListener

PING = ": ping\n\n"
_SEND_S = 20.0  # a client that has read nothing for this long has gone


def event(data: Any, kind: str = "message") -> str:
    named = "" if kind == "message" else f"event: {kind}\n"
    return f"{named}data: {json.dumps(data, separators=(',', ':'))}\n\n"


class EventStream(Response):
    media_type = "text/event-stream"

    def __init__(self, events: Callable[[ChangeListener], AsyncGenerator[str, None]], change_feed: ChangeFeed) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events = events
        self._change_feed = change_feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._change_feed.stream() as listener:  # before we send anything: a client that comes too late is refused
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await self._tell(self._events(listener), receive, send)
        await _send_in_time(send, b"", more=False)

    async def _tell(self, events: AsyncGenerator[str, None], receive: Receive, send: Send) -> None:
        ends = [
            asyncio.ensure_future(_write(events, send)),
            asyncio.ensure_future(_until_gone(receive)),
            asyncio.ensure_future(self._change_feed.closing.wait()),
        ]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in ends:
                task.cancel()
            await asyncio.gather(*ends, return_exceptions=True)
            await events.aclose()


async def _write(events: AsyncGenerator[str, None], send: Send) -> None:
    async for text in events:
        await _send_in_time(send, text.encode(), more=True)


async def _send_in_time(send: Send, body: bytes, more: bool) -> None:
    """Not with `wait_for`: before Python 3.12 it swallows a cancellation at the moment when sending is done."""
    sending = asyncio.ensure_future(send({"type": "http.response.body", "body": body, "more_body": more}))
    try:
        done, _ = await asyncio.wait([sending], timeout=_SEND_S)
    finally:
        sending.cancel()
    if not done:
        raise asyncio.TimeoutError


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
