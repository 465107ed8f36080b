"""Decide: a pure function of the state, the observation and the time."""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.clock import Now
from duckrow.core.schedule.backfill import unknown
from duckrow.core.schedule.decide import AskOf, Decision, Start, decide
from duckrow.scheduler.life.learned_times import order_matters
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.seen import Seen

TYPE_CHECKING = False  # most runs plan nothing
if TYPE_CHECKING:
    from duckrow.core.memory.start_plan import KeptPlan


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
    start_plan = None
    if state.early.knows_courses:
        start_plan, seen = _planned(state, seen, ask_of, now.mono)
    live, queue, machine = state.live.values(), seen.queue, seen.machine
    decision = decide(now.mono, live, queue, seen.seats, state.booked, seen.room, machine, ask_of, expected_of)
    if not decision.starts and state.early.knows_courses and state.live:
        decision = decision._replace(starts=_early_starts(state, seen, ask_of, now.mono))
    return decision._replace(plans=plans, start_plan=start_plan)


def _planned(state: HostState, seen: Seen, ask_of: AskOf, mono: float) -> tuple[KeptPlan | None, Seen]:
    """When jobs that grow are to start, and what was seen without those that are not due."""
    from duckrow.scheduler.memory.start_plans import StartPlans  # most runs need none
    from duckrow.scheduler.memory.tenancies import courses_matter

    if not courses_matter(state, seen.queue, seen.machine):
        return None, seen
    start_plans = StartPlans(state, seen, ask_of, mono)
    plan = start_plans.plan()
    return plan, seen if plan is None else seen._replace(queue=start_plans.due(plan))


def _early_starts(state: HostState, seen: Seen, ask_of: AskOf, mono: float) -> Sequence[Start]:
    from duckrow.scheduler.memory.early_choice import EarlyChoice  # most runs need none
    from duckrow.scheduler.memory.tenancies import courses_matter

    return EarlyChoice(state, seen, ask_of, mono).choose() if courses_matter(state, seen.queue, seen.machine) else ()
