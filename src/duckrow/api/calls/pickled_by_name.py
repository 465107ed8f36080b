"""Pickles for a process that executes the script itself: names defined in the script are resolved by the script.

Otherwise a class of the script would exist twice, and an object of one would not be an instance of the other.
"""

from __future__ import annotations

import sys
from types import FunctionType
from typing import IO, Any

import cloudpickle

from duckrow.api.calls.data import PROTOCOL


class ByName(cloudpickle.Pickler):  # type: ignore[misc]
    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, protocol=PROTOCOL)

    def reducer_override(self, obj: Any) -> Any:
        return obj.__qualname__ if _is_in_script(obj) else super().reducer_override(obj)


def _is_in_script(obj: Any) -> bool:
    if not isinstance(obj, type | FunctionType) or obj.__module__ != "__main__":
        return False
    return getattr(sys.modules["__main__"], obj.__qualname__, None) is obj
