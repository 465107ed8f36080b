"""The name of the folder of each combination: the original's, wherever that can be the name of one folder."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from duckrow.dropin.gpu_task_scheduler.success_notes import note_of

_LONGEST_BYTES = 255  # that file systems have room for
_LONGEST_MARKED_BYTES = 240  # before a mark of 8 and, among many that look alike, a number


class FolderNames:
    def __init__(self, indicator: str, separator: str, longest_value: int) -> None:
        self._indicator, self._separator, self._longest_value = indicator, separator, longest_value

    def of_all(self, points: Sequence[dict[str, Any]]) -> list[str]:
        """Each combination's own: where two would have the same, all but the first get a mark behind it."""
        owners: dict[str, dict[str, Any]] = {}
        return [self._own_name(point, owners) for point in points]

    def _own_name(self, point: dict[str, Any], owners: dict[str, dict[str, Any]]) -> str:
        plain = self._plain_name(point)
        if _same(owners.setdefault(plain, point), point):
            return plain
        marked = _marked(plain, point)
        further = (f"{marked}-{number}" for number in itertools.count(2))  # such as of objects that all look alike
        return next(name for name in itertools.chain([marked], further) if _same(owners.setdefault(name, point), point))

    def _plain_name(self, point: Mapping[str, Any]) -> str:
        values = {key: str(point[key])[: self._longest_value] for key in sorted(point)}
        name = "".join(f"{key}{self._indicator}{value}{self._separator}" for key, value in values.items())
        name = name.replace(" ", "")
        return name if _can_be_a_folder(name) else _marked(name, point)


def _can_be_a_folder(name: str) -> bool:
    """One folder, never one within another. An empty name is the folder of all results."""
    try:
        fits = len(name.encode()) <= _LONGEST_BYTES
    except UnicodeEncodeError:
        return False
    return fits and name not in (".", "..") and "/" not in name and "\0" not in name


def _marked(name: str, point: Mapping[str, Any]) -> str:
    name = "_" if name in (".", "..") else name.replace("/", "_").replace("\0", "_")
    return name.encode("utf-8", "replace")[:_LONGEST_MARKED_BYTES].decode("utf-8", "ignore") + _mark(point)


def _mark(point: Mapping[str, Any]) -> str:
    whole = repr(sorted(note_of(point).items()))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two combinations are one. Those that cannot be compared, such as of arrays, are two."""
    try:
        return one is other or (bool(one == other) and repr(one) == repr(other))
    except Exception:  # of a foreign __eq__ or __repr__
        return False
