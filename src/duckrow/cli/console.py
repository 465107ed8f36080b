"""Printing: data to stdout, messages to stderr, colours where they are wanted, tables that fit."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any, TextIO

COLOURS = {
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "dim": "2",
    "bold": "1",
}
OUTCOME_COLOURS = {
    "succeeded": "green",
    "failed": "red",
    "out-of-memory": "red",
    "timed-out": "red",
    "killed": "yellow",
    "lost": "red",
    "skipped": "dim",
    "running": "cyan",
    "starting": "cyan",
    "stopping": "yellow",
    "queued": "",
}


def wants_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, stream: TextIO) -> str:
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if colour and wants_colour(stream) else text


def clean(text: str) -> str:
    """What may go to a terminal: no control characters, and bytes that are not UTF-8 as question marks."""
    printable = text.encode("utf-8", "replace").decode()
    return "".join(character if character.isprintable() else " " for character in printable)


def say(message: str) -> None:
    """A message for a person. That nobody can hear it (the terminal is gone) is no reason to end."""
    try:
        print(message.encode("utf-8", "replace").decode(), file=sys.stderr, flush=True)
    except OSError:
        pass


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def terminal_width() -> int:
    try:
        return int(os.environ.get("COLUMNS") or os.get_terminal_size(sys.stdout.fileno()).columns)
    except (OSError, ValueError):
        return 120


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], colours: Sequence[str] | None = None) -> None:
    """Columns as wide as they need to be; the last one takes what is left and is cut at the end of the line."""
    width = terminal_width() if sys.stdout.isatty() else 10_000
    cells = [[clean(cell) for cell in row] for row in rows]
    widths = [max(len(line[column]) for line in [list(header), *cells]) for column in range(len(header))]
    before_last = sum(widths[:-1]) + 2 * (len(widths) - 1)
    widths[-1] = max(min(widths[-1], width - before_last), 10)

    def line_of(line: Sequence[str]) -> str:
        *first, last = line
        padded = [cell.ljust(size) for cell, size in zip(first, widths, strict=False)]
        last = last if len(last) <= widths[-1] else last[: widths[-1] - 1] + "…"
        return "  ".join([*padded, last]).rstrip()

    print(paint(line_of(header), "bold", sys.stdout))
    for number, row in enumerate(cells):
        print(paint(line_of(row), colours[number] if colours else "", sys.stdout))
