"""The journal: what a dead host had begun, and what became of it."""

from __future__ import annotations

import fcntl
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.errors import StateError
from duckrow.engines.local.keeper import journal
from duckrow.engines.local.keeper.journal import JournalWriter, Record, parse, read_journal, remove_if_unkept
from duckrow.kernel.process import our_pid_space

FAILED = 1 << 8  # the wait status of exit code 1


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[JournalWriter]:
    made = JournalWriter(str(tmp_path))
    yield made
    try:
        os.close(made.fd)
    except OSError:
        pass  # the test has


def facts(record: Record) -> tuple[bool, int | None, int | None, bool]:
    return record.begun, record.pid, record.wait_status, record.never_began


UNKNOWN = (False, None, None, False)


def test_what_is_written_is_read(writer: JournalWriter) -> None:
    before = time.time(), time.clock_gettime(time.CLOCK_BOOTTIME)
    writer.begin([1, 2, 3, 4])
    writer.started(1, 4711)
    writer.started(2, 4712)
    assert writer.ended(2, FAILED)
    assert writer.never_began(3)
    read = read_journal(writer.path)
    assert read.exists
    assert facts(read.of(1)) == (True, 4711, None, False)
    assert facts(read.of(2)) == (True, 4712, FAILED, False)
    assert facts(read.of(3)) == (True, None, None, True)
    assert facts(read.of(4)) == (True, None, None, False)
    assert facts(read.of(5)) == UNKNOWN
    assert read.of(1).seen_boottime == pytest.approx(before[1], abs=5)
    assert read.of(2).ended_at == pytest.approx(before[0], abs=5)


def test_news_of_an_attempt_count_also_without_its_begin(writer: JournalWriter) -> None:
    writer.started(1, 4711)
    writer.ended(2, 0)
    writer.never_began(3)
    read = read_journal(writer.path)
    assert [facts(read.of(attempt)) for attempt in (1, 2, 3)] == [
        (True, 4711, None, False),
        (True, None, 0, False),
        (True, None, None, True),
    ]


def test_an_attempt_that_begins_anew_has_no_past(writer: JournalWriter) -> None:
    writer.begin([1])
    writer.never_began(1)
    writer.begin([1])
    assert facts(read_journal(writer.path).of(1)) == (True, None, None, False)


def test_nobody_else_may_read_it(writer: JournalWriter) -> None:
    assert os.stat(writer.path).st_mode & 0o777 == 0o600


def test_a_journal_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    read = read_journal(str(tmp_path / "none"))
    assert (read.exists, read.kept, read.records) == (False, False, {})


def test_a_journal_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"cannot be created: No such file or directory\. Nothing was started\."):
        JournalWriter(str(tmp_path / "none"))


def test_two_hosts_have_two_journals(tmp_path: Path) -> None:
    first, second = JournalWriter(str(tmp_path)), JournalWriter(str(tmp_path))
    assert first.name != second.name
    assert sorted(os.listdir(tmp_path)) == sorted([first.name, second.name])
    os.close(first.fd)
    os.close(second.fd)


# -- who keeps it ---------------------------------------------------------------------------------------------------


def test_a_journal_is_kept_while_its_writer_has_it_open(writer: JournalWriter) -> None:
    assert read_journal(writer.path).kept
    assert read_journal(writer.path).kept, "asking must not take the lock away"
    os.close(writer.fd)
    assert not read_journal(writer.path).kept


def test_a_journal_is_kept_until_the_last_who_shares_it_has_ended(writer: JournalWriter) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(writer.fd,)):
        os.close(writer.fd)
        assert read_journal(writer.path).kept
    assert not read_journal(writer.path).kept


def test_two_who_ask_at_once_do_not_take_each_other_for_its_keeper(writer: JournalWriter) -> None:
    os.close(writer.fd)
    with open(writer.path) as asks:
        fcntl.flock(asks, fcntl.LOCK_SH | fcntl.LOCK_NB)
        assert not read_journal(writer.path).kept


def test_a_journal_that_somebody_keeps_is_not_removed(writer: JournalWriter) -> None:
    remove_if_unkept(writer.path)
    assert read_journal(writer.path).exists
    os.close(writer.fd)
    remove_if_unkept(writer.path)
    assert not os.path.exists(writer.path)
    remove_if_unkept(writer.path)  # somebody else was quicker


def test_its_writer_may_remove_it_once_and_again(writer: JournalWriter) -> None:
    writer.remove()
    writer.remove()
    assert not os.path.exists(writer.path)


# -- what is cut off ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rest", ["P", "P 1", "P 1 47", "P 1 4711 10.", "E 1 256 17", "S", "S 1", "N 1"])
def test_a_line_cut_in_half_is_ignored(writer: JournalWriter, rest: str) -> None:
    writer.begin([1])
    with open(writer.path, "a") as file:
        file.write(rest)
    assert facts(read_journal(writer.path).of(1)) == (True, None, None, False)


@pytest.mark.parametrize("line", ["", "1", "P 1 4711", "P x 4711 1.0", "P 1 4711 1.0 9", "E 1 256", "X 1", "\xff"])
def test_a_line_that_makes_no_sense_is_left_out(line: str) -> None:
    journal = parse(f"S 1\n{line}\nS 2\nP 2 4712 1.0\n".encode("latin-1"))
    records = journal.records
    assert facts(records[1]) == (True, None, None, False)
    assert facts(records[2]) == (True, 4712, None, False)
    assert len(records) == 2
    assert not journal.whole, "it may have lost more than this line"


@given(st.binary(max_size=200))
def test_no_journal_is_so_damaged_that_it_cannot_be_read(data: bytes) -> None:
    assert all(isinstance(record, Record) for record in parse(data).records.values())


@contextmanager
def disk_with_room_for(size: int) -> Iterator[None]:
    """No file can grow beyond this size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("room", [0, 2, 5])
def test_on_a_full_disk_nothing_begins_and_nothing_is_left_in_half(writer: JournalWriter, room: int) -> None:
    writer.begin([1])
    written = Path(writer.path).read_bytes()
    with disk_with_room_for(len(written) + room):
        with pytest.raises(OSError, match=r"No space left|File too large"):
            writer.begin([2, 3, 4])
        writer.started(1, 4711)
        assert not writer.ended(1, FAILED)
        assert Path(writer.path).read_bytes() == written
    writer.started(1, 4711)
    assert writer.ended(1, FAILED)
    read = read_journal(writer.path)
    assert set(read.records) == {1}
    assert facts(read.of(1)) == (True, 4711, FAILED, False)


def test_the_keeper_knows_all_that_the_host_has_written_before_it_died(writer: JournalWriter) -> None:
    host = os.fork()
    if host == 0:
        writer.begin([1])
        writer.started(1, 4711)
        os._exit(0)
    os.waitpid(host, 0)
    assert facts(writer.read()[1]) == (True, 4711, None, False)
    assert writer.ended(1, 0)
    assert facts(read_journal(writer.path).of(1)) == (True, 4711, 0, False)


def test_the_file_has_the_process_of_an_attempt_with_the_next_line(writer: JournalWriter) -> None:
    writer.begin([1])
    writer.started(1, 4711)
    writer.begin([2])
    read = read_journal(writer.path)
    assert (facts(read.of(1)), facts(read.of(2))) == ((True, 4711, None, False), (True, None, None, False))


def test_the_file_has_the_process_of_an_attempt_without_another_line_when_asked(writer: JournalWriter) -> None:
    writer.begin([1])
    writer.started(1, 4711)
    writer.catch_up()
    writer.catch_up()
    assert facts(read_journal(writer.path).of(1)) == (True, 4711, None, False)
    assert Path(writer.path).read_bytes().count(b"P ") == 1


# -- damage ---------------------------------------------------------------------------------------------------------


def _replace(path: Path) -> None:
    path.unlink()
    path.write_bytes(b"S 9\n")


DAMAGE: dict[str, Callable[[Path], object]] = {
    "emptied": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "overwritten with more": lambda path: path.write_bytes(b"rubbish " * 100),
    "removed": lambda path: path.unlink(),
    "replaced": lambda path: _replace(path),
    "gone with its folder": lambda path: shutil.rmtree(path.parent),
}


@pytest.fixture
def in_folder(tmp_path: Path) -> Iterator[JournalWriter]:
    (tmp_path / "keepers").mkdir()
    made = JournalWriter(str(tmp_path / "keepers"))
    yield made
    os.close(made.fd)


@pytest.mark.parametrize("how", DAMAGE)
def test_the_next_line_mends_a_damaged_journal(in_folder: JournalWriter, how: str) -> None:
    in_folder.begin([1, 2])
    in_folder.started(1, 4711)
    DAMAGE[how](Path(in_folder.path))
    assert in_folder.ended(1, FAILED)
    read = read_journal(in_folder.path)
    assert facts(read.of(1)) == (True, 4711, FAILED, False)
    assert facts(read.of(2)) == (True, None, None, False)
    assert set(read.records) == {1, 2}
    assert read.kept
    assert read.whole


def test_what_was_overwritten_in_place_is_mended_when_asked(in_folder: JournalWriter) -> None:
    in_folder.begin([1])
    before = Path(in_folder.path).read_bytes()
    with open(in_folder.path, "r+b") as file:
        file.write(b"x" * len(before))
    in_folder.mend()
    assert Path(in_folder.path).read_bytes() == before


def test_a_journal_that_was_made_anew_is_handed_on(in_folder: JournalWriter) -> None:
    handed: list[int] = []
    in_folder.on_new_file = handed.append
    os.unlink(in_folder.path)
    in_folder.begin([1])
    assert handed == [in_folder.fd]
    assert os.path.samestat(os.fstat(in_folder.fd), os.stat(in_folder.path))


def test_a_journal_that_nobody_needs_any_more_is_not_made_anew(in_folder: JournalWriter) -> None:
    in_folder.begin([1])
    in_folder.remove()
    assert in_folder.read() == {}
    assert not os.path.exists(in_folder.path)


@pytest.mark.parametrize("how", ["emptied", "overwritten with more"])
def test_a_damaged_journal_does_not_say_that_something_never_began(in_folder: JournalWriter, how: str) -> None:
    in_folder.begin([1])
    assert read_journal(in_folder.path).whole
    DAMAGE[how](Path(in_folder.path))
    assert not read_journal(in_folder.path).whole


def test_a_journal_of_an_older_duckrow_is_read(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_text("S 1\nP 1 4711 12.34\nS 2\nE 1 256 1700000000.5\n")
    read = read_journal(str(path))
    assert facts(read.of(1)) == (True, 4711, FAILED, False)
    assert (read.whole, read.space, read.of(1).ended_boottime) == (True, None, 0.0)


def test_a_journal_says_where_its_pids_mean_something(writer: JournalWriter) -> None:
    assert read_journal(writer.path).space == our_pid_space()


# -- compaction -----------------------------------------------------------------------------------------------------


class Died(BaseException):
    """Stands for SIGKILL."""


def fill(writer: JournalWriter, attempts: int) -> None:
    for attempt in range(1, attempts + 1):
        writer.begin([attempt])
        writer.started(attempt, 1000 + attempt)


def test_a_journal_says_when_it_is_long_enough_to_be_compacted(
    writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "COMPACT_BYTES", 500)
    fill(writer, 3)
    assert not writer.is_long
    fill(writer, 100)
    assert writer.is_long


def test_compaction_keeps_just_the_attempts_that_live(writer: JournalWriter) -> None:
    fill(writer, 100)
    before = os.path.getsize(writer.path)
    writer.compact({7, 99})
    read = read_journal(writer.path)
    assert {attempt: facts(record) for attempt, record in read.records.items()} == {
        7: (True, 1007, None, False),
        99: (True, 1099, None, False),
    }
    assert os.path.getsize(writer.path) < before / 5
    assert read.kept


def test_a_compacted_journal_is_written_on(writer: JournalWriter) -> None:
    fill(writer, 100)
    writer.compact({7})
    writer.begin([101])
    writer.started(101, 1101)
    writer.ended(7, FAILED)
    read = read_journal(writer.path)
    assert set(read.records) == {7, 101}
    assert facts(read.of(7)) == (True, 1007, FAILED, False)
    assert facts(read.of(101)) == (True, 1101, None, False)


def test_with_nobody_alive_compaction_leaves_nothing(writer: JournalWriter) -> None:
    fill(writer, 100)
    writer.compact(set())
    assert read_journal(writer.path).records == {}


@pytest.mark.parametrize("live", [[], [7], [100], [7, 8, 100], [1, 50, 51, 52, 99]])
def test_a_death_amid_compaction_does_no_harm(
    writer: JournalWriter, monkeypatch: pytest.MonkeyPatch, live: list[int]
) -> None:
    fill(writer, 100)
    writer.catch_up()

    def die(*_: object) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", die)
        with pytest.raises(Died):
            writer.compact(live)
    read = read_journal(writer.path)
    assert len(read.records) > len(live), "old lines are still there"
    for attempt in live:
        assert facts(read.of(attempt)) == (True, 1000 + attempt, None, False)
    for attempt, record in read.records.items():
        assert 1 <= attempt <= 100
        assert facts(record) == (True, 1000 + attempt, None, False)
    os.close(writer.fd)
    assert not read_journal(writer.path).kept


# -- starters -------------------------------------------------------------------------------------------------------


def test_an_attempt_that_was_taken_back_is_not_begun(writer: JournalWriter) -> None:
    assert not writer.begin_unless(lambda: True, 1)
    assert writer.begin_unless(lambda: False, 2)
    assert list(read_journal(writer.path).records) == [2]
    assert read_journal(writer.path).of(2).by_starter


def test_what_was_written_is_news_once_and_in_turn(writer: JournalWriter) -> None:
    writer.begin_unless(lambda: False, 2)
    writer.begin_unless(lambda: False, 1)
    assert list(writer.news()) == [2, 1]
    assert not writer.has_news
    assert writer.news() == {}
    writer.started(1, 4711)
    writer.note_end(1, FAILED, journal.SPOKE)
    (record,) = writer.news().values()
    assert (record.by_starter, record.pid, record.wait_status, record.how) == (False, 4711, FAILED, journal.SPOKE)
    writer.begin([3])
    writer.skip_news()
    assert writer.news() == {}


def test_compaction_keeps_what_is_news(writer: JournalWriter) -> None:
    writer.begin_unless(lambda: False, 1)
    writer.begin_unless(lambda: False, 2)
    writer.news()
    writer.begin_unless(lambda: False, 3)
    writer.begin_unless(lambda: False, 4)
    writer.compact({2, 4})
    assert list(writer.news()) == [4]
    assert set(read_journal(writer.path).records) == {2, 4}


def test_an_end_that_a_starter_notes_is_in_the_file_with_the_next_line(writer: JournalWriter) -> None:
    writer.begin_unless(lambda: False, 1)
    writer.note_end(1, FAILED, journal.SILENT)
    assert read_journal(writer.path).of(1).wait_status is None
    assert writer.read()[1].wait_status == FAILED
    writer.begin_unless(lambda: False, 2)
    assert read_journal(writer.path).of(1).wait_status == FAILED


def test_the_journal_says_whether_starters_may_begin_attempts(writer: JournalWriter) -> None:
    assert not read_journal(writer.path).has_starters
    writer.share(lambda: None)
    writer.note_starter(4710)
    writer.note_starter(4711)
    writer.begin([1])
    writer.compact({1}, {4711})
    read = read_journal(writer.path)
    assert (read.has_starters, read.starters, set(read.records)) == (True, {4711}, {1})
    writer.shared_no_more()
    assert not read_journal(writer.path).has_starters


def test_a_starter_leaves_a_damaged_journal_to_its_host(writer: JournalWriter) -> None:
    writer.share(lambda: None)
    os.truncate(writer.path, 0)
    pid = os.fork()
    if pid == 0:
        writer.leave_repair()
        try:
            writer.begin_unless(lambda: False, 1)
        except OSError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert os.path.getsize(writer.path) == 0
    assert 1 not in writer.read()
    writer.begin([2])
    assert list(read_journal(writer.path).records) == [2]
