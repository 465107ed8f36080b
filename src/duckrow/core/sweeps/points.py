"""A point of a sweep: one value for each parameter, as text and as a key."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

Point = dict[str, Any]

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,299})")
_FLOAT = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def text_of(value: Any) -> str:
    """How a value is written in a command: a scalar as Python prints it, lists and dicts as compact JSON."""
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return str(value)


def key_of(point: Mapping[str, Any]) -> str:
    """Equal for two points if and only if they put the same texts into a command."""
    texts = {name: text_of(value) for name, value in point.items()}
    return json.dumps(texts, sort_keys=True, separators=(",", ":"))


def plain_value(text: str) -> Any:
    """The text as a number if it is written like one: `007`, `true` and `nan` stay text."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text
