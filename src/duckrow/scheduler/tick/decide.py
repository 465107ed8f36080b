"""Decide: a pure function of the state, the observation and the time."""

from __future__ import annotations

from duckrow.core.clock import Now
from duckrow.core.schedule.decide import AskOf, Decision, decide
from duckrow.scheduler.life.batch_plans import BatchPlans
from duckrow.scheduler.memory.early_choice import EarlyChoice, may_start_early
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.seen import Seen


def decide_tick(state: HostState, seen: Seen, ask_of: AskOf, now: Now) -> Decision:
    """What to start, and whom to warn or stop. `ask_of`: what a job asks for, as far as we know."""
    queue, plans = seen.queue, state.plans
    if seen.run_times:
        batch_plans = BatchPlans(state, seen.run_times, ask_of)
        queue, plans = batch_plans.in_order(queue, seen.seats, seen.machine, now.mono)
    live = state.live.values()
    decision = decide(now.mono, live, queue, seen.seats, state.booked, seen.room, seen.machine, ask_of)
    if not decision.starts and may_start_early(state, queue, seen.machine):
        start = EarlyChoice(state, seen._replace(queue=queue), ask_of, now.mono).choose()
        decision = decision if start is None else decision._replace(starts=[start])
    return decision if plans is state.plans else decision._replace(plans=plans)
