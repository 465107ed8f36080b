"""Pickles calls, and results that plain pickle cannot write."""

from __future__ import annotations

from types import MemberDescriptorType
from typing import Any

import cloudpickle

from duckrow.api.calls.data import PROTOCOL


class CallPickler(cloudpickle.Pickler):  # type: ignore[misc]
    """A class of a script travels with its pickle. One with `__slots__` has real ones there, too.

    Else an object of it would keep its values in a dict, and could not be made again from that by the class itself.
    """

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=PROTOCOL)

    def reducer_override(self, obj: Any) -> Any:
        reduced = super().reducer_override(obj)
        return _with_slots(obj, reduced) if isinstance(reduced, tuple) and _has_slots(obj) else reduced


def _has_slots(obj: Any) -> bool:
    """A tuple has no place for any; a NamedTuple sees to its own."""
    return isinstance(obj, type) and "__slots__" in vars(obj) and not issubclass(obj, tuple)


def _with_slots(kind: type, reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """`reduced`: as cloudpickle has it: what makes the class, the arguments of that, and its attributes."""
    make, (metaclass, name, bases, attributes, *rest), (state, slots_state), *more = reduced
    attributes = {**attributes, "__slots__": vars(kind)["__slots__"]}
    state = {key: value for key, value in state.items() if not isinstance(value, MemberDescriptorType)}
    return make, (metaclass, name, bases, attributes, *rest), (state, slots_state), *more
