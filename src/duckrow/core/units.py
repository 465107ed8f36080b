"""Sizes and times as people write them, and back."""

from __future__ import annotations

import re

from duckrow.core.errors import UsageError

NO_LIMIT = "none"
"""How a file or a flag removes a limit that an earlier source sets."""

_TIME_UNITS_S = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_SIZE_UNITS_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def parse_duration_s(text: str) -> float:
    """Seconds of `90`, `90s`, `30m`, `2h`, `1d`, `1h30m`, `2:30:00` (hours first), `1-12:00:00` (days first)."""
    stripped = text.strip().lower()
    # Most times have a unit, and to compile a pattern takes longer than to see that it cannot match.
    clock = ":" in stripped and re.fullmatch(r"(?:(\d{1,4})-)?(\d{1,5}):([0-5]\d)(?::([0-5]\d))?", stripped)
    if clock:
        days, hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return days * 86400 + hours * 3600 + minutes * 60 + seconds
    if stripped[-1:].isdigit() and re.fullmatch(r"\d{1,12}(\.\d+)?", stripped):
        return float(stripped)
    parts = re.findall(r"(\d{1,12}(?:\.\d+)?)(ms|min|[smhdw])", stripped)
    if parts and "".join(number + unit for number, unit in parts) == stripped:
        return sum(float(number) * _TIME_UNITS_S[unit] for number, unit in parts)
    raise UsageError(f"'{text}' is not a time. Write 90s, 30m, 2h, 1h30m, 1d or 2:30:00.")


def parse_size_bytes(text: str) -> int:
    """Bytes of `8192`, `64K`, `10M`, `24G`, `24GiB`, `1.5GB`: always powers of 1024."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    if not match:
        raise UsageError(f"'{text}' is not a size. Write 500K, 10M, 24G or 24GiB.")
    number, unit = match.groups()
    return int(float(number) * _SIZE_UNITS_BYTES[unit])


def parse_size_mb(text: str) -> int:
    """Megabytes, rounded up; a bare number is megabytes, as usual for GPU memory."""
    stripped = text.strip()
    if re.fullmatch(r"\d{1,9}", stripped):
        return int(stripped)
    return -(-parse_size_bytes(stripped) // (1 << 20))


def format_mb(mb: float) -> str:
    """`512M`, `24G`, `10.5G`."""
    if mb < 1024:
        return f"{mb:.0f}M"
    return f"{mb / 1024:.1f}".removesuffix(".0") + "G"


def plural(count: int, noun: str) -> str:
    """`1 job`, `2 jobs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def format_duration(seconds: float) -> str:
    """A time that a person reads at a glance: 0.3s, 42s, 3m 05s, 2h 07m, 3d 04h."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f}s"
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d {whole % 86400 // 3600:02d}h"
