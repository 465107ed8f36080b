"""Works out an answer once if many ask for it at the same time: fifty open pages cost little more than one.

An answer is used again for a second at most, and only if nothing has changed since we began it. We know of changes only
while somebody listens to them. Otherwise everybody gets a new answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from fastapi import Request

from duckrow.core.named_tuple import NamedTuple
from duckrow.web.answers.change_feed import ChangeFeed
from duckrow.web.answers.json_response import JsonResponse
from duckrow.web.answers.thread_pool import ThreadPool

_FRESH_S = 1.0
_MOST_KEPT = 200


class _Begun(NamedTuple):
    at: float
    answer: asyncio.Future[JsonResponse]


class AnswerCache:
    def __init__(self, threads: ThreadPool, change_feed: ChangeFeed) -> None:
        self._threads = threads
        self._change_feed = change_feed
        self._begun: dict[str, _Begun] = {}

    async def answer(
        self, request: Request, question: Callable[..., Any], *arguments: Any, slow: bool = False
    ) -> JsonResponse:
        """Like `ThreadPool.answer`, but shared by all requests with this address."""
        key = f"{request.url.path}?{request.url.query}"
        begun = self._begun.get(key)
        if begun is None or not self._is_current(begun):
            began = time.monotonic()
            begun = _Begun(began, asyncio.ensure_future(self._threads.answer(question, *arguments, slow=slow)))
            begun.answer.add_done_callback(_look_at_error)
            self._keep(key, begun)
        return await asyncio.shield(begun.answer)  # if one client leaves, the others still get the answer

    def _is_current(self, begun: _Begun) -> bool:
        changed_at = max(self._change_feed.changed_at, self._threads.changed_at)
        return bool(self._change_feed.streams) and begun.at > changed_at and time.monotonic() - begun.at < _FRESH_S

    def _keep(self, key: str, begun: _Begun) -> None:
        self._begun.pop(key, None)
        self._begun[key] = begun
        if len(self._begun) > _MOST_KEPT:
            del self._begun[next(iter(self._begun))]


def _look_at_error(answer: asyncio.Future[JsonResponse]) -> None:
    """Pass the error on to those who wait. If all of them have left, nobody needs it."""
    if not answer.cancelled():
        answer.exception()
