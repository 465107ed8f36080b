"""Which fields of a queued job can be changed, and which values they accept."""

from __future__ import annotations

from collections.abc import Callable

from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import check_name
from duckrow.core.units import parse_duration_s, parse_size_bytes

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

_LONGEST_S = 1e12  # as many digits as a time may have that is written as text


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise UsageError(f"{key} must be a string that is not empty: {value!r}.")
    return value


def _name(key: str, value: Any) -> str:
    check_name(key, _text(key, value))
    return str(value)


def _count(key: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or (value < 0 and key != "priority"):
        raise UsageError(f"{key} must be a whole number{'' if key == 'priority' else ', not negative'}: {value!r}.")
    return value


def _flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{key} must be true or false: {value!r}.")
    return value


def _seconds(key: str, value: Any) -> float:
    if isinstance(value, str):
        return parse_duration_s(value)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= _LONGEST_S:
        raise UsageError(f"{key} must be seconds, or a time such as 2h: {value!r}.")
    return float(value)


def _bytes(key: str, value: Any) -> int:
    return parse_size_bytes(value) if isinstance(value, str) else _count(key, value)


_RULES: dict[str, Callable[[str, Any], Any]] = {
    "command": _text,
    "cwd": _text,
    "name": _name,
    "project": _name,
    "gpus": _count,
    "shell": _text,
    "retries": _count,
    "requeue_lost": _flag,
    "backoff_s": _seconds,
    "timeout_s": _seconds,
    "grace_s": _seconds,
    "outfile": _text,
    "max_log_bytes": _bytes,
    "priority": _count,
}
_MAY_BE_NULL = ("gpus", "timeout_s", "outfile", "max_log_bytes")

EDITABLE = tuple(_RULES)


def checked_change(key: str, value: Any) -> Any:
    """The value as it is stored; an error if the job cannot have it."""
    if key not in _RULES:
        raise UsageError(f"'{key}' of a job cannot be changed. These can: {', '.join(EDITABLE)}.")
    if value is None:
        if key not in _MAY_BE_NULL:
            raise UsageError(f"A job needs {key}.")
        return None
    return _RULES[key](key, value)
