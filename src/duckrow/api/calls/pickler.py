"""Pickles calls, and results that plain pickle cannot write."""

from __future__ import annotations

from types import MemberDescriptorType
from typing import Any

import cloudpickle

from duckrow.api.calls.data import PROTOCOL


class CallPickler(cloudpickle.Pickler):  # type: ignore[misc]
    """A class of a script is pickled with its objects. One with `__slots__` gets real slots in the other process too.

    Otherwise its objects would keep their values in a dict, and the class could not restore them from that.
    """

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=PROTOCOL)

    def reducer_override(self, obj: Any) -> Any:
        reduced = super().reducer_override(obj)
        return _with_slots(obj, reduced) if isinstance(reduced, tuple) and _has_slots(obj) else reduced


def _has_slots(obj: Any) -> bool:
    """Not for tuples: they cannot have any, and a NamedTuple handles its own."""
    return isinstance(obj, type) and "__slots__" in vars(obj) and not issubclass(obj, tuple)


def _with_slots(kind: type, reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """`reduced`: from cloudpickle: the function that makes the class, its arguments, and the attributes."""
    make, (metaclass, name, bases, attributes, *rest), (state, slots_state), *more = reduced
    attributes = {**attributes, "__slots__": vars(kind)["__slots__"]}
    state = {key: value for key, value in state.items() if not isinstance(value, MemberDescriptorType)}
    return make, (metaclass, name, bases, attributes, *rest), (state, slots_state), *more
