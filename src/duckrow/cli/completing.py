"""What the shell completes: ids and names of jobs."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

VARIABLE = "_DUCKROW_COMPLETE"


def is_completing() -> bool:
    """Whether the shell called us to complete a word."""
    return VARIABLE in os.environ


def read_nothing() -> None:
    """A verb that reads standard input while it parses its words must not wait for the keyboard."""
    sys.stdin = open(os.devnull)  # noqa: SIM115


def complete_jobs(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The newest ids and names that begin like this. Of `3,12-`, it completes the part after the last comma.

    A name that contains commas, like `lr=0.1,seed=3`, is completed only by itself.
    """
    from click.shell_completion import CompletionItem

    from duckrow.api.queue.recent import recent_jobs

    before, comma, begun = ("", "", incomplete) if "=" in incomplete else incomplete.rpartition(",")
    found = {"last": "the newest job"}
    jobs = recent_jobs()
    found.update({str(job_id): f"{name}, {state}" for job_id, name, state in jobs})
    for _, name, _ in jobs:
        if "," not in name or ("=" in name and not before):
            found.setdefault(name, "jobs with this name")
    return [
        CompletionItem(f"{before}{comma}{word}", help=text) for word, text in found.items() if word.startswith(begun)
    ]
