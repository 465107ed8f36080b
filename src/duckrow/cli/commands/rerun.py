"""`duckrow rerun`: run finished jobs again, as another attempt."""

from __future__ import annotations

from typing import Any

import click

from duckrow.api.client import Client
from duckrow.api.jobs.rerun import rerun
from duckrow.api.queue.listing import matching_ids
from duckrow.api.sweeps.listing import find_sweep
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import clean, say, say_notes
from duckrow.cli.opening import client_of_verb
from duckrow.cli.options.gpu_options import gpu_count, gpu_count_options
from duckrow.cli.options.option_values import TIME
from duckrow.cli.views.changed_jobs import NAMED, exit_code, of_changed, say_refused
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job_filter import Filter
from duckrow.core.life.states import Outcome
from duckrow.core.units import plural


@click.command(short_help="Run finished jobs again.")
@click.argument("words", nargs=-1, metavar="[IDS]...", shell_complete=complete_jobs)
@click.option(
    "--failed",
    is_flag=True,
    help="All jobs (or those of IDS) that failed, ran out of memory, timed out or were lost; not those you killed.",
)
@click.option("--sweep", metavar="NAME", help="With --failed: only those of this sweep.")
@click.option("--project", "-p", help="With --failed: only those of this project.")
@click.option("--since", type=TIME, help="With --failed: only those that were added within this time (2h, 1d).")
@click.option("--dry-run", is_flag=True, help="Only show which jobs would run again.")
@click.option("--command", "command_", help="Run this instead.")
@gpu_count_options("it gets")
@click.option("--timeout", "timeout_s", type=TIME, help="With this time limit.")
@click.option("--retries", type=click.IntRange(0), metavar="N", help="With N retries.")
@click.option("--priority", type=int, metavar="N", help="With this priority.")
def command(words: tuple[str, ...], failed: bool, command_: str | None, dry_run: bool, **values: Any) -> int:
    """Run jobs again, with the same command, folder and variables, or with changes. Earlier attempts are kept.

    Jobs that were skipped because one of these failed are queued again too.

    \b
    duckrow rerun 12
    duckrow rerun 12 --gpus 2 --timeout 8h
    duckrow rerun --failed
    duckrow rerun --failed 10-20
    duckrow rerun --failed --sweep train
    duckrow rerun --failed --project thesis --since 1d --dry-run
    """
    among = {name: values.pop(name) for name in ("sweep", "project", "since")}
    values["gpus"] = gpu_count(values)
    changes = {key: value for key, value in {"command": command_, **values}.items() if value is not None}
    if not words and not failed:
        raise UsageError("Say which jobs to run again: ids, names or --failed.")
    for name, value in among.items():
        if value is not None and not failed:
            what = "TIME" if name == "since" else "NAME"
            raise UsageError(f"--{name} goes with --failed: duckrow rerun --failed --{name} {what}.")
    client = client_of_verb()
    client.tender.copy()
    ids = _failed(client, words, **among) if failed else client.select(words)
    changed = rerun(client, ids, changes, dry_run)
    say_refused(of_changed(changed))
    done = [changed.before[job_id] for job_id in changed.done]
    named = [f"{job.id} ({clean(job.full_name)}, {job.outcome})" for job in done]
    more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
    which = f": {', '.join(named[:NAMED])}{more}" if named else ""
    if dry_run:
        say(f"duckrow: {plural(len(done), 'job')} would run again{which}.")
        return exit_code(of_changed(changed))
    if done or not changed.refused:
        say(f"duckrow: {len(done)} {'job is' if len(done) == 1 else 'jobs are'} back in the queue{which}.")
    say_notes(client.tender.notes())
    return exit_code(of_changed(changed))


def _failed(
    client: Client, words: tuple[str, ...], sweep: str | None, project: str | None, since: float | None
) -> list[int]:
    """All failed jobs, among the given ones or among all."""
    among = client.select(words) if words else None
    sweep_id = None if sweep is None else find_sweep(client, sweep).id
    outcomes = [Outcome.FAILED, Outcome.OUT_OF_MEMORY, Outcome.TIMED_OUT, Outcome.LOST]
    return matching_ids(client, Filter(outcomes, project, since_s=since, ids=among, sweep_id=sweep_id), limit=-1)
