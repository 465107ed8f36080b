"""When a job may begin, as people write it: at a time by the wall clock, or after a delay, whatever that clock does."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import NamedTuple

from duckrow.core.errors import UsageError
from duckrow.core.units import parse_duration_s


class Begin(NamedTuple):
    """One of the two, or neither: at once."""

    not_before: float | None = None  # seconds since 1970
    delay_s: float | None = None


def parse_begin(text: str, now: datetime | None = None) -> Begin:
    """`+2h` and `now+30m` are delays; `22:00` (the next one), `tomorrow`, `2026-11-16 08:00` are times."""
    now = now or datetime.now()
    word = text.strip().lower()
    ahead = re.fullmatch(r"(?:now)?\+(.+)", word)
    if ahead:
        delay_s = parse_duration_s(ahead[1])
        try:
            (now + timedelta(seconds=delay_s)).timestamp()
        except OverflowError:
            raise UsageError(f"'{text}' is further away than any calendar reaches.") from None
        return Begin(delay_s=delay_s)
    clock = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", word)
    if clock:
        at = now.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0)
        return Begin((at if at > now else at + timedelta(days=1)).timestamp())
    if word == "tomorrow":
        return Begin((now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0).timestamp())
    try:
        return Begin(datetime.fromisoformat(text.strip()).timestamp())
    except ValueError:
        raise UsageError(
            f"'{text}' is not a time to begin. Write 22:00, +2h, tomorrow or '2026-11-16 08:00'."
        ) from None
