"""What a verb says of the jobs that it changed, and of those that it could not."""

from __future__ import annotations

from typing import Any

from duckrow.api.jobs.changed import Changed
from duckrow.cli.console import say
from duckrow.core.errors import EXIT_FAILED, EXIT_OK
from duckrow.core.units import plural

NAMED = 10  # jobs that are named one by one


def say_changed(changed: Changed[Any], what: str) -> int:
    """Say which jobs were not changed and why, and how many were; returns the exit code."""
    say_refused(changed)
    if changed.done or not changed.refused:
        say(f"duckrow: {plural(len(changed.done), 'job')} {what}.")
    return exit_code(changed)


def say_refused(changed: Changed[Any]) -> None:
    """Name the first of those that were not changed."""
    for refused in changed.refused[:NAMED]:
        say(f"duckrow: {refused.why}.")
    if len(changed.refused) > NAMED:
        say(f"duckrow: and {len(changed.refused) - NAMED} more that were not changed.")


def exit_code(changed: Changed[Any]) -> int:
    """A failure if none of the jobs could be changed. Of a range, some often cannot."""
    return EXIT_OK if changed.done or not changed.refused else EXIT_FAILED
