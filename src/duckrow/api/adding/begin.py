"""Parses --begin: a time of day by the wall clock, or a delay that ignores that clock."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from duckrow.core.errors import UsageError
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.units import parse_duration_s


class Begin(NamedTuple):
    """One of the two; neither means at once."""

    not_before: float | None = None  # seconds since 1970
    delay_s: float | None = None


_WORDS = {"midnight": "00:00", "noon": "12:00", "fika": "15:00", "teatime": "16:00"}
_UNITS = re.compile(r"\s*(second|minute|hour|day|week)s?")


def parse_begin(text: str, now: datetime | None = None) -> Begin:
    """`+2h` and `now+1hour` are delays; `22:00` (the next one), `tomorrow`, `2026-11-16 08:00` are times.

    Everything that sbatch accepts is accepted too: `now`, `noon`, `4:30PM`, `22:00:30`, `11/16`, `11/16/26`, `111626`.
    """
    now = now or datetime.now()
    word = _WORDS.get(text.strip().lower(), text.strip().lower())
    ahead = re.fullmatch(r"(?:now)?\s*\+\s*(.+)", word)
    if ahead:
        return _delay(_UNITS.sub(lambda unit: unit[1][0], ahead[1]), text, now)
    at = _today_at(word, now)
    if at is not None:
        return Begin((at if at > now else at + timedelta(days=1)).timestamp())
    if word in ("now", "today"):
        return Begin()
    if word == "tomorrow":
        return Begin((now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0).timestamp())
    try:
        return Begin((_american_date(word, now) or datetime.fromisoformat(text.strip())).timestamp())
    except ValueError:
        raise UsageError(f"'{text}' is not a start time. Write 22:00, +2h, tomorrow or '2026-11-16 08:00'.") from None


def _delay(duration: str, text: str, now: datetime) -> Begin:
    delay_s = parse_duration_s(duration)
    try:
        (now + timedelta(seconds=delay_s)).timestamp()
    except OverflowError:
        raise UsageError(f"'{text}' is too far away.") from None
    return Begin(delay_s=delay_s)


def _today_at(word: str, now: datetime) -> datetime | None:
    clock = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?\s*(am|pm)?", word)
    if clock is None:
        return None
    hour = int(clock[1]) if clock[4] is None else int(clock[1]) % 12 + (12 if clock[4] == "pm" else 0)
    return now.replace(hour=hour, minute=int(clock[2]), second=int(clock[3] or 0), microsecond=0)


def _american_date(word: str, now: datetime) -> datetime | None:
    """Month first, as in sbatch; without a year, the next such day."""
    date = re.fullmatch(r"(\d\d)(\d\d)(\d\d)|(\d\d?)/(\d\d?)(?:/(\d\d))?", word)
    if date is None:
        return None
    month, day = int(date[1] or date[4]), int(date[2] or date[5])
    year = date[3] or date[6]
    if year is not None:
        return datetime(2000 + int(year), month, day)
    at = datetime(now.year, month, day)
    return at if at > now else datetime(now.year + 1, month, day)
