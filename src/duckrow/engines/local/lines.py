"""Who follows whom: a line goes to a starter where that pays, and else waits here."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import StartOrder
from duckrow.engines.lined_up import LinedUp
from duckrow.engines.local.kernel_kills import KernelKills
from duckrow.engines.local.spawner import Spawner
from duckrow.engines.local.starters.starter_link import StarterLink
from duckrow.engines.local.starters.starters import Starters


class Lines:
    def __init__(
        self,
        watched: Container[int],
        starters: Starters,
        spawner: Spawner,
        kernel_kills: KernelKills,
        start: Callable[[Sequence[StartOrder]], None],
    ) -> None:
        """`watched`: the attempts that have begun and are not gone, as they are now."""
        self._watched = watched
        self._starters = starters
        self._spawner = spawner
        self._kernel_kills = kernel_kills
        self._start = start
        self._here = LinedUp()

    def __len__(self) -> int:
        return len(self._here) + self._starters.waiting

    def add(self, order: StartOrder) -> None:
        """It begins when the attempt that it follows is gone."""
        if self._starters.add(order):
            order.attempt.note_kernel_kills(self._kernel_kills.count())
        elif self._has_its_turn(order):
            self._begin(order)
        else:
            self._here.add(order)
            if order.attempt.follows in self._watched:
                self._spawner.make_ready(order)

    def add_here(self, order: StartOrder) -> None:
        """Likewise, but no starter gets it any more."""
        if self._has_its_turn(order):
            self._start([order])
        else:
            self._here.add(order)

    def stand_down(self, attempt: LiveAttempt) -> bool:
        """Take it out; False if it has begun."""
        for order in self._starters.recall(attempt.id):
            self.add_here(order)
        stood_down = self._here.stand_down(attempt)
        if stood_down:
            self._spawner.take_back(attempt.id)
        return stood_down

    def start_next(self, gone: int) -> LiveAttempt | None:
        """The attempt whose turn it is, now that this one is gone."""
        order = self._here.next_after(gone)
        if order is None:
            return None
        self._begin(order)
        return order.attempt

    def make_ready_behind(self, attempt: LiveAttempt) -> None:
        """Prepare the next one, if we shall start it."""
        order = self._here.behind(attempt.id)
        if order is not None:
            self._spawner.make_ready(order)

    def _has_its_turn(self, order: StartOrder) -> bool:
        """Whether the attempt that it follows is gone."""
        follows = order.attempt.follows
        return not (follows in self._watched or follows in self._here or self._starters.has(follows))

    def _begin(self, first: StartOrder) -> None:
        """It begins, and all that are lined up behind it go where it goes."""
        line = self._here.line_of(first)
        starter = self._starters.free_for(line)
        taken = [] if starter is None else self._hand_over(line, starter)
        for order in taken:
            self._here.stand_down(order.attempt)
        if not taken:
            self._start([first])

    def _hand_over(self, line: Sequence[StartOrder], starter: StarterLink) -> Sequence[StartOrder]:
        """Those that it took."""
        for order in line:
            self._spawner.take_back(order.attempt.id)
            order.attempt.note_kernel_kills(self._kernel_kills.count())
        return self._starters.take(starter, line)
