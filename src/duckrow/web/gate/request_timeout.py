"""Timeouts for request heads, and limits for clients that send nothing."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from duckrow.web.gate.unknown_connections import UnknownConnections

HEAD_S = 20.0


class TimeLimitedProtocol(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
    """uvicorn limits only how long a connection idles between requests, not before the first or within one.

    This limits the time from the connection, or the first byte of the next request, to the end of the request's head.
    """

    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, connections: UnknownConnections, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._connections = connections

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._connections.opened(self.client, transport.abort)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()
        else:
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._connections.closed(self.client)
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_head(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_S, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self._is_answering() and not self.transport.is_closing():
            self.transport.close()
