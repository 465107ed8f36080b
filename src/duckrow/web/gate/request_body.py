"""The body of a request: read completely before anything else, up to a limit."""

from __future__ import annotations

import asyncio
import json

from starlette.datastructures import Headers
from starlette.types import Message, Receive

from duckrow.web.errors import RequestRefused

LARGEST_BODY = 1 << 20
_LONGEST_LENGTH = 20  # digits
_BODY_S = 30.0  # a body may take at most this long


async def read_body(headers: Headers, receive: Receive) -> Receive:
    """Read the whole body, up to a limit; the routes then get it as if it had just arrived."""
    length = headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > _LONGEST_LENGTH or int(length) > LARGEST_BODY:
        raise _too_large()
    try:
        body = await asyncio.wait_for(_whole_body(receive), _BODY_S)
    except asyncio.TimeoutError:
        raise RequestRefused(408, f"The body did not arrive within {_BODY_S:.0f} s.") from None
    if body and headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestRefused(415, "The body must be JSON, with the header 'Content-Type: application/json'.")
    if _has_half_characters(body):
        raise RequestRefused(
            400, "A string has half a character in it (a lone surrogate), which no command or file can contain."
        )
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _has_half_characters(body: bytes) -> bool:
    r"""JSON can contain \ud800. Those from \udc80 on are fine: they are bytes of file names that are not UTF-8."""
    if b"\\ud" not in body.lower():
        return False
    try:
        json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        return False  # it is not JSON, which is reported later
    return False


async def _whole_body(receive: Receive) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestRefused(400, "The client has gone.")
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > LARGEST_BODY:
            raise _too_large()
        if not message.get("more_body"):
            return b"".join(pieces)


def _too_large() -> RequestRefused:
    return RequestRefused(413, "The body is larger than 1 MiB. Send the jobs in several requests.")
