"""Warns when a function captures a random generator: every call would get a copy in the same state."""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

_KINDS = (("numpy.random", "Generator"), ("numpy.random", "RandomState"), ("torch", "Generator"))


def warn_of_copied_generators(function: Callable[..., Any]) -> None:
    """Without this warning, all calls would silently use the same random numbers."""
    names = sorted(set(_generators_of(function, set())))
    if names:
        name = getattr(function, "__name__", "The function")
        warnings.warn(
            f"{name} uses the random generator {' and '.join(names)} of your script. "
            "Each call gets a copy of it, so all calls have the same random numbers. Make the generator inside the "
            "function, or put the function into a module of its own.",
            stacklevel=2,
        )


def _generators_of(function: Any, seen: set[int]) -> Iterator[str]:
    """The names of the generators of its script that it uses, itself or through functions that it calls there."""
    function = getattr(function, "func", function)  # of a partial
    if not isinstance(function, FunctionType) or function.__module__ != "__main__" or id(function) in seen:
        return
    seen.add(id(function))
    for name in _names_in(function.__code__):
        value = function.__globals__.get(name)
        if _is_generator(value):
            yield name
        else:
            yield from _generators_of(value, seen)


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _is_generator(value: Any) -> bool:
    known = (getattr(sys.modules.get(module), name, None) for module, name in _KINDS)
    kinds = (random.Random, *(kind for kind in known if isinstance(kind, type)))
    return isinstance(value, kinds) and not isinstance(value, random.SystemRandom)
