"""Decide: a pure function of the state, the observation and the time."""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.clock import Now
from duckrow.core.schedule.backfill import unknown
from duckrow.core.schedule.decide import AskOf, Decision, Start, decide
from duckrow.scheduler.life.learned_times import order_matters
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.seen import Seen


def decide_tick(state: HostState, seen: Seen, ask_of: AskOf, now: Now) -> Decision:
    """What to start, whom to warn or stop, and what to remember. Nothing that is given is changed.

    `ask_of`: what a job asks for, as far as we know.
    """
    plans = None
    expected_of = seen.run_times.expected if seen.run_times else unknown
    if seen.run_times and order_matters(state, seen.queue, seen.seats):
        from duckrow.scheduler.life.batch_plans import BatchPlans  # most runs need none

        batch_plans = BatchPlans(state, seen.run_times, ask_of)
        queue, plans = batch_plans.in_order(seen.queue, seen.seats, seen.machine, now.mono)
        seen = seen._replace(queue=queue)
    live, queue, machine = state.live.values(), seen.queue, seen.machine
    decision = decide(now.mono, live, queue, seen.seats, state.booked, seen.room, machine, ask_of, expected_of)
    if not decision.starts and state.queue.any_needs:
        decision = decision._replace(starts=_early_starts(state, seen, ask_of, now.mono))
    return decision if plans is None else decision._replace(plans=plans)


def _early_starts(state: HostState, seen: Seen, ask_of: AskOf, mono: float) -> Sequence[Start]:
    from duckrow.scheduler.memory.early_choice import EarlyChoice  # most runs need none
    from duckrow.scheduler.memory.tenancies import may_start_early

    may_start = may_start_early(state, seen.queue, seen.machine)
    start = EarlyChoice(state, seen, ask_of, mono).choose() if may_start else None
    return () if start is None else (start,)
