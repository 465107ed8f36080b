"""What a check of `duckrow doctor` has found."""

from __future__ import annotations

from duckrow.core.named_tuple import NamedTuple

OK, WARN, PROBLEM = "ok", "warn", "problem"


class Finding(NamedTuple):
    check: str
    level: str
    found: str
    advice: str = ""
