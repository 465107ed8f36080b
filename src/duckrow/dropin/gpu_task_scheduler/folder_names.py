"""The folder name of each combination: as in the original, if that can be the name of one folder."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from duckrow.dropin.gpu_task_scheduler.success_notes import note_of

_LONGEST_BYTES = 255  # the limit of file systems
_LONGEST_MARKED_BYTES = 240  # leaves room for a mark of 8 bytes and, for combinations that look alike, a number


class FolderNames:
    def __init__(self, indicator: str, separator: str, longest_value: int) -> None:
        self._indicator, self._separator, self._longest_value = indicator, separator, longest_value

    def of_all(self, points: Sequence[dict[str, Any]]) -> list[str]:
        """A unique name for each combination: if two would have the same, all but the first get a mark appended."""
        owners: dict[str, dict[str, Any]] = {}
        return [self._own_name(point, owners) for point in points]

    def _own_name(self, point: dict[str, Any], owners: dict[str, dict[str, Any]]) -> str:
        plain = self._plain_name(point)
        if _same(owners.setdefault(plain, point), point):
            return plain
        marked = _marked(plain, point)
        further = (f"{marked}-{number}" for number in itertools.count(2))  # for objects that all look alike
        return next(name for name in itertools.chain([marked], further) if _same(owners.setdefault(name, point), point))

    def _plain_name(self, point: Mapping[str, Any]) -> str:
        values = {key: str(point[key])[: self._longest_value] for key in sorted(point)}
        name = "".join(f"{key}{self._indicator}{value}{self._separator}" for key, value in values.items())
        name = name.replace(" ", "")
        return name if _can_be_a_folder(name) else _marked(name, point)


def _can_be_a_folder(name: str) -> bool:
    """Whether it is one folder, not a nested one. An empty name would be the folder of all results."""
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
    """Whether two combinations are equal. Those that cannot be compared, such as arrays, are not."""
    try:
        return one is other or (bool(one == other) and repr(one) == repr(other))
    except Exception:  # from somebody else's __eq__ or __repr__
        return False
