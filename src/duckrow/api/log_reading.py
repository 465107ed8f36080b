"""Pieces of the log of an attempt: read, searched and followed without ever holding all of it."""

from __future__ import annotations

import codecs
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

from duckrow.api.client import Client
from duckrow.api.job_details import check_job
from duckrow.core.errors import NotFoundError, UsageError

MOST_BYTES = 1 << 20  # of one piece
_CHUNK = 1 << 20
_LINE_SHOWN = 500
_MOST_HITS = 1000
_SEARCH_S = 2.0  # of one look; `next` says where to go on


class AttemptLog(NamedTuple):
    path: str  # empty: it has printed nothing; from the database alone, never from a request
    number: int
    ended: bool


def log_of(client: Client, job_id: int, number: int | None = None) -> AttemptLog:
    """The log of this attempt, or of the latest."""
    check_job(client, job_id)
    made = client.story(job_id)["attempts_made"]
    if not made and number is None:
        return AttemptLog("", 0, ended=client.job(job_id).state == "done")
    for attempt in made:
        if attempt["number"] == (number or made[-1]["number"]):
            return AttemptLog(attempt["log"], attempt["number"], ended=attempt["ended_at"] is not None)
    raise NotFoundError(f"Job {job_id} has no attempt {number}.")


@contextmanager
def opened(path: str) -> Iterator[tuple[IO[bytes], int] | None]:
    """The log and its size; None where there is none.

    Only a plain file at that very place: a job may have put a link or a pipe where its log was.
    """
    if not path:
        yield None
        return
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    with open(fd, "rb", buffering=0) as file:
        facts = os.fstat(file.fileno())
        yield (file, facts.st_size) if stat.S_ISREG(facts.st_mode) else None


def read_piece(path: str, begin: int, count: int) -> dict[str, Any]:
    """`count` bytes from `begin`, a negative one counted from the end; cut between characters."""
    with opened(path) as log:
        if log is None:
            return {"text": "", "from": 0, "to": 0, "size": 0}
        file, size = log
        begin = max(size + begin, 0) if begin < 0 else min(begin, size)
        file.seek(begin)
        data = _read(file, min(count, MOST_BYTES))
    skipped = _bytes_of_cut_character(data) if begin else 0
    text, used = _decoded(data[skipped:], is_end=begin + len(data) >= size)
    return {"text": text, "from": begin + skipped, "to": begin + skipped + used, "size": size}


def _read(file: IO[bytes], count: int) -> bytes:
    pieces = []
    while count and (piece := file.read(count)):
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def _bytes_of_cut_character(data: bytes) -> int:
    """How many bytes at the beginning go on a character that began before."""
    skipped = 0
    while skipped < min(3, len(data)) and data[skipped] & 0xC0 == 0x80:
        skipped += 1
    return skipped


def _decoded(data: bytes, is_end: bool) -> tuple[str, int]:
    """The text, and how many bytes are in it: the beginning of a last character is left for the next piece."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data)
    pending = len(decoder.getstate()[0])
    if pending and (is_end or pending == len(data)):
        return text + "\ufffd", len(data)
    return text, len(data) - pending


class _Hits:
    def __init__(self, limit: int) -> None:
        self._limit = min(max(limit, 1), _MOST_HITS)
        self.found: list[dict[str, Any]] = []

    @property
    def full(self) -> bool:
        return len(self.found) >= self._limit

    def add(self, at: int, line: bytes) -> None:
        self.found.append({"at": at, "line": line.decode("utf-8", "replace")[:_LINE_SHOWN]})


def search_forwards(path: str, text: str, begin: int, limit: int) -> dict[str, Any]:
    """The lines from `begin` on that have this text, capital letters or not; `next`: where to go on."""
    wanted = _needle(text)
    hits = _Hits(limit)
    deadline = time.monotonic() + _SEARCH_S
    with opened(path) as log:
        if log is None:
            return {"hits": [], "next": None, "complete": True}
        file, size = log
        at = max(begin, 0)
        while at < size:
            lines_at, data = _whole_lines(file, at, size)
            for place, line in _matching(data, wanted):
                hits.add(lines_at + place, line)
                if hits.full:
                    return {"hits": hits.found, "next": lines_at + place + len(line) + 1, "complete": False}
            at = lines_at + len(data)
            if time.monotonic() > deadline:
                return {"hits": hits.found, "next": at, "complete": at >= size}
    return {"hits": hits.found, "next": None, "complete": True}


def search_backwards(path: str, text: str, before: int, limit: int) -> dict[str, Any]:
    """The same from `before` towards the beginning, the last line first."""
    wanted = _needle(text)
    hits = _Hits(limit)
    deadline = time.monotonic() + _SEARCH_S
    with opened(path) as log:
        if log is None:
            return {"hits": [], "next": None, "complete": True}
        file, size = log
        end = min(before, size)
        while end > 0:
            begin = _line_begin(file, max(end - _CHUNK, 0), end)
            file.seek(begin)
            for place, line in reversed(list(_matching(_read(file, end - begin), wanted))):
                hits.add(begin + place, line)
                if hits.full:
                    return {"hits": hits.found, "next": begin + place, "complete": begin + place == 0}
            end = begin
            if time.monotonic() > deadline:
                return {"hits": hits.found, "next": end, "complete": end == 0}
    return {"hits": hits.found, "next": None, "complete": True}


def _needle(text: str) -> bytes:
    if not text:
        raise UsageError("There is no text to search for.")
    return text.lower().encode("utf-8", "replace")


def _whole_lines(file: IO[bytes], at: int, size: int) -> tuple[int, bytes]:
    """A chunk from there, up to the end of its last line; a line longer than a chunk is cut."""
    file.seek(at)
    data = _read(file, _CHUNK)
    cut = data.rfind(b"\n") + 1
    return at, data if at + len(data) >= size or not cut else data[:cut]


def _line_begin(file: IO[bytes], at: int, end: int) -> int:
    """Where the first line begins that begins behind `at`; `at` itself in a line that is longer than that."""
    if at == 0:
        return 0
    file.seek(at)
    newline = _read(file, end - at).find(b"\n")
    return at + newline + 1 if 0 <= newline < end - at - 1 else at


def _matching(data: bytes, wanted: bytes) -> Iterator[tuple[int, bytes]]:
    """(where it begins, the line) of each line with this text. Lines without are passed over in one search."""
    lowered = data.lower()
    at = lowered.find(wanted)
    while at >= 0:
        begin = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        yield begin, data[begin:end]
        at = lowered.find(wanted, end)
