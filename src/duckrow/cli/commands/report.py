"""`duckrow report`: metrics of a run, from a shell script."""

from __future__ import annotations

import os

import click

from duckrow.api.results.metrics import VARIABLE, report
from duckrow.core.errors import EXIT_OK, DuckrowError, UsageError
from duckrow.core.sweeps.results import number_of

_WORDS = {"true": True, "false": False}


@click.command(short_help="Record metrics of a run, from a shell script.")
@click.argument("words", nargs=-1, metavar="NAME=VALUE...")
def command(words: tuple[str, ...]) -> int:
    """Record metrics of this run: `duckrow results` shows the last value of each.

    \b
    duckrow report loss=0.3 step=10
    duckrow report accuracy=$accuracy || true     so that the script also works without duckrow

    Numbers become numbers, true and false become booleans, everything else is text. In Python:
    duckrow.report(loss=0.3, step=10).
    """
    if not words:
        raise UsageError("Say what to report: duckrow report loss=0.3 step=10.")
    metrics = dict(_metric(word) for word in words)
    path = os.environ.get(VARIABLE)
    if not path:
        raise UsageError(
            f"This is not a duckrow job ({VARIABLE} is not set), so there is nowhere to report to. "
            "Use it in jobs of `duckrow run`, `submit` and `sweep`."
        )
    if not report(**metrics):
        raise DuckrowError(f"The metrics could not be written to {path}. Does its folder exist? Is the disk full?")
    return EXIT_OK


def _metric(word: str) -> tuple[str, str | int | float | bool]:
    name, equals, value = word.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"'{word}' is not a metric. Write NAME=VALUE: duckrow report loss=0.3 step=10.")
    number = number_of(value)
    return name, _WORDS.get(value.lower(), value) if number is None else number
