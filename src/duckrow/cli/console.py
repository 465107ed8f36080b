"""Printing: data to stdout, messages to stderr, colours where they are wanted, tables that fit."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
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
    chosen = chosen_colour()
    if chosen != "auto":
        return chosen == "always"
    return stream.isatty() and os.environ.get("TERM") != "dumb"


@lru_cache(maxsize=1)
def chosen_colour() -> str:
    """The setting; read once, because every painted word needs it."""
    from duckrow.api.machine.colour import colour

    return colour()


def paint(text: str, colour: str, stream: TextIO) -> str:
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if colour and wants_colour(stream) else text


def clean(text: str) -> str:
    """What may go to a terminal: no control characters, and bytes that are not UTF-8 as question marks."""
    if text.isascii() and text.isprintable():
        return text
    printable = text.encode("utf-8", "replace").decode()
    return "".join(character if character.isprintable() else " " for character in printable)


def say(message: str) -> None:
    """A message for a person. If nobody can read it (the terminal is gone), that is not a reason to end."""
    try:
        print(message.encode("utf-8", "replace").decode(), file=sys.stderr, flush=True)
    except OSError:
        pass


def tell(sentence: str) -> None:
    """A message for a person, with our name in front."""
    say(f"duckrow: {sentence[:1].lower()}{sentence[1:]}")


def say_notes(notes: Iterable[str]) -> None:
    """What clusters did, or did not do, about a command."""
    for note in notes:
        say(f"duckrow: {note}")


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def print_json_list(slices: Iterable[list[Any]]) -> None:
    """The same for a list that may be long, slice by slice."""
    before = "["
    for values in filter(None, slices):
        print(before + json.dumps(values, indent=2).removeprefix("[").removesuffix("\n]"), end="")
        before = ","
    print("[]" if before == "[" else "\n]")


def terminal_width() -> int:
    try:
        return int(os.environ.get("COLUMNS") or os.get_terminal_size(sys.stdout.fileno()).columns)
    except (OSError, ValueError):
        return 120


_USUAL_HEIGHT = 24


def terminal_height() -> int:
    try:
        lines = int(os.environ.get("LINES") or os.get_terminal_size(sys.stdout.fileno()).lines)
    except (OSError, ValueError):
        return _USUAL_HEIGHT
    return lines if lines > 0 else _USUAL_HEIGHT  # some terminals say 0 if they do not know


def display_width(text: str) -> int:
    """How many cells of a terminal the text takes: Chinese, Japanese and Korean characters take two."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def fit(text: str, width: int) -> str:
    """The text if it takes no more than `width` cells, else its beginning and an ellipsis."""
    if display_width(text) <= width:
        return text
    while text and display_width(text) > width - 1:
        text = text[: min(len(text) - 1, width - 1)]
    return text + "…"


def wrapped(sentence: str) -> list[str]:
    """The sentence, wrapped to the width of the terminal."""
    if not sys.stderr.isatty():
        return [sentence]
    import textwrap

    return textwrap.wrap(sentence, max(terminal_width(), 20), break_long_words=False, break_on_hyphens=False)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], colours: Sequence[str] | None = None) -> None:
    for line in table_lines(header, rows, colours):
        print(line)


def table_lines(
    header: Sequence[str], rows: Sequence[Sequence[str]], colours: Sequence[str] | None = None
) -> list[str]:
    """Columns as wide as they need to be; the last one takes what is left and is cut at the end of the line."""
    return LongTable(header).lines(rows, colours)


class LongTable:
    """A table that is printed as its rows come. A column is as wide as it had to be so far, and grows if it must."""

    def __init__(self, header: Sequence[str]) -> None:
        self._header = header
        self._widths = list(map(display_width, header))
        self._begun = False

    def make_room(self, rows: Sequence[Sequence[str]]) -> None:
        """For rows that will come."""
        sizes = [[display_width(clean(cell)) for cell in row] for row in rows]
        self._widths = [max(column) for column in zip(self._widths, *sizes, strict=True)]

    def lines(self, rows: Sequence[Sequence[str]], colours: Sequence[str] | None = None) -> list[str]:
        """These rows; the first time, below the header."""
        self.make_room(rows)
        width = terminal_width() if sys.stdout.isatty() else _ENDLESS
        widths = list(self._widths)
        _shrink(widths, width)
        above = [] if self._begun else [paint(_line(self._header, widths, width), "bold", sys.stdout)]
        self._begun = True
        drawn = [_line(map(clean, row), widths, width) for row in rows]
        if colours and wants_colour(sys.stdout):
            drawn = [paint(line, colour, sys.stdout) for line, colour in zip(drawn, colours, strict=True)]
        return above + drawn


def _line(cells: Iterable[str], widths: Iterable[int], width: int) -> str:
    return fit("  ".join(map(_padded, cells, widths)).rstrip(), width)


def _padded(cell: str, width: int) -> str:
    if cell.isascii() and len(cell) <= width:
        return cell.ljust(width)
    cut = fit(cell, width)
    return cut + " " * (width - display_width(cut))


_NARROWEST = 10
"""No column is cut below this: in a terminal that is too narrow even so, the end of the line is cut."""

_ENDLESS = 1 << 40  # a pipe or a file gets everything


def _shrink(widths: list[int], width: int) -> None:
    """Fit a table into a line: first the last column gives way, then the widest of the others."""
    room = width - 2 * (len(widths) - 1)
    widths[-1] = max(min(widths[-1], room - sum(widths[:-1])), min(widths[-1], _NARROWEST))
    while sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
