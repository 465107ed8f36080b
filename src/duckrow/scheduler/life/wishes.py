"""Fulfils wishes about jobs: kill, rerun, pause, and lending slots."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from duckrow.core.clock import Now
from duckrow.core.devices.device import Reservation
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.errors import DuckrowError, IllegalTransition
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.life.states import LIVE, Outcome, State
from duckrow.core.life.wishes import Wish, is_kill, signal_note, signal_of
from duckrow.core.ports import Engine
from duckrow.scheduler.hosts.host import Host
from duckrow.scheduler.life.stopping import Stopping
from duckrow.scheduler.life.suspending import Suspending
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.state.wish_cursor import AT_A_TIME
from duckrow.store.hosts import DAEMON
from duckrow.store.life.wishes import UnfulfilledWish
from duckrow.store.sqlite.checkpoint import Checkpointer
from duckrow.store.sqlite.database import Database
from duckrow.store.tick import TickStores

_FOR_EVERYBODY = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)


_KILLED_EARLY = "killed before it started"


class WrongWish(DuckrowError):
    """A wish cannot be fulfilled, because of an error in duckrow or in the program that wrote it."""

    def __init__(self, wish: UnfulfilledWish, error: Exception) -> None:
        super().__init__(f"The wish '{wish.wish}' for job {wish.job_id} is set aside: {error}")
        self.wish_id = wish.id


class Wishes:
    def __init__(
        self,
        state: HostState,
        database: Database,
        store: TickStores,
        host: Host,
        engine: Engine,
        suspending: Suspending,
        stopping: Stopping,
        checkpointer: Checkpointer,
    ) -> None:
        self._state = state
        self._database = database
        self._store = store
        self._host = host
        self._engine = engine
        self._suspending = suspending
        self._stopping = stopping
        self._checkpointer = checkpointer

    def fulfil(self, now: Now) -> None:
        """Fulfil the wishes for our own jobs, and leave the others to their hosts.

        Only a few at a time, so that the loop continues soon: killing a million jobs takes a minute.
        """
        cursor = self._state.wishes
        cursor.rest(cursor.are_left and self._checkpointer.is_moving_much)
        if cursor.after is None or cursor.is_resting:
            return
        began, at_most = time.monotonic(), min(cursor.at_a_time, AT_A_TIME)
        some = self._store.wishes.unfulfilled(cursor.after, at_most)
        cursor.seen(some[-1].id if len(some) == at_most else None)
        watched = {attempt.job.id: attempt for attempt in self._state.live.values()}
        for each in _who_waits_first(self._without_kills_of_queued(some, watched, now)):
            try:
                if self._fulfil(each, watched.get(each.job_id), now):
                    self._store.wishes.forget([each.id])
            except (IllegalTransition, ValueError) as error:
                raise WrongWish(each, error) from error
        if len(some) == at_most:
            cursor.learn_pace(time.monotonic() - began)

    def _without_kills_of_queued(
        self, wishes: list[UnfulfilledWish], watched: Mapping[int, LiveAttempt], now: Now
    ) -> list[UnfulfilledWish]:
        """Kill the queued jobs together, if nothing else is wished and no job waits for another. Returns the rest."""
        if self._store.dependencies.any_wait or not all(is_kill(each.wish) for each in wishes):
            return wishes
        ours = {host_id for host_id in {each.host_id for each in wishes} if self._is_ours(host_id)}
        waiting = {each.id: each.job_id for each in wishes if each.host_id in ours and each.job_id not in watched}
        if waiting:
            self._store.moves.kill_queued(list(waiting.values()), now.wall, _KILLED_EARLY)
            self._store.wishes.forget_settled(list(waiting))
            self._state.look_again()
        return [each for each in wishes if each.id not in waiting]

    def _fulfil(self, each: UnfulfilledWish, attempt: LiveAttempt | None, now: Now) -> bool:
        if attempt is None:
            return self._of_other(each, now)
        self._of_live(each.wish, attempt, now)
        return True

    def forget(self, wish_id: int) -> None:
        """Forget a wish that was in the way."""
        with self._database.transaction():
            self._store.wishes.forget([wish_id])

    def _of_live(self, wish: str, attempt: LiveAttempt, now: Now) -> None:
        """A wish for a job that has an attempt here."""
        if is_kill(wish):
            self._stopping.kill(attempt, now, "kill asked for", at_once=wish == Wish.KILL_NOW)
        elif wish in (Wish.LEND, Wish.TAKE_BACK):
            self._hold_slot(attempt, 0 if wish == Wish.LEND else WHOLE)
        elif wish in (Wish.SUSPEND, Wish.PAUSE):
            self._suspending.suspend(attempt, now, by_itself=wish == Wish.PAUSE)
        elif wish == Wish.CONTINUE:
            self._suspending.resume(attempt, now)
        elif (number := signal_of(wish)) is not None:
            self._signal(attempt, number, now)

    def _of_other(self, each: UnfulfilledWish, now: Now) -> bool:
        """A wish for a queued or finished job; False if another host must fulfil it."""
        state = self._store.queue.state_of(each.job_id)  # the wish before may have moved it: it may wait for that job
        if state in LIVE or not self._is_ours(each.host_id):
            return False
        if is_kill(each.wish) and state is State.QUEUED:
            self._store.moves.finish(each.job_id, State.QUEUED, Outcome.KILLED, now.wall, _KILLED_EARLY)
        elif each.wish == Wish.RERUN and state is State.DONE:
            host_id = each.host_id if self._host.is_alive(each.host_id) else DAEMON
            self._store.reruns.rerun(each.job_id, now.wall, host_id)
        elif each.wish == Wish.PAUSE and state is State.QUEUED:
            self._store.queue.hold(
                each.job_id
            )  # it was running when somebody looked, and now waits for its next attempt
        self._state.look_again()
        return True

    def _is_ours(self, host_id: int) -> bool:
        """The daemon looks after the jobs of runs that have ended."""
        return host_id == self._host.id or (self._host.id == DAEMON and not self._host.is_alive(host_id))

    def _hold_slot(self, attempt: LiveAttempt, share: int) -> None:
        """A job that takes its slot back does not wait for it: for a while, two jobs may run in one slot."""
        device, held = attempt.holds[0]
        if device.is_cpu_slot and held != share:
            self._state.rehold(attempt, (Reservation(device, share),))
            self._store.reservations.change(attempt)

    def _signal(self, attempt: LiveAttempt, number: int, now: Now) -> None:
        """Send a signal such as USR1 only to processes that handle it: it would kill the shell, and with it the job."""
        if number in (signal.SIGSTOP, signal.SIGTSTP):
            self._suspending.suspend(attempt, now, by_itself=True)
        elif number == signal.SIGCONT:
            self._suspending.resume(attempt, now)
        else:
            send = self._engine.signal_all if number in _FOR_EVERYBODY else self._engine.notice
            self._store.events.note(attempt, signal_note(number, send(attempt, number)), now.wall)


def _who_waits_first(wishes: Iterable[UnfulfilledWish]) -> Iterator[UnfulfilledWish]:
    """The youngest first. A job that waits for another is younger, and would be skipped if that were killed first."""
    for is_killed, some in groupby(wishes, key=lambda each: is_kill(each.wish)):
        yield from sorted(some, key=lambda each: -each.job_id if is_killed else 0)
