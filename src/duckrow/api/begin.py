"""When a job may begin, as people write it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from duckrow.core.errors import UsageError
from duckrow.core.units import parse_duration_s


def parse_begin(text: str, now: datetime | None = None) -> float:
    """Seconds since 1970 of `22:00` (the next one), `+2h`, `now+30m`, `tomorrow`, `2026-11-16`, `2026-11-16 08:00`."""
    now = now or datetime.now()
    word = text.strip().lower()
    ahead = re.fullmatch(r"(?:now)?\+(.+)", word)
    if ahead:
        try:
            return (now + timedelta(seconds=parse_duration_s(ahead[1]))).timestamp()
        except OverflowError:
            raise UsageError(f"'{text}' is further away than any calendar reaches.") from None
    clock = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", word)
    if clock:
        at = now.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0)
        return (at if at > now else at + timedelta(days=1)).timestamp()
    if word == "tomorrow":
        return (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except ValueError:
        raise UsageError(
            f"'{text}' is not a time to begin. Write 22:00, +2h, tomorrow or '2026-11-16 08:00'."
        ) from None
