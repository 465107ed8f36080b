"""A Python call as people read it: `train(lr=0.1, seed=3)`."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from duckrow.api.call import each
from duckrow.api.queue.masked_environment import MASK, is_secret

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_LONGEST_VALUE = 40
_LONGEST_CALL = 160
_MOST_ITEMS = 8


def call_words(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """One line. It shows plain values, and the type of anything else: somebody else's `repr` may do anything."""
    if function is each:
        return f"{_name_of(args[0])}(...), {len(args[1])} calls"
    while isinstance(function, functools.partial):
        args, kwargs, function = (*function.args, *args), {**function.keywords, **kwargs}, function.func
    shown = [_value_words(value) for value in args]
    shown += [f"{name}={_named_words(name, value)}" for name, value in kwargs.items()]
    return f"{_name_of(function)}({_joined(shown)})"


def _name_of(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", None) or type(function).__name__
    return str(name).rpartition("<locals>.")[2]


def _joined(values: Sequence[str]) -> str:
    """As many values as fit."""
    for count in range(len(values), -1, -1):
        text = ", ".join([*values[:count], *(["..."] if count < len(values) else [])])
        if len(text) <= _LONGEST_CALL:
            return text
    return "..."


def _named_words(name: str, value: Any) -> str:
    is_hidden = isinstance(value, str) and is_secret(name, value)
    return repr(MASK) if is_hidden else _value_words(value)


def _value_words(value: Any) -> str:
    if type(value) in _PLAIN:
        return _cut(value)
    if type(value) in (list, tuple, set, frozenset, dict):
        return _collection_words(value)
    if isinstance(value, os.PathLike) and type(value).__module__.startswith("pathlib"):
        return _cut(str(value))
    if isinstance(value, type) or callable(value):
        return _cut_text(str(getattr(value, "__name__", type(value).__name__)))
    return type(value).__name__


def _collection_words(value: Any) -> str:
    items = [*value.keys(), *value.values()] if isinstance(value, dict) else list(value)[: _MOST_ITEMS + 1]
    if len(items) <= 2 * _MOST_ITEMS and all(type(item) in _PLAIN for item in items) and len(value) <= _MOST_ITEMS:
        text = repr(value)
        if len(text) <= _LONGEST_VALUE:
            return text
    return f"{type(value).__name__} of {len(value)}"


def _cut(value: Any) -> str:
    """The beginning of a long text. The text is cut before `repr`, so that a megabyte costs nothing."""
    if isinstance(value, str | bytes) and len(value) > _LONGEST_VALUE:
        return f"{value[: _LONGEST_VALUE - 3]!r}..."
    return _cut_text(repr(value))


def _cut_text(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."
