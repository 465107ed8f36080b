"""`duckrow edit`: change a queued job, with options or in an editor."""

from __future__ import annotations

from typing import Any

import click

from duckrow.api.jobs.edit import edit, spec_of
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import say
from duckrow.cli.opening import client_of_verb
from duckrow.cli.options.gpu_options import gpu_count, gpu_count_options
from duckrow.cli.options.option_values import SIZE, TIME
from duckrow.cli.views.editor import edit_in_editor
from duckrow.core.errors import EXIT_OK, UsageError


@click.command(short_help="Change a queued job.")
@click.argument("word", metavar="ID", shell_complete=complete_jobs)
@click.option("--command", "command_", help="What to run.")
@click.option("--cwd", help="Folder to run in.")
@click.option("--name", "-n", help="Name of the job.")
@click.option("--project", "-p", help="The project it belongs to.")
@gpu_count_options("it gets")
@click.option("--retries", type=click.IntRange(0), metavar="N", help="How often to try again.")
@click.option("--requeue-lost/--no-requeue-lost", default=None, help="Whether to requeue it if it is lost.")
@click.option("--timeout", "timeout_s", type=TIME, help="Time limit.")
@click.option("--grace", "grace_s", type=TIME, help="Time between SIGTERM and SIGKILL.")
@click.option("--outfile", "-o", help="Where the output goes.")
@click.option("--max-log", "max_log_bytes", type=SIZE, help="Most bytes of its log.")
@click.option("--priority", type=int, metavar="N", help="Higher ones start first.")
def command(word: str, command_: str | None, **values: Any) -> int:
    """Change a queued job. Without options, it opens in $EDITOR. A job that has started stays as it is.

    \b
    duckrow edit 12 --gpus 2 --timeout 4h
    duckrow edit 12
    """
    client = client_of_verb()
    ids = client.select([word])
    if len(ids) != 1:
        raise UsageError(f"'{word}' names {len(ids)} jobs. You can edit one at a time.")
    values["gpus"] = gpu_count(values)
    changes = {key: value for key, value in {"command": command_, **values}.items() if value is not None}
    if not changes:
        changes = _edited(spec_of(client, ids[0]))
    if not changes:
        say("duckrow: nothing was changed.")
        return EXIT_OK
    edit(client, ids[0], changes)
    say(f"duckrow: job {ids[0]}: {', '.join(changes)} changed.")
    return EXIT_OK


def _edited(spec: dict[str, Any]) -> dict[str, Any]:
    """What the user changed in `key = value` lines; the values are JSON, which people can read and write."""
    import json

    lines = ["# Change what you like, save and close. A job that has started stays as it is."]
    lines += [f"{key} = {json.dumps(value)}" for key, value in spec.items() if not isinstance(value, bytes)]
    changes: dict[str, Any] = {}
    for line in edit_in_editor("\n".join(lines) + "\n").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        key, equals, text = (part.strip() for part in line.partition("="))
        try:
            value = json.loads(text)
        except ValueError:
            raise UsageError(f"The line '{line}' cannot be read. Nothing was changed. Put text in quotes.") from None
        if not equals or key not in spec:
            raise UsageError(f"'{key}' of a job cannot be changed. Nothing was changed.")
        if value != spec[key]:
            changes[key] = value
    return changes
