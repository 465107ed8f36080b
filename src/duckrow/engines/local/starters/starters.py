"""The starters of a host, and who gets which line.

A line goes to a starter as soon as the attempt before it is gone, if it is long enough to be worth while. Whatever
somebody wants of an attempt that a starter has begun, the starter ends first: the process is then our own child.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import Reactor, StartOrder
from duckrow.engines.local.keeper.journal import LEFT, JournalWriter, Record
from duckrow.engines.local.processes.ends_underway import EndsUnderway
from duckrow.engines.local.spawner import Spawner
from duckrow.engines.local.starters.order_message import fits, packed_order
from duckrow.engines.local.starters.starter import LOOK_S
from duckrow.engines.local.starters.starter_link import StarterLink

_SHORTEST_LINE = 3  # that a process is forked for
_MOST_FAILURES, _FAILURES_S = 3, 60.0  # if that many end by themselves within this time, such jobs are not for them
_PATIENCE_S = 2.0  # a starter that neither begins an attempt nor has one that runs must be stuck
_BESIDE_S = 0.004  # how often we look if that takes a core from no starter, so that no line runs dry
_IDLE_S = 10.0  # a starter without work ends after this time
_CLOSE_S, _DYING_S = 0.5, 0.0002  # how long, and how often, we wait for starters that end because we do


class StarterNews(NamedTuple):
    order: StartOrder
    record: Record  # what was written since the last news


class Unfinished(NamedTuple):
    """What starters had to do when they died."""

    running: Sequence[StartOrder]  # had begun
    waiting: Sequence[StartOrder]  # had not


class Starters:
    def __init__(
        self, journal: JournalWriter, spawner: Spawner, reactor: Reactor, kept_fd: int, look: Callable[[], None]
    ) -> None:
        """`look` is called when there may be news, or one may have died."""
        self._journal = journal
        self._spawner = spawner
        self._reactor = reactor
        self._kept_fd = kept_fd
        self._look = look
        self.pids: set[int] = set()
        self._links: list[StarterLink] = []
        self._starter_of: dict[int, StarterLink] = {}  # by attempt, until we hear of its end
        self._news: deque[tuple[int, Record]] = deque()  # not yet told
        self._ends = EndsUnderway()
        self._any_unsent = False
        self._failed: deque[float] = deque(maxlen=_MOST_FAILURES)  # when starters last ended by themselves
        self._looks_again = False

    @property
    def waiting(self) -> int:
        """How many attempts have not begun, as far as we have heard."""
        return sum(len(link.orders) - (link.running is not None) for link in self._links)

    @property
    def attempts(self) -> set[int]:
        """Those of which only the journal knows all, as their end is not on disk."""
        return {*self._starter_of, *self._ends}

    def has(self, attempt_id: int | None) -> bool:
        """Whether it has begun or will begin, and has not ended, as far as we have heard."""
        return attempt_id in self._starter_of

    # -- giving orders ----------------------------------------------------------------------------------------

    def free_for(self, line: Sequence[StartOrder]) -> StarterLink | None:
        """A starter that has nothing to do, if one is of use for this line."""
        if not self._is_plain(line[0]):
            return None
        link = next((link for link in self._links if not link.orders and not link.is_ending), None)
        return self._forked() if link is None and len(line) >= _SHORTEST_LINE else link

    def take(self, link: StarterLink, line: Sequence[StartOrder]) -> list[StartOrder]:
        """Give it this line, of which the first attempt may begin now. Those that it took."""
        taken = []
        for order in line:
            if not self._give(link, order):
                break
            taken.append(order)
        if taken:
            taken[0].attempt.begin(self._reactor.now())  # and soon we hear exactly when
        else:
            self._rest(link)
        link.send()
        self._look_again()
        return taken

    def add(self, order: StartOrder) -> bool:
        """Give it to the starter that has the one before it, if there is any. It is sent with the next `send`."""
        link = self._starter_of.get(order.attempt.follows or 0)
        return link is not None and not link.is_ending and self._give(link, order)

    def send(self) -> None:
        if self._any_unsent:
            unsent = [link for link in self._links if not link.send()]
            self._any_unsent = bool(unsent)

    def recall(self, attempt_id: int) -> list[StartOrder]:
        """Take back all that have not begun of the line that has this attempt.

        Starters look, with the journal's lock, whether they may begin an attempt. So while we have it, all have begun
        that ever will, if we have heard all news.
        """
        while True:
            self._look()
            link = self._starter_of.get(attempt_id)
            if link is None:
                return []
            with self._journal.lock:
                if not self._journal.has_news:
                    back = link.waiting
                    link.recall()
                    break
        for order in back:
            del self._starter_of[order.attempt.id]
        return back

    def _give(self, link: StarterLink, order: StartOrder) -> bool:
        data = packed_order(order) if self._is_plain(order) else None
        if data is None:
            return False
        link.add(order, data)
        self._any_unsent = True
        link.idle_since = None
        self._starter_of[order.attempt.id] = link
        return True

    def _is_plain(self, order: StartOrder) -> bool:
        return self._spawner.is_plain(order) and fits(self._spawner.variables(order.attempt.job.environment_id))

    def _forked(self) -> StarterLink | None:
        """A new starter; None if there are enough, or none are of use."""
        if not self._has_free_core:
            return None
        if len(self._failed) == _MOST_FAILURES and time.monotonic() - self._failed[0] < _FAILURES_S:
            return None
        try:
            self._journal.share(self.end_all)
            link = StarterLink(self._journal, self._spawner, self._kept_fd)
        except OSError:
            return None
        self._links.append(link)
        self.pids.add(link.pid)
        self._reactor.watch(link.fd, lambda: self._hear(link))
        return link

    # -- hearing ----------------------------------------------------------------------------------------------

    def news(self) -> Iterator[StarterNews]:
        """What became of their attempts until now, in this order, also if somebody asks again before all is told."""
        if self._starter_of:
            self._news.extend(self._journal.news().items())
        else:
            self._journal.skip_news()  # the host's own
            self._news.clear()
        while self._news:
            attempt_id, record = self._news.popleft()
            link = self._starter_of.get(attempt_id)
            if link is None:
                continue
            order = link.orders[attempt_id]
            link.heard(attempt_id, record)
            if record.has_ended:
                self._over(link, attempt_id, record)
            yield StarterNews(order, record)
        self._look_again()

    def unreported(self) -> list[tuple[LiveAttempt, int]]:
        """Those that run, with their PIDs, as far as we have heard, of which the loop does not know that."""
        return [found for link in self._links if (found := link.unreported) is not None]

    def know_of_start(self, attempt_id: int) -> bool:
        """The loop learns now that it runs; False if it has ended, as far as we have heard."""
        link = self._starter_of.get(attempt_id)
        if link is not None:
            link.reported = attempt_id
        return link is not None

    def report(self, attempt_id: int) -> None:
        """As for `EndsUnderway`, if it was an attempt of theirs."""
        self._ends.report(attempt_id)

    def tell(self) -> None:
        self._ends.tell()

    def settle(self) -> None:
        self._ends.settle()

    def _over(self, link: StarterLink, attempt_id: int, record: Record) -> None:
        del link.orders[attempt_id], self._starter_of[attempt_id]
        self._ends.see(attempt_id)
        following = next(iter(link.orders.values()), None)
        if following is not None:  # it begins, and soon we hear exactly when
            now = self._reactor.now()
            following.attempt.begin(now.ago(now.wall - record.ended_at))
        if record.how == LEFT:
            self._failed.append(time.monotonic())
            link.end()  # it ends anyway; what was left is ours now
        elif not link.orders:
            self._rest(link)

    def _hear(self, link: StarterLink) -> None:
        link.hear()
        link.send()
        self._look()

    def _look_again(self) -> None:
        """Nobody tells of attempts that end at once, as that would take longer than many of them."""
        if not self._looks_again and any(link.has_short_ones for link in self._links):
            self._looks_again = True
            self._reactor.later(_BESIDE_S if self._has_free_core else LOOK_S, self._look_now)

    @property
    def _has_free_core(self) -> bool:
        return len(self._links) < len(os.sched_getaffinity(0))

    def _look_now(self) -> None:
        self._looks_again = False
        self._look()
        for link in self._links:
            if link.is_stuck(_PATIENCE_S):
                self._failed.append(time.monotonic())
                link.end()

    # -- ending -----------------------------------------------------------------------------------------------

    def end_that_of(self, attempt_id: int) -> bool:
        """Make the process of an attempt our child, by ending its starter; False if it has none."""
        link = self._starter_of.get(attempt_id)
        if link is not None:
            link.end()
        return link is not None

    def have_died(self) -> bool:
        """Whether one of them has, and we have not taken it in yet: a new child may be its attempt."""
        return any(link.has_died() for link in self._links)

    def take_dead(self) -> list[StarterLink]:
        """Those that have died. After this, hear their last news; then ask for what they have not finished."""
        dead = [link for link in self._links if link.has_died()]
        for link in dead:
            if not link.is_ending:
                self._failed.append(time.monotonic())
            self._links.remove(link)
            self.pids.remove(link.pid)
            self._reactor.unwatch(link.fd)
            link.close()
        return dead

    def unfinished(self, dead: Iterable[StarterLink]) -> Unfinished:
        running: list[StartOrder] = []
        waiting: list[StartOrder] = []
        for link in dead:
            if link.running is not None:
                running.append(link.orders[link.running])
            waiting += link.waiting
            for attempt_id in link.orders:
                del self._starter_of[attempt_id]
            link.orders.clear()
        return Unfinished(running, waiting)

    def _rest(self, link: StarterLink) -> None:
        link.idle_since = time.monotonic()
        self._reactor.later(_IDLE_S, self._let_idle_go)

    def _let_idle_go(self) -> None:
        now = time.monotonic()
        for link in self._links:
            if link.idle_since is not None and now - link.idle_since >= _IDLE_S and not link.is_ending:
                self._reactor.unwatch(link.fd)
                link.ask_to_end()

    def end_all(self) -> None:
        """What runs becomes our child."""
        for link in self._links:
            link.ask_to_end()
        for link in self._links:
            link.end()

    def let_go(self) -> None:
        """We end soon, and so do they: those that have nothing to do clean up."""
        for link in self._links:
            link.ask_to_end()

    def close(self) -> None:
        patient_until = time.monotonic() + _CLOSE_S
        while self._links and time.monotonic() < patient_until:
            if not self.take_dead():
                time.sleep(_DYING_S)
        self.end_all()
        self.take_dead()
