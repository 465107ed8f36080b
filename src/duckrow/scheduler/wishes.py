"""Fulfilling what people want of jobs: kill, rerun, pause; and what a job that waits for others wants itself."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from duckrow.core.clock import Now
from duckrow.core.errors import IllegalTransition
from duckrow.core.inventory import CPU, WHOLE
from duckrow.core.job import LiveAttempt
from duckrow.core.lifecycle import LIVE, Outcome, State
from duckrow.core.wishes import Wish, is_kill, signal_of
from duckrow.scheduler.suspending import resume, suspend
from duckrow.store.hosts import DAEMON
from duckrow.store.wishes import UnfulfilledWish

if TYPE_CHECKING:
    from duckrow.scheduler.loop import Loop

_FOR_EVERYBODY = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)


def fulfil_wishes(loop: Loop, now: Now) -> None:
    """Those for jobs that are ours to touch; the others are left to their hosts."""
    watched = {attempt.job.id: attempt for attempt in loop.live.values()}
    for wish_id, job_id, wish, host_id in _who_waits_first(loop.store.wishes.unfulfilled()):
        attempt = watched.get(job_id)
        state = loop.store.queue.state_of(job_id)  # the wish before may have moved it: it may wait for that job
        if attempt is None and (state in LIVE or not _ours(loop, host_id)):
            continue
        try:
            with loop.store.wishes.all_or_nothing():
                _fulfil(loop, wish, job_id, host_id, state, attempt, now)
        except IllegalTransition as error:  # it would end each daemon again, and all other jobs with it
            loop.observer.trouble(f"The wish to {wish} job {job_id} cannot be fulfilled, and was set aside. {error}")
        loop.store.wishes.forget(wish_id)


def _fulfil(
    loop: Loop, wish: str, job_id: int, host_id: int, state: State, attempt: LiveAttempt | None, now: Now
) -> None:
    if is_kill(wish):
        _kill(loop, job_id, state, attempt, now, at_once=wish == Wish.KILL_NOW)
    elif wish == Wish.RERUN and attempt is None and state is State.DONE:
        loop.store.reruns.rerun(job_id, now.wall, host_id if loop.host.is_alive(host_id) else DAEMON)
        loop.look_again()
    elif wish in (Wish.LEND, Wish.TAKE_BACK) and attempt is not None:
        _hold_slot(loop, attempt, 0 if wish == Wish.LEND else WHOLE)
    elif wish == Wish.PAUSE and attempt is None and state is State.QUEUED:
        loop.store.queue.hold(job_id)  # it ran when somebody looked, and waits for its next attempt
        loop.look_again()
    elif wish in (Wish.SUSPEND, Wish.PAUSE) and attempt is not None:
        suspend(loop, attempt, now, by_itself=wish == Wish.PAUSE)
    elif wish == Wish.CONTINUE and attempt is not None:
        resume(loop, attempt, now)
    elif (number := signal_of(wish)) is not None and attempt is not None:
        _signal(loop, attempt, number, now)


def _who_waits_first(wishes: Iterable[UnfulfilledWish]) -> Iterator[UnfulfilledWish]:
    """Of jobs that are killed together, the youngest first: who waits for another is younger, and would be skipped."""
    for is_killed, some in groupby(wishes, key=lambda each: is_kill(each.wish)):
        yield from sorted(some, key=lambda each: -each.job_id if is_killed else 0)


def _hold_slot(loop: Loop, attempt: LiveAttempt, share: int) -> None:
    """One that takes its slot back need not wait for it: for a while two may run where one should."""
    device, held = attempt.holds[0]
    if device.startswith(CPU) and held != share:
        loop.rehold(attempt, ((device, share),))


def _signal(loop: Loop, attempt: LiveAttempt, number: int, now: Now) -> None:
    """One such as USR1 only to those that listen: the shell around a program would die of it, and the job with it."""
    if number in (signal.SIGSTOP, signal.SIGTSTP):
        suspend(loop, attempt, now, by_itself=True)
    elif number == signal.SIGCONT:
        resume(loop, attempt, now)
    elif number in _FOR_EVERYBODY:
        loop.engine.signal_all(attempt, number)
    else:
        loop.engine.notice(attempt, number)


def _ours(loop: Loop, host_id: int) -> bool:
    """The daemon sees to the jobs of runs that are over."""
    return host_id == loop.host.id or (loop.host.id == DAEMON and not loop.host.is_alive(host_id))


def _kill(loop: Loop, job_id: int, state: State, attempt: LiveAttempt | None, now: Now, at_once: bool) -> None:
    if attempt is None:
        if state is State.QUEUED:
            loop.store.moves.finish(job_id, State.QUEUED, Outcome.KILLED, now.wall, "killed before it began")
            loop.look_again()
        return
    kill_live(loop, attempt, now, "kill asked for", at_once)


def kill_live(loop: Loop, attempt: LiveAttempt, now: Now, why: str, at_once: bool) -> None:
    """Begin the kill ladder; `at_once`: without waiting for the grace."""
    if attempt.stopped_for is not Outcome.KILLED:
        loop.begin_stop(attempt, Outcome.KILLED, now, why)
    if at_once and attempt.stop_step < 2:
        attempt.stop_step = 1
        attempt.stop_began_mono = now.mono - attempt.job.grace_s
