"""Counts each signal once, even if several copies of it arrive in different ways."""

from __future__ import annotations

# How long after a signal another one with the same number, sent by a process, is a copy of it. `timeout` sends one to
# its child and one to the whole group; `uv run`, `npm` and others pass on what the terminal has told everybody.
COPY_S = 1.0


class SentSignals:
    """The signals at a keeper. It knows who sent each one: the terminal sends it once, a process may send a copy."""

    def __init__(self) -> None:
        self._counted_at: dict[int, float] = {}

    def is_new(self, number: int, by_terminal: bool, now: float) -> bool:
        if not by_terminal and _is_recent(self._counted_at.get(number), now):
            return False
        self._counted_at[number] = now
        return True


class TwiceHeard:
    """One number at a host, which hears signals itself and is told by its keeper of those that the keeper hears.

    A signal to both arrives in both ways, at any distance in time, because one of the two may be stopped. So we count
    each way. A signal is new only if it puts its way further ahead than the other way has ever been.
    """

    def __init__(self) -> None:
        self._ahead = 0  # how many more the host heard itself than its keeper told it of
        self._heard_at: float | None = None

    def heard(self, now: float) -> bool:
        """Whether this is new. The host does not know who sent it; its keeper tells of a terminal's second one."""
        was_told = self._ahead < 0
        if not was_told and _is_recent(self._heard_at, now):
            return False
        self._heard_at = now
        self._ahead += 1
        return not was_told

    def told(self) -> bool:
        was_heard = self._ahead > 0
        self._ahead -= 1
        return not was_heard

    def settle(self) -> bool:
        """No more copies are on their way. What only one of the two has heard was sent to that one alone: whether any
        was."""
        ahead, self._ahead = self._ahead, 0
        return ahead != 0


def _is_recent(at: float | None, now: float) -> bool:
    return at is not None and now - at < COPY_S
