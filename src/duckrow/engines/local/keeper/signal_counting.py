"""When several signals are one: each is counted once, however many copies of it arrive, and by whatever way."""

from __future__ import annotations

# How long after a signal another one with the same number, sent by a process, is a copy of it. `timeout` sends one to
# its child and one to the whole group; `uv run`, `npm` and others pass on what the terminal has told everybody.
COPY_S = 1.0


class SentSignals:
    """What a keeper hears. It knows who sent a signal: the terminal sends each once, a process perhaps a copy."""

    def __init__(self) -> None:
        self._counted_at: dict[int, float] = {}

    def is_new(self, number: int, by_terminal: bool, now: float) -> bool:
        if not by_terminal and _is_recent(self._counted_at.get(number), now):
            return False
        self._counted_at[number] = now
        return True


class TwiceHeard:
    """One number at a host, which hears signals itself and is told by its keeper of those that the keeper hears.

    A signal to both comes by both ways, at any distance in time: one of the two may be stopped. So each way is
    counted, and only what puts one of them further ahead than the other was before is a new signal.
    """

    def __init__(self) -> None:
        self._ahead = 0  # how many more the host has heard than it was told of
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

    def settle(self) -> None:
        """Nothing is on its way any more: what only one of the two has heard was sent to that one alone."""
        self._ahead = 0


def _is_recent(at: float | None, now: float) -> bool:
    return at is not None and now - at < COPY_S
