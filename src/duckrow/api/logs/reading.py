"""Reads parts of a log without loading all of it."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from duckrow.api.client import Client
from duckrow.api.queue.job_details import check_job
from duckrow.api.queue.job_story import story_of
from duckrow.core.errors import NotFoundError
from duckrow.core.named_tuple import NamedTuple
from duckrow.kernel.plain_files import open_plain

MOST_BYTES = 1 << 20  # in one piece


class AttemptLog(NamedTuple):
    path: str  # empty: it has printed nothing; always from the database, never from a request
    number: int
    ended: bool


def log_of(client: Client, job_id: int, number: int | None = None) -> AttemptLog:
    """The log of this attempt, or of the latest."""
    check_job(client, job_id)
    made = story_of(client, job_id)["attempts_made"]
    if not made and number is None:
        return AttemptLog("", 0, ended=client.job(job_id).state == "done")
    for attempt in made:
        if attempt["number"] == (number or made[-1]["number"]):
            return AttemptLog(attempt["log"], attempt["number"], ended=attempt["ended_at"] is not None)
    raise NotFoundError(f"Job {job_id} has no attempt {number}.")


@contextmanager
def opened(path: str) -> Iterator[tuple[IO[bytes], int] | None]:
    """The log and its size; None if there is none.

    Only a plain file counts: a job may have put a link or a pipe in place of its log.
    """
    try:
        file = open_plain(path, follow=False)
    except OSError:
        yield None
        return
    with file:
        yield file, os.fstat(file.fileno()).st_size


def read_piece(path: str, begin: int, count: int, whole_lines: bool = False) -> dict[str, Any]:
    """`count` bytes from `begin`, which counts from the end if negative; cut between characters, or between lines."""
    with opened(path) as log:
        if log is None:
            return {"text": "", "from": 0, "to": 0, "size": 0}
        file, size = log
        begin = max(size + begin, 0) if begin < 0 else min(begin, size)
        file.seek(begin)
        data = read_bytes(file, min(count, MOST_BYTES))
        if whole_lines:
            begin, data = _whole_lines(file, begin, data, size)
    skipped = _bytes_of_cut_character(data) if begin else 0
    text, used = _decoded(data[skipped:], is_end=begin + len(data) >= size)
    return {"text": text, "from": begin + skipped, "to": begin + skipped + used, "size": size}


def read_bytes(file: IO[bytes], count: int) -> bytes:
    pieces = []
    while count and (piece := file.read(count)):
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def _whole_lines(file: IO[bytes], begin: int, data: bytes, size: int) -> tuple[int, bytes]:
    """Without the partial lines at both ends. If one line is longer than the piece, the part that is here."""
    end = data.rfind(b"\n") + 1
    if begin + len(data) < size and end:
        data = data[:end]
    if begin:
        file.seek(begin - 1)
        cut = 0 if file.read(1) == b"\n" else data.find(b"\n") + 1
        if cut < len(data):
            begin, data = begin + cut, data[cut:]
    return begin, data


def _bytes_of_cut_character(data: bytes) -> int:
    """How many bytes at the beginning belong to a character that began before."""
    skipped = 0
    while skipped < min(3, len(data)) and data[skipped] & 0xC0 == 0x80:
        skipped += 1
    return skipped


def _decoded(data: bytes, is_end: bool) -> tuple[str, int]:
    """The text, and its bytes. An incomplete last character is left for the next piece."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data)
    pending = len(decoder.getstate()[0])
    if pending and (is_end or pending == len(data)):
        return text + "\ufffd", len(data)
    return text, len(data) - pending
