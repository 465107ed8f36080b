"""Limits connections that have not authenticated: if there are too many, the oldest are closed.

Every user of this machine can connect. Whoever belongs here says so within milliseconds, and is then left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MOST_STRANGERS = 256


class UnknownConnections:
    def __init__(self, most: int = MOST_STRANGERS) -> None:
        self._most = most
        self._strangers: dict[Any, Callable[[], None]] = {}  # by their address, how to close them; the oldest first

    def opened(self, client: Any, abort: Callable[[], None]) -> None:
        self._strangers[client] = abort
        while len(self._strangers) > self._most:
            self._strangers.pop(next(iter(self._strangers)))()

    def is_known(self, client: Any) -> None:
        """Somebody with a secret: as long as this connection lasts."""
        self._strangers.pop(client, None)

    def closed(self, client: Any) -> None:
        self._strangers.pop(client, None)
