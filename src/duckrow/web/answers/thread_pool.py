"""Thread pools for database queries: a few threads, each with its own connection.

Reading and changing use separate threads, so that nobody has to wait for a change that waits for the scheduler.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from duckrow.api.client import Client
from duckrow.api.python.handles import client_of
from duckrow.api.queue.eta import SharedEtas
from duckrow.web.answers.json_response import JsonResponse, as_json

T = TypeVar("T")

_READING, _CHANGING = 6, 8  # threads
_ETAS_S = 2.0  # how old an estimate may be: as old as a count


class ThreadPool:
    def __init__(self, home: str) -> None:
        self._home = home
        self._mine = threading.local()
        self._reading = ThreadPoolExecutor(_READING, "reading")
        self._changing = ThreadPoolExecutor(_CHANGING, "changing")
        self._etas = SharedEtas(good_for_s=_ETAS_S)
        self.changed_at = 0.0  # by time.monotonic

    async def read(self, question: Callable[..., T], *arguments: Any, slow: bool = False) -> T:
        """The answer to `question(client, ...)`, which changes nothing. `slow`: it may take seconds."""
        return await self._in(self._changing if slow else self._reading, question, arguments)

    async def answer(self, question: Callable[..., Any], *arguments: Any, slow: bool = False) -> JsonResponse:
        """The answer as JSON. The thread writes the JSON too, because the loop has others to serve."""
        return _Ready(await self.read(_as_json, question, arguments, slow=slow))

    async def change(self, deed: Callable[..., Any], *arguments: Any, status: int = 200) -> JsonResponse:
        """Change something; the result as JSON. This may wait for the scheduler."""
        try:
            return _Ready(await self._in(self._changing, _as_json, (deed, arguments)), status)
        finally:
            self._etas.forget()
            self.changed_at = time.monotonic()

    async def _in(self, pool: ThreadPoolExecutor, task: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, lambda: task(self._client(), *arguments))

    def _client(self) -> Client:
        own: _OfThread | None = getattr(self._mine, "own", None)
        if own is None:
            client = client_of(self._home)
            client.map_into_memory()
            client.etas = self._etas
            own = self._mine.own = _OfThread(client)
        return own.client

    def close(self) -> None:
        self._reading.shutdown(wait=False, cancel_futures=True)
        self._changing.shutdown(wait=False, cancel_futures=True)


class _OfThread:
    """The client of a thread, closed with it: a connection must be closed in the thread that opened it."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def __del__(self) -> None:
        self.client.close()


def _as_json(client: Client, question: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    return as_json(question(client, *arguments))


class _Ready(JsonResponse):
    def render(self, content: bytes) -> bytes:
        return content
