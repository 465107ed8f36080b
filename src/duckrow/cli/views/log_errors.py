"""Prints the end of the logs of failed jobs, each error once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from duckrow.cli.console import clean, paint, say
from duckrow.core.life.failures import compact_ids
from duckrow.core.units import plural

_IDS_SHOWN = 60


def print_errors(groups: Sequence[dict[str, Any]]) -> None:
    for number, group in enumerate(groups):
        if number:
            print()
        codes = f" (exit {', '.join(group['exit'])})" if group["exit"] else ""
        ids = compact_ids(group["ids"])
        listed = ids if len(ids) <= _IDS_SHOWN else f"{ids[:_IDS_SHOWN].rsplit(',', 1)[0]},…"
        print(paint(f"{plural(group['count'], 'job')} {group['outcome']}{codes}: {listed}", "bold", sys.stdout))
        for line in group["lines"]:
            print(f"  | {clean(line)}")
        print(f"  again: {group['rerun']}")


def say_totals(groups: Sequence[dict[str, Any]], left_out: int) -> None:
    jobs = sum(group["count"] for group in groups)
    if not jobs:
        say("No job has failed.")
        return
    more = f" {left_out} older ones were not checked." if left_out else ""
    say(f"{plural(jobs, 'job')} did not succeed, with {plural(len(groups), 'error')}.{more}")
