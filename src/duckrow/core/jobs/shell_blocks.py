"""Whether lines of shell are complete: an `if`, a loop, a `case` or `{` must be closed."""

from __future__ import annotations

import re

from duckrow.core.late_pattern import late_pattern

_TOKEN = late_pattern(
    r"""(?P<comment>(?<!\S)\#.*)
    | (?P<operator>;;|&&|\|\||[;&|()])
    | (?P<word>(?:\\.|'[^']*'?|"(?:\\.|[^"\\])*"?|[^\s;&|()'"\\]|\\$)+)""",
    re.VERBOSE,
)
_OPENING = frozenset({"if", "for", "while", "until", "case", "select", "{"})
_CLOSING = frozenset({"fi", "done", "esac", "}"})
_COMMAND_FOLLOWS = frozenset({"if", "while", "until", "then", "do", "else", "elif", "{", "!", "time"})
_GOES_ON = frozenset({"&&", "||", "|"})


class ShellBlocks:
    """Looks at one line after the other. An open quote ends with its line: it is probably a typo."""

    def __init__(self) -> None:
        self._depth = 0

    def is_open_after(self, line: str) -> bool:
        """Whether the next line belongs to the same command."""
        is_command = True  # whether the next word would be a command, and not an argument
        last = ""
        for match in _TOKEN.finditer(line):
            if match["comment"]:
                break
            last = match[0]
            if match["operator"]:
                is_command = True
            else:
                if is_command:
                    self._count(last)
                is_command = is_command and last in _COMMAND_FOLLOWS
        return self._depth > 0 or last in _GOES_ON

    def _count(self, word: str) -> None:
        if word in _OPENING:
            self._depth += 1
        elif word in _CLOSING:
            self._depth = max(self._depth - 1, 0)
