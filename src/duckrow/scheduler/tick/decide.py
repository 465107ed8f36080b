"""Decide: a pure function of the state, the observation and the time."""

from __future__ import annotations

from duckrow.core.clock import Now
from duckrow.core.schedule.decide import AskOf, Decision, decide
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.seen import Seen


def decide_tick(state: HostState, seen: Seen, ask_of: AskOf, now: Now) -> Decision:
    """What to start, and whom to warn or stop. `ask_of`: what a job asks for, as far as we know."""
    live = state.live.values()
    return decide(now.mono, live, seen.queue, seen.seats, state.booked, seen.room, seen.machine, ask_of)
