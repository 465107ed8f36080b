"""`duckrow rerun`: run finished jobs again, as another attempt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from duckrow.api.client import Client
from duckrow.api.jobs.changed import Changed
from duckrow.api.jobs.rerun import check_rerun, rerun
from duckrow.api.queue.listing import matching_ids
from duckrow.api.sweeps.listing import find_sweep
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import clean, say, say_notes
from duckrow.cli.opening import client_of_verb
from duckrow.cli.options.gpu_options import gpu_count, gpu_count_options
from duckrow.cli.options.option_values import TIME
from duckrow.cli.views.changed_jobs import NAMED, change_many, exit_code, say_refused
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job_filter import Filter
from duckrow.core.life.failures import compact_ids
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
    named: list[str] = []
    behind: set[int] = set()

    def again(some: Sequence[int]) -> Changed[Any]:
        changed = rerun(client, some, changes, dry_run, one_of_many=True)
        behind.update(changed.behind)
        done = [changed.before[job_id] for job_id in changed.done[: NAMED - len(named)]]
        named.extend(f"{job.id} ({clean(job.full_name)}, {job.outcome})" for job in done)
        return changed

    if not dry_run:
        check_rerun(client, ids, changes)
    changed = change_many(ids, again)
    if changed.done and not dry_run:
        client.await_wishes(ids)
    say_refused(changed)
    _say_queued(changed.done, named, dry_run, any_refused=changed.refused > 0)
    _say_behind(sorted(behind.difference(ids)), dry_run)
    say_notes(client.tender.notes())
    return exit_code(changed)


def _say_queued(count: int, named: Sequence[str], dry_run: bool, any_refused: bool) -> None:
    more = f" and {count - len(named)} more" if count > len(named) else ""
    which = f": {', '.join(named)}{more}" if named else ""
    if dry_run:
        say(f"duckrow: {plural(count, 'job')} would run again{which}.")
    elif count or not any_refused:
        say(f"duckrow: {count} {'job is' if count == 1 else 'jobs are'} back in the queue{which}.")


def _say_behind(ids: Sequence[int], dry_run: bool) -> None:
    if ids:
        more = f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
        wait = "would wait" if dry_run else "waits" if len(ids) == 1 else "wait"
        which = f"{plural(len(ids), 'job')} that {'was' if len(ids) == 1 else 'were'} skipped"
        say(f"duckrow: {which} {wait} again: {compact_ids(ids[:NAMED])}{more}.")


def _failed(
    client: Client, words: tuple[str, ...], sweep: str | None, project: str | None, since: float | None
) -> list[int]:
    """All failed jobs, among the given ones or among all."""
    among = client.select(words) if words else None
    sweep_id = None if sweep is None else find_sweep(client, sweep).id
    outcomes = [Outcome.FAILED, Outcome.OUT_OF_MEMORY, Outcome.TIMED_OUT, Outcome.LOST]
    return matching_ids(client, Filter(outcomes, project, since_s=since, ids=among, sweep_id=sweep_id), limit=-1)
