"""Attempts that wait for another one to end, to take over its devices without asking the loop."""

from __future__ import annotations

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import StartOrder


class LinedUp:
    def __init__(self) -> None:
        self._by_followed: dict[int, StartOrder] = {}  # attempt -> its successor
        self._waiting: set[int] = set()  # the successors

    def __len__(self) -> int:
        return len(self._by_followed)

    def __contains__(self, attempt_id: object) -> bool:
        return attempt_id in self._waiting

    def add(self, order: StartOrder) -> None:
        assert order.attempt.follows is not None
        self._waiting.add(order.attempt.id)
        self._by_followed[order.attempt.follows] = order

    def stand_down(self, attempt: LiveAttempt) -> bool:
        """Take it out. True if it was still waiting."""
        self._waiting.discard(attempt.id)
        return attempt.follows is not None and self._by_followed.pop(attempt.follows, None) is not None

    def behind(self, attempt_id: int) -> StartOrder | None:
        return self._by_followed.get(attempt_id)

    def line_of(self, order: StartOrder) -> list[StartOrder]:
        """It, and all that are lined up behind it."""
        line = [order]
        while (following := self._by_followed.get(line[-1].attempt.id)) is not None:
            line.append(following)
        return line

    def next_after(self, gone: int) -> StartOrder | None:
        """The attempt whose turn it is, now that this one is gone."""
        order = self._by_followed.pop(gone, None)
        if order is not None:
            self._waiting.discard(order.attempt.id)
        return order
