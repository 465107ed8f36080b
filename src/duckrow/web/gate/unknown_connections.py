"""Limits connections that have not authenticated: if there are too many, the oldest are closed.

Every user of this machine can connect. Real clients authenticate within milliseconds, and then no longer count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MOST_STRANGERS = 256


class UnknownConnections:
    def __init__(self, most: int = MOST_STRANGERS) -> None:
        self._most = most
        self._strangers: dict[Any, Callable[[], None]] = {}  # address -> how to close it; oldest first

    def opened(self, client: Any, abort: Callable[[], None]) -> None:
        self._strangers[client] = abort
        while len(self._strangers) > self._most:
            self._strangers.pop(next(iter(self._strangers)))()

    def is_known(self, client: Any) -> None:
        """This connection has authenticated; that holds as long as it lasts."""
        self._strangers.pop(client, None)

    def closed(self, client: Any) -> None:
        self._strangers.pop(client, None)
