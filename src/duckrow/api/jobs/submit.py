"""Submit: add jobs to the daemon's queue, unless they could never start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from duckrow.api.adding.environment import inherited_environment
from duckrow.core.devices.needs import NO_NEEDS, Needs, ask_of
from duckrow.core.errors import FieldError, UsageError, as_option, as_template
from duckrow.core.jobs.job import WAIT
from duckrow.core.life.states import Outcome, State, state_in_words
from duckrow.core.schedule.placement import refusal
from duckrow.store.hosts import DAEMON, ring

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.core.jobs.job import JobSpec
    from duckrow.core.jobs.output_names import OutputNames
    from duckrow.core.life.dependencies import Dependency


def submit_jobs(
    client: Client,
    specs: Sequence[JobSpec],
    environment: Mapping[str, str | None] | None = None,
    after: Sequence[Dependency] = (),
    array_limit: int | None = None,
    output: OutputNames | None = None,
) -> range:
    """Add jobs to the daemon's queue, all or none; they are on disk when this returns.

    `environment`: changes to the variables here; None removes one. `after`: what each of them waits
    for. `array_limit`: how many of their array may run at a time. `output`: where they write.
    """
    client.ensure_daemon()
    if after:
        client.tender.copy()  # they may wait for runs on a cluster
    for number, why_not in could_never_start(client, specs, as_template):
        raise FieldError(f"This job can never start. {why_not} Nothing was submitted.", number)
    with client.database.transaction():
        # Before the jobs are added: `last` must not mean one of them.
        may_be_broken = all(spec.if_broken == WAIT for spec in specs)
        waits_for = not_yet_met(client, after, may_be_broken) if after else []
        if output is not None:
            from duckrow.api.adding.output_files import placed

            specs = placed(specs, output, client.jobs.next_id())
        ids = client.jobs.add(DAEMON, specs, inherited_environment(environment))
        if waits_for or array_limit is not None:
            _restrict(client, ids, waits_for, array_limit)
    ring(client.folder, DAEMON)
    return ids


def _restrict(client: Client, ids: range, waits_for: Sequence[tuple[int, str]], array_limit: int | None) -> None:
    """Within the transaction that adds these jobs: what each waits for, and how many of them run at a time."""
    from duckrow.store.jobs.control import ControlStore  # most jobs start as soon as they can

    control = ControlStore(client.database)
    control.add_dependencies(ids, waits_for)
    if array_limit is not None:
        control.set_limit(f"array:{ids[0]}", array_limit)


def could_never_start(
    client: Client, specs: Sequence[JobSpec], written: Callable[[str], str] = as_option
) -> Iterator[tuple[int, str]]:
    """Which of these the daemon could never start, and why. `written`: how fields of jobs are named."""
    seats, machine = client.seats(), client.hosts.machine(DAEMON)
    asked: dict[tuple[int | None, Needs], str | None] = {}
    for number, spec in enumerate(specs):
        key = (spec.gpus, spec.needs if spec.needs is NO_NEEDS else spec.needs._replace(parameters=""))
        if key not in asked:
            asked[key] = refusal(ask_of(spec.gpus, spec.needs.as_text()), seats, machine, written=written)
        why_not = asked[key]
        if why_not:
            yield number, why_not


def not_yet_met(client: Client, after: Sequence[Dependency], may_be_broken: bool) -> list[tuple[int, str]]:
    """(job, condition) of those that have not ended yet; one that ended in the wrong way is an error."""
    from duckrow.core.life.dependencies import in_words, is_met
    from duckrow.store.jobs.control import ControlStore

    control = ControlStore(client.database)
    waits_for = []
    for dependency in after:
        for job_id in client.select([dependency.words], whole_array=True):
            state, outcome = control.end_of(job_id)
            if state != State.DONE or outcome is None:
                waits_for.append((job_id, dependency.condition))
            elif is_met(dependency.condition, Outcome(outcome)):
                continue
            elif may_be_broken:
                waits_for.append((job_id, dependency.condition))
            else:
                wanted, ended = in_words(dependency.condition, job_id), state_in_words(State.DONE, outcome)
                raise UsageError(
                    f"This job would wait for {wanted}, which already {ended}, so it would never start. "
                    "Nothing was submitted."
                )
    return waits_for
