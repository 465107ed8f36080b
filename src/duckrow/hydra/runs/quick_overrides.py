"""Parses overrides quickly: `lr=0.1` needs no grammar. Everything else is left to Hydra, with the same result."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType, ValueType

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_WHOLE = r"[+-]?(?:0|[1-9][0-9]*)"
_SIMPLE = re.compile(
    rf"(?P<sign>\+{{0,2}})(?P<key>{_NAME}(?:\.{_NAME})*)="
    rf"(?:(?P<whole>{_WHOLE})|(?P<decimal>{_WHOLE}\.[0-9]+)|(?P<word>{_NAME}))"
)
_NOT_WORDS = frozenset(("true", "false", "null", "inf", "nan"))
_TYPES = {"": OverrideType.CHANGE, "+": OverrideType.ADD, "++": OverrideType.FORCE_ADD}


def parse_overrides(overrides: Sequence[str]) -> list[Override]:
    parsed = [_simple(override) for override in overrides]
    known = [each for each in parsed if each is not None]
    # All by Hydra if one is not simple: it is asked once, and says what is wrong in the usual order.
    return known if len(known) == len(parsed) else OverridesParser.create().parse_overrides(list(overrides))


def is_simple(override: str) -> bool:
    """Whether it needs no grammar."""
    return simple_value(override) is not None


def simple_value(override: str) -> int | float | str | None:
    """None: its value is more than a number or a word."""
    found = _SIMPLE.fullmatch(override)
    return None if found is None else _value(found)


def _simple(override: str) -> Override | None:
    found = _SIMPLE.fullmatch(override)
    value = None if found is None else _value(found)
    if found is None or value is None:
        return None
    return Override(_TYPES[found["sign"]], found["key"], ValueType.ELEMENT, value, input_line=override)


def _value(found: re.Match[str]) -> int | float | str | None:
    if found["whole"]:
        return int(found["whole"])
    if found["decimal"]:
        return float(found["decimal"])
    return None if found["word"].lower() in _NOT_WORDS else found["word"]
