"""Locks on GPUs, which keep the duckrows of two users from the same free memory."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from duckrow.devices.locks import lock_file
from duckrow.devices.locks.gpu_locks import GpuLocks
from duckrow.kernel import shared_folder
from duckrow.kernel.shared_folder import SharedFolder, fault_of
from tests.conftest import DEADLINE_S
from tests.other_users import NOBODY, needs_other_users, python_as

NOW = 1000.0
"""Seconds on the monotonic clock."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As /dev/shm is: everybody's, and sticky."""
    made = tmp_path / "locks"
    made.mkdir()
    made.chmod(0o1777)
    return made


@pytest.fixture
def locks_of(folder: Path) -> Callable[[str], GpuLocks]:
    """The locks of one who books in this database."""
    return lambda database: GpuLocks(database, lambda: SharedFolder(str(folder), fault_of(str(folder))))


def left(folder: Path) -> list[str]:
    return sorted(name.split(",")[1] for name in os.listdir(folder))


def leave(folder: Path, gpu: str = "0", since: float = NOW, uid: int = NOBODY, database: str = "x") -> Path:
    """A lock of another user."""
    path = Path(lock_file.make(str(folder), gpu, database, since).path)
    os.chown(path, uid, uid)
    return path


Locks = Callable[[str], GpuLocks]


def test_what_one_has_another_cannot_take(folder: Path, locks_of: Locks) -> None:
    ours, theirs = locks_of("a"), locks_of("b")
    assert ours.take(["GPU-1", "GPU-2"], NOW) == {}
    assert theirs.take(["GPU-1", "GPU-3"], NOW) == {"GPU-1": os.geteuid()}
    assert (ours.held, theirs.held) == ({"GPU-1", "GPU-2"}, {"GPU-3"})
    ours.release(["GPU-1"])
    assert theirs.take(["GPU-1"], NOW) == {}
    assert left(folder) == ["GPU-1", "GPU-2", "GPU-3"]


def test_those_who_book_in_one_database_do_not_wait_for_each_other(locks_of: Locks) -> None:
    daemon, run = locks_of("a"), locks_of("a")
    assert daemon.take(["0"], NOW) == {}
    assert run.take(["0"], NOW) == {}


RACER = """
import os, sys, time
from duckrow.devices.locks.gpu_locks import GpuLocks
from duckrow.kernel.shared_folder import SharedFolder
folder, who, until = sys.argv[1], sys.argv[2], time.monotonic() + 1
locks, won = GpuLocks(who, lambda: SharedFolder(folder, "")), 0
while time.monotonic() < until or not won:
    if not locks.take(["0"], time.monotonic()):
        os.close(os.open(folder + "/inside", os.O_CREAT | os.O_EXCL))  # fails if another one is inside
        os.unlink(folder + "/inside")
        won += 1
    locks.release(["0"])
print(won)
"""


def test_of_those_who_come_at_once_never_do_two_go_on(folder: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(folder), who], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for who in "abc"
    ]
    for racer in racers:
        said, errors = racer.communicate(timeout=DEADLINE_S)
        assert int(said or 0) > 0, errors.decode()


# -- other users ----------------------------------------------------------------------------------------------------


@needs_other_users
def test_another_user_is_refused_and_told_whose_it_is(folder: Path, locks_of: Locks) -> None:
    locks_of("a").take(["0"], time.monotonic())
    code = (
        "import sys, time; from duckrow.devices.locks.gpu_locks import GpuLocks; "
        "from duckrow.kernel.shared_folder import SharedFolder, fault_of; "
        "locks = GpuLocks('b', lambda: SharedFolder(sys.argv[1], fault_of(sys.argv[1]))); "
        "print(locks.fault, locks.take(['0', '1'], time.monotonic()), locks.held)"
    )
    assert python_as(NOBODY, code, str(folder)) == "{'0': 0} {'1'}"


@needs_other_users
def test_nobody_can_remove_or_move_the_lock_of_another(folder: Path, locks_of: Locks) -> None:
    locks_of("a").take(["0"], NOW)
    attack = (
        "import os, sys\n"
        "os.chdir(sys.argv[1])\n"
        "for act in (os.unlink, lambda name: os.rename(name, 'away'), lambda name: open(name, 'r+')):\n"
        "    for name in os.listdir():\n"
        "        try:\n            act(name)\n            print('done')\n"
        "        except PermissionError:\n            pass\n"
    )
    assert python_as(NOBODY, attack, str(folder)) == ""
    assert left(folder) == ["0"]


@needs_other_users
def test_a_lock_whose_name_says_ours_is_its_owners_all_the_same(folder: Path, locks_of: Locks) -> None:
    leave(folder, database="a")
    assert locks_of("a").take(["0"], NOW) == {"0": NOBODY}


@needs_other_users
def test_a_folder_of_somebody_else_is_not_used(folder: Path, locks_of: Locks) -> None:
    os.chown(folder, NOBODY, NOBODY)
    leave(folder)
    ours = locks_of("a")
    assert ours.take(["0"], NOW) == {}
    assert ours.held == {"0"}, "as if there were nobody to agree with"
    assert ours.fault == f"{folder} belongs to nobody, who could remove what others leave there"
    assert left(folder) == ["0"], "nothing of ours"


# -- the folder -----------------------------------------------------------------------------------------------------


def test_a_folder_in_which_others_could_remove_our_locks_is_not_used(folder: Path) -> None:
    assert fault_of(str(folder)) == ""
    folder.chmod(0o777)
    assert "no sticky bit" in fault_of(str(folder))
    folder.chmod(0o755)
    assert fault_of(str(folder)) == "", "it is ours alone"


def test_only_a_folder_will_do(folder: Path) -> None:
    (folder / "link").symlink_to(folder)
    (folder / "file").touch()
    assert fault_of(str(folder / "link")) == "is a symbolic link"
    assert fault_of(str(folder / "file")) == "is not a folder"
    assert fault_of(str(folder / "missing")) == "cannot be read (No such file or directory)"


def test_the_next_folder_is_used_where_the_first_cannot_be(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(shared_folder.VARIABLE, raising=False)
    monkeypatch.setattr(shared_folder, "_CANDIDATES", (str(folder / "missing"), str(folder)))
    assert shared_folder.shared_folder() == SharedFolder(str(folder), "")
    monkeypatch.setattr(shared_folder, "_CANDIDATES", (str(folder / "missing"), str(folder / "missing too")))
    assert shared_folder.shared_folder().path == str(folder / "missing")
    assert shared_folder.shared_folder().fault


def test_the_folder_that_is_named_is_made_for_everybody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(shared_folder.VARIABLE, str(folder / "ours"))
    assert shared_folder.shared_folder().fault, "who only looks makes nothing"
    assert shared_folder.make_shared_folder() == SharedFolder(str(folder / "ours"), "")
    assert (folder / "ours").stat().st_mode & 0o7777 == 0o1777


def test_a_folder_that_goes_away_keeps_nobody_from_anything(folder: Path) -> None:
    locks = GpuLocks("a", lambda: SharedFolder(str(folder / "gone"), ""))
    assert locks.take(["0"], NOW) == {}
    assert "(No such file or directory)" in locks.fault
    locks.reserve(["0"], NOW + 1)
    locks.release(["0"])
    assert locks.held == set()


@needs_other_users
def test_who_cannot_leave_a_lock_heeds_those_of_others(
    folder: Path, locks_of: Locks, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    leave(folder)
    monkeypatch.setattr(lock_file, "make", refuse)
    ours = locks_of("a")
    assert ours.take(["0", "1"], NOW) == {"0": NOBODY}
    assert ours.fault == f"{folder} cannot be written (No space left on device)"


# -- who tidies up ----------------------------------------------------------------------------------------------------


def test_a_lock_that_was_removed_while_held_is_made_again(folder: Path, locks_of: Locks) -> None:
    ours, theirs = locks_of("a"), locks_of("b")
    ours.take(["0"], NOW)
    ours.reserve(["0"], NOW)
    clear(folder)
    assert ours.take(["0"], NOW + 1) == {}
    assert theirs.take(["0"], NOW + 1) == {"0": os.geteuid()}
    assert lock_file.read_name(os.listdir(folder)[0]).since_mono == NOW  # type: ignore[union-attr]


def test_who_took_a_gpu_while_our_lock_was_missing_is_seen(folder: Path, locks_of: Locks) -> None:
    ours, theirs = locks_of("a"), locks_of("b")
    ours.take(["0"], NOW)
    clear(folder)
    assert theirs.take(["0"], NOW + 1) == {}
    assert ours.take(["0"], NOW + 2) == {"0": os.geteuid()}, "nothing more is started there"
    assert ours.held == {"0"}, "what was promised stays promised"


@needs_other_users
def test_a_lock_that_another_user_has_put_in_the_place_of_ours_is_not_ours(folder: Path, locks_of: Locks) -> None:
    ours = locks_of("a")
    ours.take(["0"], NOW)
    path = folder / os.listdir(folder)[0]
    path.unlink()
    path.touch()
    os.chown(path, NOBODY, NOBODY)
    ours.take(["0"], NOW + 1)
    assert sorted((folder / name).stat().st_uid for name in os.listdir(folder)) == [0, NOBODY]


# -- who holds a lock for ever ----------------------------------------------------------------------------------------


def look(locks: GpuLocks, at: float, used_mb: int = 0) -> bool:
    """Whether GPU 0 could be taken, at a look as short as a tick."""
    refused = locks.take(["0"], at, lambda gpu: used_mb)
    locks.release(["0"])
    return not refused


def clear(folder: Path) -> None:
    for name in os.listdir(folder):
        (folder / name).unlink()


def waited(locks: GpuLocks, before_look: Callable[[float], object] = lambda at: None) -> int:
    """After how many seconds the GPU could be taken, with one look per second."""
    for second in range(1000):
        before_look(NOW + second)
        if look(locks, NOW + second):
            return second
    return 1000


@needs_other_users
def test_a_lock_that_is_never_let_go_is_ignored_after_two_minutes_and_told(folder: Path, locks_of: Locks) -> None:
    ours = locks_of("a")
    leave(folder)
    assert waited(ours) == 121
    assert ours.ignored == {("0", NOBODY)}


@needs_other_users
def test_who_takes_a_new_lock_all_the_time_gains_nothing(folder: Path, locks_of: Locks) -> None:
    ours = locks_of("a")

    def renew(at: float) -> None:
        clear(folder)
        leave(folder, since=at)

    assert waited(ours, renew) == 121
    assert ours.ignored == {("0", NOBODY)}
    leave(folder, since=NOW + 125, uid=NOBODY - 1)
    assert not look(ours, NOW + 125), "an honest one is waited for all the same"


@needs_other_users
def test_who_has_many_user_ids_gains_little(folder: Path, locks_of: Locks) -> None:
    users = iter(range(100_000, 200_000))

    def renew(at: float) -> None:
        clear(folder)
        leave(folder, since=at, uid=next(users))

    assert waited(locks_of("a"), renew) == 301


@needs_other_users
def test_memory_that_appears_gives_its_taker_new_time(folder: Path, locks_of: Locks) -> None:
    ours = locks_of("a")
    for second in range(200):
        clear(folder)
        leave(folder, since=NOW + second)
        assert not look(ours, NOW + second, used_mb=0 if second < 100 else 9000)
    assert ours.ignored == set()


@needs_other_users
def test_short_locks_of_a_busy_colleague_do_not_add_up(folder: Path, locks_of: Locks) -> None:
    ours = locks_of("a")
    for second in range(300):
        path = leave(folder, since=NOW + second)
        assert not look(ours, NOW + second)
        path.unlink()
        assert look(ours, NOW + second + 0.5)


@needs_other_users
def test_what_an_ended_host_of_another_user_has_left_is_not_worth_a_word(folder: Path, locks_of: Locks) -> None:
    leave(folder, since=NOW - 121)
    ours = locks_of("a")
    assert look(ours, NOW)
    assert look(ours, NOW + 1)
    assert ours.ignored == set()


@needs_other_users
@pytest.mark.parametrize("since", [NOW - 121, NOW + 121])
def test_a_lock_of_a_time_that_cannot_be_holds_nothing(folder: Path, locks_of: Locks, since: float) -> None:
    leave(folder, since=since)
    assert look(locks_of("a"), NOW)


@needs_other_users
def test_who_looks_by_a_clock_that_was_read_a_while_ago_sees_newer_locks(folder: Path, locks_of: Locks) -> None:
    leave(folder, since=NOW + 10)
    assert not look(locks_of("a"), NOW)


@needs_other_users
def test_a_lock_of_an_earlier_boot_holds_nothing(
    folder: Path, locks_of: Locks, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(lock_file, "boot_id", lambda: "earlier")
        leave(folder)
    assert look(locks_of("a"), NOW)


# -- who dies ---------------------------------------------------------------------------------------------------------


def test_the_lock_of_a_killed_host_holds_two_minutes_and_is_cleared_away_by_its_user(
    folder: Path, locks_of: Locks
) -> None:
    locks_of("a").take(["0"], NOW)  # its jobs are still running, and are about to take the memory
    assert not look(locks_of("b"), NOW + 119)
    assert look(locks_of("a"), NOW + 1), "the next host of the same database knows what it promised"
    assert look(locks_of("b"), NOW + 121)
    assert left(folder) == []


def test_the_time_of_a_lock_begins_anew_with_each_start(folder: Path, locks_of: Locks) -> None:
    ours = locks_of("a")
    ours.take(["0"], NOW)
    ours.reserve(["0"], NOW)
    assert left(folder) == ["0"]
    ours.reserve(["0"], NOW + 100)
    assert not look(locks_of("b"), NOW + 200)
    ours.release(["0"])
    assert left(folder) == []


def test_what_else_lies_in_the_folder_is_no_trouble(folder: Path, locks_of: Locks) -> None:
    like = os.path.basename(lock_file.make(str(folder), "0", "x", NOW).path)
    (folder / like).unlink()
    (folder / like).mkdir()
    (folder / f"{like}0").symlink_to("/dev/zero")
    os.mkfifo(folder / f"{like}1")
    for name in ("x", lock_file.PREFIX, like.replace(",1000000,", ",nan,"), f"{lock_file.PREFIX},0,x,,,"):
        (folder / name).touch()
    assert look(locks_of("a"), NOW)
