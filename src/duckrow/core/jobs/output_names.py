"""Names of output files with sbatch's `%j` and similar placeholders."""

from __future__ import annotations

import re

from duckrow.core.named_tuple import NamedTuple

_SYMBOL = re.compile(r"%(\d{0,2})([A-Za-z%])")
_NO_INDEX = 4294967294
"""What sbatch puts in place of %a if there is no array."""


class WhoWrites(NamedTuple):
    """What distinguishes the output of one job from that of another."""

    job_id: int
    array_id: int
    array_index: int | None
    name: str
    user: str
    node: str


class OutputNames(NamedTuple):
    """Where a job's output goes, as patterns; None: to its log."""

    out: str | None
    error: str | None
    user: str
    node: str

    def files(self, job_id: int, array_id: int, index: int | None, name: str) -> tuple[str | None, str | None]:
        """(output, errors) of one job; no file for errors if they go to the same file as the output."""
        who = WhoWrites(job_id, array_id, index, name, self.user, self.node)
        out, error = (None if pattern is None else fill(pattern, who) for pattern in self[:2])
        return out, None if error == out else error


def fill(pattern: str, who: WhoWrites) -> str:
    """`%x-%4j.out` with values; if it contains a backslash, nothing is replaced."""
    if "\\" in pattern:
        return pattern.replace("\\", "")
    values: dict[str, str | int] = {
        "%": "%", "A": who.array_id, "a": _NO_INDEX if who.array_index is None else who.array_index, "j": who.job_id,
        "J": who.job_id, "N": who.node, "n": 0, "s": "batch", "t": 0, "u": who.user, "x": who.name,
    }  # fmt: skip

    def replaced(symbol: re.Match[str]) -> str:
        value = values.get(symbol[2], symbol[0])
        return str(value).zfill(int(symbol[1] or 0)) if isinstance(value, int) else value

    return _SYMBOL.sub(replaced, pattern)
