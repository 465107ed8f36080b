"""Puts values into shell text, each quoted for its place."""

from __future__ import annotations

import re
from collections.abc import Iterable

from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import shorten

HERE = "\0"  # marks where a value goes; no command can contain it

_SAFE = re.compile(r"(?!=)[A-Za-z0-9_@%+=:,./-]+")
_UNSAFE = re.compile(r"[^A-Za-z0-9_@%+=:,./-]")
_IN_BRACES = re.compile(r"\{[^ \t\n]*\Z")

# What matters to a shell, by the kind of place. `doubt`: shells differ there, or quotes mean something else.
_DOLLARS = r"""\$\{[^{}'"`\\$\0]*\}|\$\(\([^()'"`\\\0]*\)\)|(?P<doubt>\$\{|\$\(\("""
_ENDS = r"""|\$[$?!#@*-]|(?P<variable>\$[A-Za-z0-9_]+)|\$\(|\\[^\0]|\\?\0|["`]"""
_PLAIN = re.compile(
    rf"""\$'[^'\\\0]*'|{_DOLLARS}|\(\(|\$'|(?<!<)<<(?!<)|(?<=[)<>`])\#){_ENDS}|(?<![^ \t\n;&|(])\#"""
    r"""|(?<![^ \t\n;&|(])case(?=[ \t\n])|[()']"""
)
_DOUBLE = re.compile(rf"{_DOLLARS}){_ENDS}")
_SINGLE = re.compile(r"\0|['`]")
_COMMENT = re.compile(r"\0|\n")
_RULES = {"'": _SINGLE, '"': _DOUBLE, "#": _COMMENT}
_HARD_IN_BACKTICKS = ("#", "case", "\\\\", "\\`", "\\$", '\\"')
_OPENING = ("'", '"', "#", "(", "$(")
_CLOSED_BY = (("'", "'"), ('"', '"'), ("(", ")"), ("#", "\n"))


def fill(text: str, values: Iterable[tuple[str, str]]) -> str:
    """The text with each HERE replaced by the next value, given as (name, value)."""
    place = ShellReader()
    waiting = iter(values)
    parts: list[str] = []
    at = 0
    while token := place.rule.search(text, at):
        parts.append(text[at : token.start()])
        if token[0].endswith(HERE):
            place.in_braces = _IN_BRACES.search(text, 0, token.start()) is not None
            parts.append(place.quote(*next(waiting), backslash=len(token[0]) > 1))
        else:
            parts.append(token[0])
            place.pass_by(token)
        place.after_variable = bool(token.groupdict().get("variable")) and text[token.end() :].startswith(HERE)
        at = token.end()
    place.end()
    return "".join(parts) + text[at:]


class ShellReader:
    """The reader's position in a shell text: within which quotes, brackets and backticks."""

    def __init__(self) -> None:
        self.after_variable = False  # `$HOME{x}`: the value must not become part of the variable's name
        self.in_braces = False  # `{a,{x}}`: bash would read a comma in a bare value as its own
        self._around = [""]
        self._doubtful = False
        self._quoted: tuple[str, str] | None = None  # the first value that needed quotes

    @property
    def rule(self) -> re.Pattern[str]:
        return _RULES.get(self._around[-1], _PLAIN)

    def pass_by(self, token: re.Match[str]) -> None:
        mark, top = token[0], self._around[-1]
        self._doubtful |= bool(token.groupdict().get("doubt")) or self._is_hard(mark)
        if self._doubtful:
            return
        if mark == "`":
            self._pass_backtick()
        elif (top, mark) in _CLOSED_BY:
            self._around.pop()
        elif mark in _OPENING:
            self._around.append(mark[-1])

    def _is_hard(self, mark: str) -> bool:
        """Within backticks, and for `case` within brackets, a mark may mean something else."""
        if "`" not in self._around:
            return mark == "case" and "(" in self._around
        is_in_double_quotes = self._around[self._around.index("`") - 1] == '"'
        return mark in _HARD_IN_BACKTICKS or (mark == '"' and is_in_double_quotes)

    def _pass_backtick(self) -> None:
        """A backtick closes the one before it, whatever quotes are open; within '...' it is a plain character."""
        if "`" in self._around:
            self._doubtful = self._around[-1] != "`"
            del self._around[self._around.index("`") :]
        elif self._around[-1] != "'":
            self._around.append("`")

    def quote(self, name: str, value: str, backslash: bool = False) -> str:
        """The value for this place. `backslash`: one precedes it, and would spoil its first character."""
        if "\0" in value:
            raise UsageError(f"The value of {name} has a NUL byte in it, which no command can hold. Remove it.")
        if self._doubtful:
            return self._only_if_safe(name, value, backslash)
        if self._around[-1] == "#":
            return _UNSAFE.sub("_", value)
        if not _SAFE.fullmatch(value):
            self._quoted = self._quoted or (name, value)
        quoted = self._for_quotes(value, backslash)
        return re.sub(r"([\\`$])", r"\\\1", quoted) if "`" in self._around else quoted

    def _only_if_safe(self, name: str, value: str, backslash: bool) -> str:
        if _SAFE.fullmatch(value) and not backslash and not self.after_variable:
            return value
        raise UsageError(
            f"The value '{shorten(value)}' of {name} cannot be quoted at its place in the command (after <<,"
            " inside ${...}, $((...)) or nested backticks). Put it into a variable first:"
            f' X={{{name}}}; ... "$X".'
        )

    def _for_quotes(self, value: str, backslash: bool) -> str:
        if self._around[-1] == "'":
            return value.replace("'", "'\\''")
        if self._around[-1] == '"':
            before = ("\\\\" if backslash else "") + ('""' if self.after_variable else "")
            return before + re.sub(r'([\\"$`])', r"\\\1", value)
        must_be_quoted = backslash or self.after_variable or (self.in_braces and re.search(r",|\.\.", value))
        return value if _SAFE.fullmatch(value) and not must_be_quoted else "'" + value.replace("'", "'\\''") + "'"

    def end(self) -> None:
        """If quotes or brackets do not match up, the places before may have been misread."""
        around = [mark for mark in self._around if mark not in ("", "#")]
        if around and self._quoted and not self._doubtful:
            raise UsageError(
                f"The value '{shorten(self._quoted[1])}' of {self._quoted[0]} cannot be quoted: the command opens a"
                f" {around[-1]} and does not close it. Close it, or put a backslash before it."
            )
