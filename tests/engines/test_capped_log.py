"""A log that keeps its beginning and its end."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.engines.local.capped_log import CappedLog

MARK = re.compile(rb"\n\[duckrow: about (\d+) bytes cut here by --max-log\]\n")
STREAM = b"".join(b"%d\n" % number for number in range(40_000))  # no two places of it look the same


def written(path: Path, cap: int, *pieces: bytes) -> bytes:
    log = CappedLog(str(path), cap)
    for piece in pieces:
        log.write(piece)
        assert path.stat().st_size <= max(cap, 4096)
    log.close()
    return path.read_bytes()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "job.log"


def test_a_log_within_its_cap_is_left_as_it_is(log: Path) -> None:
    assert written(log, 5000, STREAM[:3000], STREAM[3000:5000]) == STREAM[:5000]


def test_of_a_longer_log_the_head_and_the_tail_are_kept(log: Path) -> None:
    kept = written(log, 8000, *(STREAM[at : at + 100] for at in range(0, 50_000, 100)))
    head, cut, tail = MARK.split(kept)
    assert head == STREAM[:4000]
    assert len(tail) >= 2000
    assert tail == STREAM[50_000 - len(tail) : 50_000]
    assert int(cut) == pytest.approx(50_000 - len(head) - len(tail), rel=0.1)


def test_the_mark_says_how_much_is_missing(log: Path) -> None:
    head, cut, tail = MARK.split(written(log, 8000, STREAM[:50_000]))
    assert (head, tail) == (STREAM[:4000], STREAM[48_000:50_000])
    assert int(cut) == 44_000


def test_the_first_byte_too_many_cuts(log: Path) -> None:
    assert written(log, 8000, STREAM[:8000]) == STREAM[:8000]
    log.unlink()
    assert len(MARK.findall(written(log, 8000, STREAM[:8000], b"!"))) == 1


def test_a_cap_too_small_to_be_of_use_is_raised(log: Path) -> None:
    assert written(log, 1, STREAM[:4096]) == STREAM[:4096]


def test_the_log_of_a_further_attempt_goes_on_where_the_last_one_ended(log: Path) -> None:
    written(log, 8000, STREAM[:3000])
    assert written(log, 8000, STREAM[3000:6000]) == STREAM[:6000]
    head, _, tail = MARK.split(written(log, 8000, STREAM[6000:20_000]))
    assert (head, tail) == (STREAM[:4000], STREAM[18_000:20_000])


def test_a_file_that_is_too_long_already_is_cut_too(log: Path) -> None:
    log.write_bytes(STREAM[:30_000])
    head, _, tail = MARK.split(written(log, 8000, STREAM[30_000:30_010]))
    assert (head, tail) == (STREAM[:4000], STREAM[28_010:30_010])


def test_nobody_else_may_read_it(log: Path) -> None:
    written(log, 8000, b"secret")
    assert log.stat().st_mode & 0o777 == 0o600


_numbers = count()


@given(
    st.integers(1, 10_000),
    st.lists(st.one_of(st.integers(0, 300), st.integers(0, 6000)), min_size=1, max_size=25),
)
def test_whatever_is_written_the_cap_holds_and_there_is_one_mark(
    tmp_path_factory: pytest.TempPathFactory, cap: int, lengths: list[int]
) -> None:
    log = tmp_path_factory.getbasetemp() / f"capped-{next(_numbers)}.log"
    ends = [sum(lengths[: number + 1]) for number in range(len(lengths))]
    total, cap_bytes = ends[-1], max(cap, 4096)
    pieces = [STREAM[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    kept = written(log, cap, *pieces)  # which looks at the size after each
    log.unlink()
    if total <= cap_bytes:
        assert kept == STREAM[:total]
        return
    head, cut, tail = MARK.split(kept)
    assert head == STREAM[: cap_bytes // 2]
    assert len(tail) >= cap_bytes // 4
    assert tail == STREAM[total - len(tail) : total]
    assert int(cut) >= total - len(head) - len(tail)
