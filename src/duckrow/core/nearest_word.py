"""Suggests the known word that an unknown one probably stands for."""

from __future__ import annotations

from collections.abc import Iterable


def nearest_word(word: str, known: Iterable[str]) -> str | None:
    """The one that has most letters in common with it, in the same order; case and `-` for `_` do not matter.

    For a word of two letters, one right letter is enough.
    """
    import difflib  # only if a word is wrong

    names = {_folded(name): name for name in known}
    close = difflib.get_close_matches(_folded(word), names, n=1, cutoff=0.5 if len(word) <= 2 else 0.6)
    return names[close[0]] if close else None


def _folded(word: str) -> str:
    return word.lower().replace("-", "_")
