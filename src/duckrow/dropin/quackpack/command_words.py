"""The words of a command, as quackpack took them apart: at blanks, with no shell that would change any of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A word that begins with a quote goes on to the same quote at the end of a word.
_WORD = re.compile(r"""(?P<quote>['"])(?P<quoted>.*?)(?P=quote)(?!\S)|\S+""", re.DOTALL)


def split_words(command: str) -> list[str]:
    """`t.py [1,2] 'two words'` is three. Other quotes, such as those of `{"a":1}`, are characters like any other."""
    return [match[0] if match["quote"] is None else match["quoted"] for match in _WORD.finditer(command)]


def join_words(words: Sequence[str]) -> str:
    """A command of which these are the words."""
    return " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    if split_words(word) == [word]:
        return word
    return f'"{word}"' if "'" in word else f"'{word}'"
