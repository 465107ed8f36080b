"""What one server has handed out, in its memory alone: sessions of tabs, and tickets that fetch one file once.

They end with the server. Whoever gets hold of one after that, as by listening at the port that the server had, has
nothing; and no other server, a writable one beside a read-only one, has ever heard of them.
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
        self._used_at: dict[str, float] = {}  # by the digest of the session, the one used longest ago first
        self._tickets: dict[str, tuple[float, str]] = {}  # when it was made, and what for

    def new(self) -> str:
        session = secrets.token_urlsafe(TOKEN_BYTES)
        self._note_use(digest(session))
        while len(self._used_at) > _MOST_SESSIONS:
            del self._used_at[next(iter(self._used_at))]
        return session

    def is_session(self, given: str) -> bool:
        """Found by its digest: how long the search takes tells nothing of the session."""
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
        """For a download: a browser that saves a file to disk by itself sends no header of ours."""
        ticket = secrets.token_urlsafe(TOKEN_BYTES)
        self._tickets[digest(ticket)] = (self._clock(), address)
        while len(self._tickets) > _MOST_TICKETS:
            del self._tickets[next(iter(self._tickets))]
        return ticket

    def use_ticket(self, given: str, address: str) -> bool:
        made_at, meant = self._tickets.pop(digest(given), (float("-inf"), ""))
        return self._clock() - made_at < TICKET_S and meant == address
