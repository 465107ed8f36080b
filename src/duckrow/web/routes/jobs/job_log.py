"""The log of a job: pieces of it, a stream of what is new, a search, and a download."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from duckrow.api.client import Client
from duckrow.api.logs.reading import MOST_BYTES, AttemptLog, log_of, opened, read_piece
from duckrow.api.logs.search import search_backwards, search_forwards
from duckrow.core.errors import NotFoundError
from duckrow.web.answers.change_feed import ChangeListener
from duckrow.web.answers.event_stream import PING, EventStream, event
from duckrow.web.answers.json_response import JsonResponse
from duckrow.web.openapi import text_of
from duckrow.web.routes.jobs.show_jobs import Attempt
from duckrow.web.schemas.jobs import LogMatches, LogPiece
from duckrow.web.services import JobId, Services, ServicesOf

router = APIRouter(tags=["log"])

_PIECE = 1 << 16
_LOOK_S = 0.5
_PING_LOOKS = 30  # looks without anything new
_LARGEST = 2**62

From = Annotated[int, Query(alias="from", ge=-_LARGEST, le=_LARGEST, description="Negative: from the end.")]


@router.get("/jobs/{job_id:int}/log", summary="A piece of the log.", response_model=LogPiece)
async def log(
    services: ServicesOf,
    job_id: JobId,
    attempt: Attempt = None,
    from_: From = 0,
    bytes_: Annotated[int, Query(alias="bytes", ge=1, le=MOST_BYTES)] = _PIECE,
    lines: Annotated[bool, Query(description="Only whole lines: less than was asked for, not half a line.")] = False,
) -> JsonResponse:
    def piece(client: Client) -> dict[str, Any]:
        found = log_of(client, job_id, attempt)
        read = read_piece(found.path, from_, bytes_, lines)
        return {**read, "ended": found.ended, "attempt": found.number or None}

    return await services.threads.answer(piece)


@router.get("/jobs/{job_id:int}/log/search", summary="The lines that have a text in them.", response_model=LogMatches)
async def search(
    services: ServicesOf,
    job_id: JobId,
    q: Annotated[str, Query(min_length=1, max_length=1000)],
    attempt: Attempt = None,
    from_: Annotated[int, Query(alias="from", ge=0, le=_LARGEST)] = 0,
    before: Annotated[int | None, Query(ge=0, le=_LARGEST, description="Backwards from here.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> JsonResponse:
    def found(client: Client) -> dict[str, Any]:
        path = log_of(client, job_id, attempt).path
        if before is not None:
            return search_backwards(path, q, before, limit)
        return search_forwards(path, q, from_, limit)

    return await services.threads.answer(found, slow=True)


@router.get(
    "/jobs/{job_id:int}/log/download",
    summary="The log as a file.",
    response_class=Response,
    responses=text_of("text/plain", "The log, unchanged."),
)
async def download(services: ServicesOf, job_id: JobId, attempt: Attempt = None) -> Response:
    found = await services.threads.read(log_of, job_id, attempt)
    if not found.path or not os.path.isfile(found.path):
        raise NotFoundError(f"Job {job_id} has no log.")
    name = f"job-{job_id}-attempt-{found.number}.log"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(_all_of(found), media_type="text/plain; charset=utf-8", headers=headers)


def _all_of(found: AttemptLog) -> Iterator[bytes]:
    """Up to its size at the time of the request: a growing log would never end."""
    with opened(found.path) as log:
        if log is None:
            return
        file, left = log
        while left > 0 and (data := file.read(min(_PIECE, left))):
            left -= len(data)
            yield data


@router.get(
    "/jobs/{job_id:int}/log/stream",
    summary="The log as it grows (server-sent events).",
    response_class=Response,
    responses=text_of("text/event-stream", "Pieces, as of the log; `end` after the last."),
)
async def stream(services: ServicesOf, job_id: JobId, attempt: Attempt = None, from_: From = 0) -> Response:
    found = await services.threads.read(log_of, job_id, attempt)
    return EventStream(partial(_follow, services, job_id, found, from_), services.change_feed)


async def _follow(
    services: Services, job_id: int, found: AttemptLog, begin: int, listener: ChangeListener
) -> AsyncGenerator[str, None]:
    quiet = 0
    while True:
        piece = await services.threads.read(_piece_at, found.path, begin)
        if piece["size"] < begin:  # truncated by --max-log: continue from its end
            piece = {"text": "", "from": piece["size"], "to": piece["size"], "size": piece["size"]}
        begin = piece["to"]
        quiet = 0 if piece["text"] else quiet + 1
        if piece["text"]:
            yield event(piece)
        elif found.ended:
            yield event({"size": piece["size"]}, "end")
            return
        elif quiet % _PING_LOOKS == 0:
            yield PING
        if piece["to"] >= piece["size"]:
            found = await _next_look(services, job_id, found, listener)


def _piece_at(_client: Client, path: str, begin: int) -> dict[str, Any]:
    return read_piece(path, begin, _PIECE)


async def _next_look(services: Services, job_id: int, found: AttemptLog, listener: ChangeListener) -> AttemptLog:
    """Wait a little. Check whether the attempt has ended only if jobs have changed."""
    await asyncio.sleep(_LOOK_S)
    if found.path and not (listener.jobs or found.ended):
        return found
    listener.jobs = False
    return await services.threads.read(log_of, job_id, found.number or None)
