"""How people name jobs: `12`, `10-12,15`, a name, `last`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from duckrow.core.errors import UsageError
from duckrow.core.named_tuple import NamedTuple


class Selection(NamedTuple):
    """What somebody asked for, before we look whether it exists."""

    ranges: tuple[tuple[int, int], ...]  # both ends included
    names: tuple[str, ...]
    last: bool


def parse_selection(words: Iterable[str]) -> Selection:
    ranges: list[tuple[int, int]] = []
    names: list[str] = []
    last = False
    for word in words:
        # The name of a sweep's run has commas of its own: lr=0.1,seed=3.
        for part in [word] if "=" in word else word.split(","):
            numbers = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", part)
            if numbers:
                first = int(numbers[1])
                ranges.append((first, int(numbers[2] or first)))
            elif part == "last":
                last = True
            elif part:
                names.append(part)
    for first, end in ranges:
        if end < first:
            raise UsageError(f"The range {first}-{end} is in the wrong order. Write {end}-{first}.")
    return Selection(tuple(ranges), tuple(names), last)
