"""For an unknown key of `hydra.launcher`, suggests the key that was probably meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields

_LAUNCHER = re.compile(r"\+{0,2}hydra/launcher=['\"]?(\w+)")
_KEY = re.compile(r"hydra\.launcher\.(\w+)[.=]")


def hints_for(words: Sequence[str]) -> Iterator[str]:
    """A sentence for each unknown key on this command line; none if it does not choose one of our launchers.

    Hydra accepts an added key (`+hydra.launcher.x=1`); the launcher refuses it.
    """
    chosen = [match[1] for word in words if (match := _LAUNCHER.match(word))]
    if not chosen:
        return
    from duckrow.hydra.keys import LAUNCHERS

    if chosen[-1] in LAUNCHERS:
        given = [match[1] for word in words if (match := _KEY.match(word))]
        yield from (f"duckrow: {hint}" for hint in _hints(chosen[-1], given))


def unknown_keys(launcher: str, keys: Iterable[str]) -> list[str]:
    """A sentence for each of these keys that the launcher does not have. `launcher`: the name of its class."""
    from duckrow.hydra.keys import LAUNCHERS

    names = [name for name, conf in LAUNCHERS.items() if getattr(conf, "_target_", "").endswith(f".{launcher}")]
    return [hint for name in names for hint in _hints(name, keys)]


def _hints(launcher: str, keys: Iterable[str]) -> Iterator[str]:
    from duckrow.core.nearest_word import nearest_word
    from duckrow.hydra.keys import LAUNCHERS

    every = [field.name for field in fields(LAUNCHERS[launcher])]
    known = sorted(name for name in every if not name.startswith("_"))
    for key in keys:
        if key not in every:
            near = nearest_word(key, known)
            what = f"Did you mean hydra.launcher.{near}?" if near else f"Choose from: {', '.join(known)}."
            yield f"{launcher} has no key '{key}'. {what}"
