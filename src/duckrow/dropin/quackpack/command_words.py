"""The words of a command, split like in quackpack: at blanks, without a shell that would change them."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A word that begins with a quote continues to the same quote at the end of a word.
_WORD = re.compile(r"""(?P<quote>['"])(?P<quoted>.*?)(?P=quote)(?!\S)|\S+""", re.DOTALL)


def split_words(command: str) -> list[str]:
    """`t.py [1,2] 'two words'` is three words. Other quotes, such as in `{"a":1}`, are ordinary characters."""
    return [match[0] if match["quote"] is None else match["quoted"] for match in _WORD.finditer(command)]


def join_words(words: Sequence[str]) -> str:
    """A command with these words."""
    return " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    if split_words(word) == [word]:
        return word
    return f'"{word}"' if "'" in word else f"'{word}'"
