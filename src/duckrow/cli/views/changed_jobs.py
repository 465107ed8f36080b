"""What a verb says of the jobs that it changed, and of those that it could not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from duckrow.api.jobs.changed import Changed, RefusedChange
from duckrow.cli.console import say
from duckrow.core.errors import EXIT_FAILED, EXIT_OK
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.units import plural

NAMED = 10  # jobs that are named one by one
_AT_A_TIME = 10_000  # jobs: what is known of each takes 400 bytes


class ManyChanged(NamedTuple):
    """How many jobs were changed and how many not, and the first of each."""

    done: int
    first_done: Sequence[int]
    refused: int
    first_refused: Sequence[RefusedChange]


def change_many(ids: Sequence[int], change: Callable[[Sequence[int]], Changed[Any]]) -> ManyChanged:
    """Change these jobs, some at a time."""
    done, first_done, refused, first_refused = 0, list[int](), 0, list[RefusedChange]()
    for at in range(0, len(ids), _AT_A_TIME):
        changed = change(ids[at : at + _AT_A_TIME])
        done, refused = done + len(changed.done), refused + len(changed.refused)
        first_done += changed.done[: NAMED - len(first_done)]
        first_refused += changed.refused[: NAMED - len(first_refused)]
    return ManyChanged(done, first_done, refused, first_refused)


def of_changed(changed: Changed[Any]) -> ManyChanged:
    return ManyChanged(len(changed.done), changed.done[:NAMED], len(changed.refused), changed.refused[:NAMED])


def say_changed(changed: ManyChanged, what: str) -> int:
    """Say which jobs were not changed and why, and how many were `what`; returns the exit code."""
    say_refused(changed)
    if changed.done or not changed.refused:
        say(f"duckrow: {plural(changed.done, 'job')} {what}.")
    return exit_code(changed)


def say_refused(changed: ManyChanged) -> None:
    """Name the first of those that were not changed."""
    for refused in changed.first_refused:
        say(f"duckrow: {refused.why}.")
    if changed.refused > NAMED:
        say(f"duckrow: and {changed.refused - NAMED} more that were not changed.")


def exit_code(changed: ManyChanged) -> int:
    """A failure if none of the jobs could be changed. Of a range, some often cannot."""
    return EXIT_OK if changed.done or not changed.refused else EXIT_FAILED
