"""The name of a sweep's point: readable and unique."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from duckrow.core.sweeps.points import key_of, text_of

LONGEST = 100
LONGEST_PART = 30
HASH_DIGITS = 8

_TOLD_WHOLE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+@-]*=[A-Za-z0-9._+@-]*")


def point_name(point: Mapping[str, Any]) -> str:
    """`lr=0.1,seed=3`, with the parameters sorted, so that a point has one name in whatever order they were given.

    If this does not say everything, `,` and a hash of the point follow. No parameter looks like a hash, so the two
    kinds of names cannot collide.
    """
    if not point:
        return "run"
    texts = {name: text_of(point[name]) for name in sorted(point)}
    name = ",".join(f"{_shown(parameter)}={_shown(value)}" for parameter, value in texts.items())
    if len(name) <= LONGEST and all(_is_told_whole(*each) for each in texts.items()):
        return name
    digest = sha256(key_of(point).encode()).hexdigest()[:HASH_DIGITS]
    beginning = f"_{name}" if name[0] in ".+@=-" else name
    return f"{beginning[: LONGEST - HASH_DIGITS - 1]},{digest}"


def _shown(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._+@-]+", "-", text)[:LONGEST_PART]


def _is_told_whole(parameter: str, value: str) -> bool:
    is_short = len(parameter) <= LONGEST_PART and len(value) <= LONGEST_PART
    return is_short and _TOLD_WHOLE.fullmatch(f"{parameter}={value}") is not None
