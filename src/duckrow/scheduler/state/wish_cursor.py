"""How far the wishes were processed: there may be a million, and a tick looks at a few."""

from __future__ import annotations

AT_A_TIME = 500  # at most this many wishes per tick
_LONG_S, _SHORT_S = 0.015, 0.007  # a tick that takes longer has fewer of them next time; a shorter one more
_FEWEST, _FIRST = 25, 100


class WishCursor:
    def __init__(self) -> None:
        self.at_a_time = _FIRST
        self.after: int | None = None  # the last wish that we looked at; 0: none yet; None: there are no more
        self._came = False  # new ones came while some were left: look at all of them again
        self.is_resting = False  # the rest has to wait a little, though some are left

    @property
    def are_left(self) -> bool:
        return self.after is not None

    @property
    def are_due(self) -> bool:
        return self.are_left and not self.is_resting

    def rest(self, rests: bool) -> None:
        self.is_resting = rests

    def look(self) -> None:
        """There may be new ones, and some that another host had to fulfil may be ours now."""
        if self.after:
            self._came = True
        else:
            self.after = 0

    def seen(self, last: int | None) -> None:
        """We looked at them up to this one; None: up to the end."""
        self.after = 0 if last is None and self._came else last
        self._came = self._came and last is not None

    def learn_pace(self, took_s: float) -> None:
        """How many wishes a tick can fulfil without keeping the loop away for long. `took_s`: for `at_a_time`."""
        if took_s > _LONG_S:
            self.at_a_time = max(self.at_a_time // 2, _FEWEST)
        elif took_s < _SHORT_S:
            self.at_a_time = min(self.at_a_time * 2, AT_A_TIME)

    def look_at_all_again(self) -> None:
        """What we did about them was not written."""
        self.after, self._came = 0, False
