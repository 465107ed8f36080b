"""The ends of logs, and logs as they grow."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.api.logs.error_groups import error_groups
from duckrow.api.queue.views import JobView
from duckrow.cli.views import log_tail
from duckrow.cli.views.log_tail import GrowingLines, GrowingLog, offset_of_last_lines
from duckrow.kernel import log_ends
from duckrow.kernel.log_ends import fold_progress, last_lines


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "job.log"


def append(log: Path, data: bytes) -> None:
    with open(log, "ab") as file:
        file.write(data)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("plain", "plain"),
        ("", ""),
        ("10%\r50%\r100%", "100%"),
        ("10%\r100%\r", "100%"),
        ("from windows\r", "from windows"),
        ("\r", ""),
    ],
)
def test_of_a_progress_bar_its_last_state_is_shown(line: str, shown: str) -> None:
    assert fold_progress(line) == shown


def test_the_last_lines_are_those_that_say_something(log: Path) -> None:
    log.write_bytes(b"one\ntwo\n\nthree\n  \nfour\n\n")
    assert last_lines(str(log), 2) == ["three", "four"]
    assert last_lines(str(log), 99) == ["one", "two", "three", "four"]


def test_the_last_line_needs_no_newline(log: Path) -> None:
    log.write_bytes(b"one\ntwo")
    assert last_lines(str(log), 1) == ["two"]


def test_the_end_of_a_huge_log_is_found_without_reading_it_all(log: Path) -> None:
    with open(log, "wb") as file:
        file.truncate(1 << 40)  # a hole: nobody has a terabyte of memory, or of disk
        file.seek(0, os.SEEK_END)
        file.write(b"\nlast but one\nlast\n")
    assert last_lines(str(log), 2) == ["last but one", "last"]


def test_the_last_lines_are_as_many_as_asked_for(log: Path) -> None:
    log.write_text("".join(f"line {number}\n" for number in range(20_000)))
    assert last_lines(str(log), 15_000) == [f"line {number}" for number in range(5_000, 20_000)]


def test_a_line_that_is_longer_than_a_look_is_whole(log: Path) -> None:
    log.write_bytes(b"first\n" + b"x" * 300_000 + b"\n")
    assert last_lines(str(log), 1) == ["x" * 300_000]
    assert last_lines(str(log), 2) == ["first", "x" * 300_000]


@given(st.lists(st.text("ab ö\r", max_size=5), max_size=30), st.integers(1, 12), st.integers(1, 40), st.booleans())
def test_how_much_is_read_at_a_time_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], count: int, chunk: int, blank: bool
) -> None:
    log = tmp_path_factory.mktemp("logs") / "job.log"
    log.write_bytes("".join(f"{text}\n" for text in texts).encode())
    lines = [fold_progress(text) for text in texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_ends, "FIRST_BYTES", chunk)
        assert last_lines(str(log), count, blank) == [line for line in lines if blank or line.strip()][-count:]


def test_blank_lines_count_on_demand(log: Path) -> None:
    log.write_bytes(b"one\n\n  \ntwo\n\n")
    assert last_lines(str(log), 3, blank=True) == ["  ", "two", ""]
    assert last_lines(str(log), 99, blank=True) == ["one", "", "  ", "two", ""]
    log.write_bytes(b"")
    assert last_lines(str(log), 3, blank=True) == []


def test_a_log_that_is_no_text_is_shown_as_far_as_it_is(log: Path) -> None:
    log.write_bytes(b"ok \xff\xfe end\n")
    assert last_lines(str(log), 1) == ["ok �� end"]


def test_the_last_lines_fold_progress_bars(log: Path) -> None:
    log.write_bytes(b"start\n 1%\r 50%\r100%\n")
    assert last_lines(str(log), 2) == ["start", "100%"]


def test_where_there_is_no_log_there_are_no_lines(log: Path) -> None:
    assert last_lines(str(log), 5) == []
    assert GrowingLines(str(log)).more() == []
    assert list(GrowingLog(str(log)).more()) == []


def test_lines_come_as_they_are_completed(log: Path) -> None:
    lines = GrowingLines(str(log))
    assert lines.more() == []
    append(log, b"one\ntw")
    assert lines.more() == ["one"]
    assert lines.more() == []
    append(log, b"o\nthree\n")
    assert lines.more() == ["two", "three"]


def test_a_line_without_an_end_comes_when_the_job_is_done(log: Path) -> None:
    lines = GrowingLines(str(log))
    append(log, b"one\ntwo")
    assert lines.more() == ["one"]
    assert lines.more(final=True) == ["two"]
    assert lines.more(final=True) == []


def test_a_character_that_is_cut_in_two_is_put_together(log: Path) -> None:
    lines = GrowingLines(str(log))
    append(log, "ö".encode()[:1])
    assert lines.more() == []
    append(log, "ö".encode()[1:] + b"\n")
    assert lines.more() == ["ö"]


def test_a_log_that_was_cut_is_followed_from_its_new_end(log: Path) -> None:
    lines = GrowingLines(str(log))
    append(log, b"a long first line\nand a second\n")
    assert len(lines.more()) == 2
    log.write_bytes(b"cut\n")
    assert lines.more() == []
    append(log, b"new\n")
    assert lines.more() == ["new"]


def test_blank_lines_are_part_of_what_was_printed(log: Path) -> None:
    append(log, b"\n\none\n")
    assert GrowingLines(str(log)).more() == ["", "", "one"]


def test_bytes_come_as_they_were_written(log: Path) -> None:
    data = bytes(range(256)) * 1000
    log.write_bytes(data)
    growing = GrowingLog(str(log))
    assert b"".join(growing.more()) == data
    assert b"".join(growing.more()) == b""
    append(log, b"more")
    assert b"".join(growing.more()) == b"more"


@given(st.lists(st.text("ab", max_size=5), max_size=20), st.integers(1, 12), st.integers(1, 40), st.booleans())
def test_a_log_can_be_followed_from_its_last_lines_on(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], count: int, chunk: int, ended: bool
) -> None:
    log = tmp_path_factory.mktemp("logs") / "job.log"
    log.write_text("".join(f"{text}\n" for text in texts) + ("" if ended else "rest"))
    lines = texts if ended else [*texts, "rest"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_tail, "_CHUNK_BYTES", chunk)
        offset = offset_of_last_lines(str(log), count)
        assert GrowingLines(str(log), offset).more(final=True) == lines[-count:]


def test_of_a_log_that_is_one_endless_progress_bar_only_the_end_is_read(log: Path) -> None:
    with open(log, "wb") as file:
        file.truncate(1 << 40)
        file.seek(0, os.SEEK_END)
        file.write(b"\r 99%\r100%")
    assert last_lines(str(log), 5) == ["100%"]
    assert (1 << 40) - offset_of_last_lines(str(log), 5) <= log_ends.MOST_BYTES


def test_a_long_progress_bar_is_folded_while_it_is_read(log: Path) -> None:
    log.write_bytes(b"begin\n" + b"".join(b"\r%6d" % number for number in range(50_000)) + b"\r\nend\n")
    assert list(GrowingLines(str(log)).more_bytes(final=True)) == [b"begin\n", b" 49999\n", b"end\n"]


def bytes_read_by(look: Callable[[], object]) -> int:
    def read_so_far() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    before = read_so_far()
    look()
    return read_so_far() - before


def memory_taken_by(look: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        look()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def consume(pieces: Iterable[bytes]) -> int:
    return sum(len(piece) for piece in pieces)


@pytest.fixture
def endless(log: Path) -> str:
    """A log of 2 GB in one line; it takes no place on the disk."""
    with open(log, "wb") as file:
        file.truncate(2 << 30)
    return str(log)


def test_a_summary_reads_little_of_a_line_of_gigabytes(endless: str) -> None:
    failed = SimpleNamespace(id=1, log=endless, detail="", outcome="failed", state="done", exit_code=1, signal=None)
    views = cast("list[JobView]", [failed] * 3)
    assert bytes_read_by(lambda: error_groups(views, 5)) < 3 * (2 << 20)
    assert memory_taken_by(lambda: error_groups(views, 5)) < 16 << 20
    assert all(len(line) <= log_ends.LINE_SHOWN for line in error_groups(views, 5)[0]["lines"])


def test_the_last_lines_of_a_line_of_gigabytes_take_little_memory(endless: str) -> None:
    assert bytes_read_by(lambda: last_lines(endless, 200)) < 3 * log_ends.MOST_BYTES
    assert memory_taken_by(lambda: last_lines(endless, 200)) < 5 * log_ends.MOST_BYTES


def test_a_long_line_is_printed_as_it_was_with_little_memory_and_each_byte_is_read_once(log: Path) -> None:
    line = b"x" * (8 << 20)
    log.write_bytes(b"begin\n" + line + b"\nend")
    assert b"".join(GrowingLines(str(log)).more_bytes(b"1: ", final=True)) == b"1: begin\n1: " + line + b"\n1: end\n"
    assert memory_taken_by(lambda: consume(GrowingLines(str(log)).more_bytes(final=True))) < 1 << 20
    assert bytes_read_by(lambda: consume(GrowingLines(str(log)).more_bytes(final=True))) < len(line) + (1 << 20)


def test_a_pipe_in_the_place_of_a_log_is_not_read(log: Path) -> None:
    os.mkfifo(log)
    assert GrowingLines(str(log)).more(final=True) == []
    assert offset_of_last_lines(str(log), 3) == 0
