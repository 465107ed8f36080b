"""Jobs as people type many of them: a command a line, or GPUPeasy's `NAME;;OUTFILE;;COMMAND;;;`."""

from __future__ import annotations

import re
from typing import NamedTuple

from duckrow.core.commands import CommandReader

_END, _BETWEEN = ";;;", ";;"
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9._+=,@-]+")


class Entry(NamedTuple):
    command: str
    name: str = ""  # empty: taken from the command
    outfile: str | None = None
    problem: str | None = None  # why it cannot be read


def read_batch(text: str, delimiter: str | None = None) -> list[Entry]:
    """`delimiter`: a line that is just this ends a job of several lines."""
    if _END in text and delimiter is None:
        return [_entry(part) for part in text.split(_END) if part.strip()]
    reader = CommandReader(delimiter)
    return [Entry(command) for command in [*reader.feed(text), *reader.finish()]]


def _entry(text: str) -> Entry:
    parts = [part.strip() for part in text.split(_BETWEEN)]
    if len(parts) != 3 or not all(parts):
        written = " ".join(text.split())[:80]
        return Entry(written, problem=f"'{written}' is not NAME;;OUTFILE;;COMMAND.")
    return Entry(parts[2], tidy_name(parts[0]), parts[1])


def tidy_name(text: str) -> str:
    """The nearest name that a job can have: names become folders, and are typed as ids."""
    name = _NOT_OF_A_NAME.sub("-", text.strip()).strip("-.+=,@")[:100]
    return f"job-{name}"[:100] if not name or name == "last" or re.fullmatch(r"[\d,-]+", name) else name
