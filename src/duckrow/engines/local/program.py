"""Which program a word of a command names, as the shell of the job would find it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache


def find_program(word: str, folder: str, search_path: bytes | None) -> bytes | None:
    """Where it is. None if we do not know: a shell then finds it, or says what is wrong.

    `folder`: where the job runs. `search_path`: the PATH of the job.
    """
    if "/" in word:
        return os.fsencode(word) if _first_program([os.fsencode(os.path.join(folder, word))]) else None
    return _first_program(_places(word, search_path or b""))


@lru_cache(256)
def _places(name: str, search_path: bytes) -> list[bytes]:
    """Where to look, up to the first place that depends on the folder of the job: few people have one."""
    found = []
    for place in search_path.split(b":"):
        if not place.startswith(b"/"):
            break
        found.append(place + b"/" + os.fsencode(name))
    return found


def _first_program(places: Iterable[bytes]) -> bytes | None:
    for place in places:
        if os.access(place, os.X_OK) and os.path.isfile(place):
            return place
    return None
