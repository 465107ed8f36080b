"""The secrets of one server, only in its memory: sessions of tabs, and tickets that fetch one file once.

They end with the server. After that a stolen one is worthless, for example if somebody else listens on the old port.
No other server knows them, such as a writable one beside a read-only one.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from duckrow.web.gate.credentials import TOKEN_BYTES, digest

SESSION_S = 30 * 86_400.0  # since it was last used
TICKET_S = 60.0
_MOST_SESSIONS = 500
_MOST_TICKETS = 500

Clock = Callable[[], float]


class Sessions:
    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._used_at: dict[str, float] = {}  # by the session's digest, least recently used first
        self._tickets: dict[str, tuple[float, str]] = {}  # (when it was created, its URL)

    def new(self) -> str:
        session = secrets.token_urlsafe(TOKEN_BYTES)
        self._note_use(digest(session))
        while len(self._used_at) > _MOST_SESSIONS:
            del self._used_at[next(iter(self._used_at))]
        return session

    def is_session(self, given: str) -> bool:
        """Looked up by digest, so that the time it takes tells nothing about the session."""
        key = digest(given)
        if self._clock() - self._used_at.get(key, float("-inf")) >= SESSION_S:
            return False
        self._note_use(key)
        return True

    def _note_use(self, key: str) -> None:
        self._used_at.pop(key, None)
        self._used_at[key] = self._clock()

    # -- tickets ----------------------------------------------------------------------------------------------

    def new_ticket(self, address: str) -> str:
        """For a download: a browser that saves a file to disk does not send our header."""
        ticket = secrets.token_urlsafe(TOKEN_BYTES)
        self._tickets[digest(ticket)] = (self._clock(), address)
        while len(self._tickets) > _MOST_TICKETS:
            del self._tickets[next(iter(self._tickets))]
        return ticket

    def use_ticket(self, given: str, address: str) -> bool:
        made_at, meant = self._tickets.pop(digest(given), (float("-inf"), ""))
        return self._clock() - made_at < TICKET_S and meant == address
