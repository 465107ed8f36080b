"""Pieces of a log: by bytes or by lines, from either end, never half a character."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from duckrow.api.logs.reading import MOST_BYTES, log_of, read_piece
from duckrow.core.errors import NotFoundError
from tests.api.quiet_queue import QuietQueue

TEXT = "one\ntwö\nthree\n"


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "job.log"
    path.write_text(TEXT)
    return str(path)


@pytest.mark.parametrize(
    ("begin", "count", "text", "at", "to"),
    [
        (0, 100, TEXT, 0, 15),
        (4, 3, "tw", 4, 6),  # the ö is left for the next piece
        (6, 3, "ö\n", 6, 9),
        (7, 8, "\nthree\n", 8, 15),  # begins in the middle of the ö
        (-6, 100, "three\n", 9, 15),
        (-100, 4, "one\n", 0, 4),
        (99, 10, "", 15, 15),
    ],
)
def test_a_piece_is_cut_between_characters(log: str, begin: int, count: int, text: str, at: int, to: int) -> None:
    assert read_piece(log, begin, count) == {"text": text, "from": at, "to": to, "size": 15}


@pytest.mark.parametrize(
    ("begin", "count", "text"),
    [
        (0, 6, "one\n"),
        (2, 100, "twö\nthree\n"),
        (4, 100, "twö\nthree\n"),  # a line begins right there
        (-8, 100, "three\n"),
        (10, 2, "hr"),  # a line that is longer than the piece
    ],
)
def test_a_piece_is_cut_between_lines_if_asked(log: str, begin: int, count: int, text: str) -> None:
    assert read_piece(log, begin, count, whole_lines=True)["text"] == text


def test_what_is_no_text_is_shown_as_such(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"a\xff\xc3")
    assert read_piece(str(tmp_path / "x"), 0, 10)["text"] == "a\ufffd\ufffd"


def test_a_piece_is_at_most_a_megabyte(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x" * (MOST_BYTES + 1))
    assert read_piece(str(tmp_path / "x"), 0, 2 * MOST_BYTES)["to"] == MOST_BYTES


@pytest.mark.parametrize("kind", ["nothing", "link", "pipe"])
def test_only_a_plain_file_is_read(tmp_path: Path, log: str, kind: str) -> None:
    path = tmp_path / "other.log"
    if kind == "link":
        path.symlink_to(log)
    elif kind == "pipe":
        os.mkfifo(path)
    assert read_piece(str(path), 0, 10) == {"text": "", "from": 0, "to": 0, "size": 0}


def test_the_log_is_that_of_the_attempt_that_was_asked_for_or_of_the_latest(queue: QuietQueue) -> None:
    (job,) = queue.add()
    assert log_of(queue.client, job) == ("", 0, False), "it has not begun"
    queue.start(job, log="/first")
    queue.end(job, "failed", 1)
    queue.start(job, log="/second")
    assert log_of(queue.client, job) == ("/second", 2, False)
    assert log_of(queue.client, job, 1) == ("/first", 1, True)
    with pytest.raises(NotFoundError, match=r"Job 1 has no attempt 3\."):
        log_of(queue.client, job, 3)


def test_a_job_that_never_began_has_ended_without_a_log(queue: QuietQueue) -> None:
    (job,) = queue.add()
    queue.write("UPDATE jobs SET state = 'done', outcome = 'skipped' WHERE id = ?", job)
    assert log_of(queue.client, job) == ("", 0, True)
