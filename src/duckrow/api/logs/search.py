"""Finds a text in a log of any size, forwards or backwards, for a limited time per call."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import IO, Any

from duckrow.api.logs.reading import opened, read_bytes
from duckrow.core.errors import UsageError

_CHUNK = 1 << 20
_LINE_SHOWN = 500
_MOST_HITS = 1000
_SEARCH_S = 2.0  # per call; `next` says where to continue


def search_forwards(path: str, text: str, begin: int, limit: int) -> dict[str, Any]:
    """The lines from `begin` on that contain this text, ignoring case; `next`: where to continue."""
    return _search(path, text, max(begin, 0), limit, backwards=False)


def search_backwards(path: str, text: str, before: int, limit: int) -> dict[str, Any]:
    """The same from `before` towards the beginning, last line first."""
    return _search(path, text, before, limit, backwards=True)


def _search(path: str, text: str, start: int, limit: int, backwards: bool) -> dict[str, Any]:
    wanted = _needle(text)
    hits: list[dict[str, Any]] = []
    deadline = time.monotonic() + _SEARCH_S
    with opened(path) as log:
        if log is None:
            return {"hits": [], "next": None, "complete": True}
        file, size = log
        end = 0 if backwards else size
        for at, data in _chunks_before(file, min(start, size)) if backwards else _chunks_from(file, start, size):
            found = list(_matching(data, wanted))
            for place, line in reversed(found) if backwards else found:
                hits.append({"at": at + place, "line": line.decode("utf-8", "replace")[:_LINE_SHOWN]})
                if len(hits) >= min(max(limit, 1), _MOST_HITS):
                    go_on = at + place if backwards else at + place + len(line) + 1
                    return {"hits": hits, "next": go_on, "complete": backwards and go_on == end}
            go_on = at if backwards else at + len(data)
            if time.monotonic() > deadline:
                return {"hits": hits, "next": go_on, "complete": go_on == end}
    return {"hits": hits, "next": None, "complete": True}


def _chunks_from(file: IO[bytes], at: int, size: int) -> Iterator[tuple[int, bytes]]:
    """(where it begins, whole lines), up to the end; a line longer than a chunk is cut."""
    while at < size:
        file.seek(at)
        data = read_bytes(file, _CHUNK)
        if not data:
            return  # it was truncated meanwhile
        whole = data.rfind(b"\n") + 1
        data = data if at + len(data) >= size or not whole else data[:whole]
        yield at, data
        at += len(data)


def _chunks_before(file: IO[bytes], end: int) -> Iterator[tuple[int, bytes]]:
    """The same towards the beginning, last chunk first."""
    while end > 0:
        begin = _line_begin(file, max(end - _CHUNK, 0), end)
        file.seek(begin)
        yield begin, read_bytes(file, end - begin)
        end = begin


def _needle(text: str) -> bytes:
    if not text:
        raise UsageError("There is no text to search for.")
    return text.lower().encode("utf-8", "replace")


def _line_begin(file: IO[bytes], at: int, end: int) -> int:
    """Where the first line after `at` begins; `at` itself if no line begins before `end`."""
    if at == 0:
        return 0
    file.seek(at)
    newline = read_bytes(file, end - at).find(b"\n")
    return at + newline + 1 if 0 <= newline < end - at - 1 else at


def _matching(data: bytes, wanted: bytes) -> Iterator[tuple[int, bytes]]:
    """(where it begins, the line) of each line with this text. One search skips all lines without it."""
    lowered = data.lower()
    at = lowered.find(wanted)
    while at >= 0:
        begin = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        yield begin, data[begin:end]
        at = lowered.find(wanted, end)
