"""Arrays: one command many times, told apart by an index."""

from __future__ import annotations

import re

from duckrow.core.errors import UsageError
from duckrow.core.named_tuple import NamedTuple

MOST = 1_000_000


class Array(NamedTuple):
    indices: tuple[int, ...]
    max_running: int | None


def parse_array(text: str) -> Array:
    """Slurm's way: `0-9`, `1,3,5-7`, `0-20:5`, and `%4` for at most four at a time."""
    body, percent, limit = text.partition("%")
    if percent and not re.fullmatch(r"[1-9]\d{0,5}", limit):
        raise UsageError(f"--array {text}: the number after % is how many may run at a time, as in 0-9%4.")
    indices: list[int] = []
    for part in body.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9})(?::([1-9]\d{0,8}))?)?", part)
        if not match:
            raise UsageError(f"--array {text} cannot be read. Write 0-9, 1,3,5-7, 0-20:5 or 0-9%4.")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first:
            raise UsageError(f"--array {text}: {part} is in the wrong order. Write the smaller number first.")
        if len(indices) + (last - first) // step >= MOST:
            raise UsageError(f"--array {text} is more than {MOST:,} jobs.")
        indices.extend(range(first, last + 1, step))
    return Array(tuple(dict.fromkeys(indices)), int(limit) if percent else None)
