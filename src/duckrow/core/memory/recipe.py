"""What makes two jobs alike for their memory: the script or the template, and the parameters that decide it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from duckrow.core.errors import UsageError

_MOST_WORDS = 4
_SCRIPT = re.compile(r"^[^-=]*[^-=]\.(py|sh|jl|R|ipynb)$")


def recipe_of(
    cwd: str,
    command: str,
    pattern: str | None = None,
    deciding: Iterable[str] = (),
    point: Mapping[str, Any] | None = None,
) -> str:
    """`pattern`: the template of a sweep, which stands for the command. `deciding`: names of parameters."""
    what = pattern if pattern is not None else _script_of(command)
    values = [f"{name}={_value_of(name, command, point)}" for name in deciding]
    return " ".join([f"{cwd}: {what}", *values])


def _script_of(command: str) -> str:
    """The program and its script, without variables or `exec` in front, without options and without arguments."""
    words: list[str] = []
    skipped = False  # an option has come: of what follows, only the script counts
    all_words = command.split()
    for word, after in zip(all_words, [*all_words[1:], ""], strict=True):
        if not words and (word == "exec" or re.match(r"[A-Za-z_]\w*=", word)):
            continue
        if _SCRIPT.search(word):
            return " ".join([*words, word])
        if word == "-m" and words and re.fullmatch(r"\w+(\.\w+)*", after):
            return " ".join([*words, word, after])
        skipped = skipped or len(words) == _MOST_WORDS or (words != [] and word.startswith("-")) or "=" in word
        if not skipped:
            words.append(word)
    return " ".join(words) or command.strip()


def _value_of(name: str, command: str, point: Mapping[str, Any] | None) -> str:
    if point is not None and name in point:
        return str(point[name])
    flag = re.escape(name).replace("_", "[_-]").replace("\\-", "[_-]")
    found = re.search(rf"(?:^|\s)(?:--?)?{flag}(?:=|\s+)(\S+)", command)
    if found is None:
        raise UsageError(f"The parameter '{name}', which decides the memory, is not in: {command.strip()}")
    return found[1].strip("'\"")
