"""Lists of jobs as people type them: one command per line, or GPUPeasy's `NAME;;OUTFILE;;COMMAND;;;`."""

from __future__ import annotations

import re

from duckrow.core.jobs.commands import CommandReader
from duckrow.core.named_tuple import NamedTuple

_END, _BETWEEN = ";;;", ";;"
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9._+=,@-]+")
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)


class Entry(NamedTuple):
    command: str
    name: str = ""  # empty: taken from the command
    outfile: str | None = None
    problem: str | None = None  # why it cannot be read
    is_program: bool = False  # over as many lines as it has, run without a shell


def read_batch(text: str, delimiter: str | None = None) -> list[Entry]:
    """`delimiter`: a line with only this text ends a job of several lines."""
    if delimiter is None and (_END in text or _separates(text)):
        return [_entry(part) for part in text.split(_END) if part.strip()]
    reader = CommandReader(delimiter)
    return [Entry(command) for command in [*reader.feed(text), *reader.finish()]]


def _separates(text: str) -> bool:
    """Whether there is a `;;` that does not belong to the shell: not in a `case`, not inside quotes."""
    unquoted = _QUOTED.sub("", text) if _BETWEEN in text else ""
    return _BETWEEN in unquoted and re.search(r"\bcase\b", unquoted) is None


def _entry(text: str) -> Entry:
    parts = [part.strip() for part in text.split(_BETWEEN)]
    if len(parts) != 3 or not all(parts):
        written = " ".join(text.split())[:80]
        return Entry(written, problem=f"'{written}' is not NAME;;OUTFILE;;COMMAND;;;")
    return Entry(parts[2], tidy_name(parts[0]), parts[1], is_program=True)


def tidy_name(text: str) -> str:
    """The nearest name that a job can have: names become folders, and are typed as ids. Empty if nothing is left."""
    name = _NOT_OF_A_NAME.sub("-", text.strip()).strip("-.+=,@")[:100]
    return f"job-{name}"[:100] if name == "last" or re.fullmatch(r"[\d,-]+", name) else name
