"""A command with placeholders: puts the values of a point into it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import shorten
from duckrow.core.nearest_word import nearest_word
from duckrow.core.sweeps.points import plain_value, text_of
from duckrow.core.sweeps.quoting import HERE, fill

_NAME = r"[^\W\d][\w.-]*"
_PIECE = re.compile(
    rf"\{{(?P<literal>\{{{_NAME}(?:![rsa])?(?::[^{{}}]*)?\}})\}}"
    rf"|(?P<outer>\{{\{{)?(?<!\$)\{{(?P<name>{_NAME})(?:!(?P<conversion>[rsa]))?(?::(?P<spec>[^{{}}]*))?\}}"
    r"(?(outer)\}\})"
)
# Python's format specs, and those of them that leave a text as it was typed.
_SPEC = re.compile(r"(?:.?[<>=^])?[-+ ]?#?0?\d*[,_]?(?:\.\d+)?[a-zA-Z%]?", re.DOTALL)
_SPEC_OF_TEXT = re.compile(r"(?:.?[<>^])?(?:[1-9]\d*)?|.*s", re.DOTALL)


def render(pattern: str, point: Mapping[str, Any], quoted: bool = True) -> str:
    """The command for a point. `{{lr}}` is the text `{lr}`; `${lr}` and all other braces belong to the shell.

    Each value is quoted for its place: outside quotes, within '...' or within "...".
    """
    if HERE in pattern:
        raise UsageError("The command has a NUL byte in it, which no shell can run. Remove it.")
    values: list[tuple[str, str]] = []

    def put(piece: re.Match[str]) -> str:
        if piece["literal"]:
            return piece["literal"]
        if not _is_placeholder(piece, point):
            return piece[0]
        values.append((piece["name"], _formatted(point[piece["name"]], piece)))
        return f"{{{HERE}}}" if piece["outer"] else HERE

    text = _PIECE.sub(put, pattern)
    if quoted:
        return fill(text, values)
    waiting = iter(values)
    return re.sub(HERE, lambda _: next(waiting)[1], text)


def placeholders(pattern: str) -> list[str]:
    """The names in a command that may be parameters, each once, in order."""
    found = (piece["name"] for piece in _PIECE.finditer(pattern) if piece["name"] and _looks_like_one(piece))
    return list(dict.fromkeys(found))


def _is_placeholder(piece: re.Match[str], point: Mapping[str, Any]) -> bool:
    name = piece["name"]
    if name in point:
        return True
    near = nearest_word(name, point)
    if not _looks_like_one(piece) or not (near or name.isidentifier()):
        return False
    hint = f"Did you mean {{{near}}}?" if near else f"The parameters are: {', '.join(point) or 'none'}."
    raise UsageError(
        f"The command has {{{name}}}, but no parameter is called {name}. {hint} For the text {{{name}}} itself, write"
        f" {{{{{name}}}}}."
    )


def _looks_like_one(piece: re.Match[str]) -> bool:
    """Not `{a..z}`, which belongs to bash, nor `{key: value}`."""
    return ".." not in piece["name"] and _SPEC.fullmatch(piece["spec"] or "") is not None


def _formatted(value: Any, piece: re.Match[str]) -> str:
    spec = piece["spec"] or ""
    if piece["conversion"]:
        value = {"r": repr, "s": text_of, "a": ascii}[piece["conversion"]](value)
    elif isinstance(value, str) and not _SPEC_OF_TEXT.fullmatch(spec):
        value = _number(value)
    elif isinstance(value, bool) and _SPEC_OF_TEXT.fullmatch(spec):
        value = str(value)
    for each in (value, text_of(value)) if spec else ():
        try:
            return format(each, spec)
        except (ValueError, TypeError):
            continue
    if spec:
        raise UsageError(
            f"The value '{shorten(text_of(value))}' of {piece['name']} cannot be written as {piece[0]}. Write"
            f" {{{piece['name']}}} for the value as it is, or {{{piece[0]}}} for the text {piece[0]} itself."
        )
    return text_of(value)


def _number(text: str) -> Any:
    """The text as a number, including those that plain_value leaves alone, such as `007` and `nan`."""
    number = plain_value(text)
    for read in (int, float):
        try:
            return read(text) if number == text else number
        except ValueError:
            continue
    return text


def unused_note(names: list[str]) -> str:
    """Says which parameters the command does not use."""
    are, them = ("is", "it") if len(names) == 1 else ("are", "them")
    return f"{', '.join(names)} {are} not in the command. Runs find {them} only in their params.json."
