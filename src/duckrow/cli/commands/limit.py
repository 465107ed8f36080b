"""`duckrow limit`: how many jobs of a project may run at a time."""

from __future__ import annotations

import click

from duckrow.api.jobs.limit import limit_project, project_limits
from duckrow.cli.console import print_json, print_table, say
from duckrow.cli.opening import client_of_verb
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.units import plural


@click.command(short_help="Limit how many jobs of a project run at a time.")
@click.argument("project", required=False)
@click.option("--max-running", type=click.IntRange(0), metavar="N", help="At most N at a time.")
@click.option("--none", "no_limit", is_flag=True, help="Remove the limit.")
@click.option("--json", "as_json", is_flag=True, help="Print the limits as JSON.")
def command(project: str | None, max_running: int | None, no_limit: bool, as_json: bool) -> int:
    """Limit how many jobs of a project run at a time; without a project, show the limits.

    \b
    duckrow limit thesis --max-running 2
    duckrow limit thesis --none
    duckrow limit
    """
    client = client_of_verb()
    if project is None:
        _show(project_limits(client), as_json)
        return EXIT_OK
    if (max_running is not None) == no_limit:
        raise UsageError("Say how many: --max-running N, or --none.")
    limit_project(client, project, max_running)
    what = "no limit" if max_running is None else f"at most {plural(max_running, 'job')} at a time"
    say(f"duckrow: {project}: {what}.")
    return EXIT_OK


def _show(limits: dict[str, int], as_json: bool) -> None:
    if as_json:
        print_json([{"project": project, "max_running": most} for project, most in limits.items()])
    elif limits:
        print_table(("PROJECT", "AT A TIME"), [(project, str(most)) for project, most in limits.items()])
    else:
        say("duckrow: no project is limited.")
