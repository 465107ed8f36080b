"""The help of `duckrow` itself: what people type first is answered without click, and without any verb."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from duckrow.cli.verbs import ALIAS_LINES, ALIASES, EVERYDAY, VERBS

_HEAD = """\
Usage: duckrow [OPTIONS] [COMMAND] [ARGS]...

  duckrow gets your GPU jobs in a row.

  duckrow run --devices 0,1 commands.txt  run a list of commands, one per GPU at a time
  duckrow submit -- python train.py       add a job to the queue and go home
  duckrow ls                              see how it is going"""

OPTIONS = {"--version": "Print the versions.", "-h, --help": "Show this message and exit."}
_WHOLE = "All commands with their meaning: duckrow --help-all"

_WIDEST, _NARROWEST, _USUAL = 100, 40, 80  # columns


def help_text(whole: bool) -> str:
    """`whole`: every command with its meaning; else what fits a screen."""
    width = min(max(_terminal_width(), _NARROWEST), _WIDEST)
    if whole:
        lists = {"Options": OPTIONS, "Commands": VERBS, "Also known as": ALIAS_LINES}
        return "\n\n".join([_HEAD, *("\n".join(_listed(title, lines, width)) for title, lines in lists.items())])
    commands = _listed("Commands", {verb: VERBS[verb] for verb in EVERYDAY}, width)
    more = _named("More commands", [verb for verb in VERBS if verb not in EVERYDAY], width)
    aliases = _named("Also known as", [f"{alias} ({words})" for alias, words in ALIASES.items()], width)
    return "\n\n".join([_HEAD, "\n".join(commands), "\n".join(more), "\n".join(aliases), _WHOLE])


def _named(title: str, names: list[str], width: int) -> list[str]:
    """The names alone, in as few lines as they need."""
    return [f"{title}:", *(f"  {line}" for line in _wrapped(", ".join(names), width - 2))]


def _listed(title: str, lines: Mapping[str, str], width: int) -> Iterator[str]:
    """The names in one column, what they mean in the next."""
    indent = max(map(len, lines)) + 4
    yield f"{title}:"
    for name, meaning in lines.items():
        first, *more = _wrapped(meaning, width - indent)
        yield f"  {name:<{indent - 2}}{first}"
        yield from (" " * indent + line for line in more)


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _terminal_width() -> int:
    try:
        return int(os.environ.get("COLUMNS") or os.get_terminal_size(1).columns)
    except (OSError, ValueError):
        return _USUAL
