"""The hosts: their rows, their locks, their bells."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duckrow.core.devices.inventory import parse_gpus
from duckrow.core.devices.machine import BARE, Machine
from duckrow.core.devices.policy import Policy
from duckrow.core.jobs.commands import ListForm
from duckrow.kernel.process import boot_id, identity_of
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON, is_alive, ring, seats_from, try_lock, unlock
from duckrow.store.sqlite.database_lock import is_taken
from tests.conftest import DEADLINE_S
from tests.store.shelf import Shelf

HOLD_LOCK = """
import sys
import time
from pathlib import Path
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import try_lock
print("locked" if try_lock(Folder(Path(sys.argv[1])), 1) is not None else "taken", flush=True)
sys.stdin.readline()
"""


# A host that is killed while it starts a job: that has all its files until it is told to become its program.
KILLED_WHILE_STARTING = """
import os, signal, sys
from duckrow.store.sqlite import database_lock
from duckrow.store.folder.host_lock import sign, try_lock
from duckrow.store.folder.state_folder import Folder
folder = Folder(sys.argv[1])
lock = try_lock(folder, 1)
database_lock.take(folder.database, 1)
sign(lock)
if os.fork() == 0:
    sys.stdin.readline()
    os._exit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""


def locker(folder: Folder) -> subprocess.Popen[str]:
    """Another process that tries to be host 1, and stays until its input ends."""
    command = [sys.executable, "-c", HOLD_LOCK, str(folder.root)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def host(folder: Folder) -> Iterator[subprocess.Popen[str]]:
    """Another process that is host 1."""
    with locker(folder) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def test_a_host_of_another_process_is_seen_to_live(folder: Folder, host: subprocess.Popen[str]) -> None:
    assert is_alive(folder, 1)
    assert not is_alive(folder, 2)
    assert try_lock(folder, 1) is None


@pytest.fixture
def killed_host(folder: Folder, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    """Its job becomes its program once somebody who looks for the host waits for that."""
    command = [sys.executable, "-c", KILLED_WHILE_STARTING, folder.root]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:
        assert process.wait(DEADLINE_S) == -signal.SIGKILL
        assert process.stdin is not None
        monkeypatch.setattr(time, "sleep", lambda _: process.stdin.close())
        yield process


def test_a_host_that_was_killed_while_it_started_a_job_does_not_live(
    folder: Folder, killed_host: subprocess.Popen[str]
) -> None:
    assert not is_alive(folder, 1)


def test_the_next_host_waits_for_the_job_that_a_killed_one_was_starting(
    folder: Folder, killed_host: subprocess.Popen[str]
) -> None:
    lock = try_lock(folder, 1)
    assert lock is not None
    assert not is_taken(folder.database, 1)
    unlock(folder, 1, lock)


def test_a_host_in_another_container_is_not_looked_for_here(
    folder: Folder, host: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waits"))
    with open(folder.host_lock(1), "w") as file:
        file.write(" " * 32 + "1:2:another-boot.7")
    assert is_alive(folder, 1)
    assert try_lock(folder, 1) is None


def test_those_who_only_look_do_not_keep_a_host_from_its_lock(folder: Folder) -> None:
    with open(folder.host_lock(1), "w") as looked_at:
        fcntl.flock(looked_at, fcntl.LOCK_SH)
        with locker(folder) as host:
            assert host.stdout is not None
            said = select.select([host.stdout], [], [], 0.5)[0]
            assert not said, host.stdout.readline()
            fcntl.flock(looked_at, fcntl.LOCK_UN)
            assert host.stdout.readline() == "locked\n"
            host.kill()


def test_a_host_that_was_killed_is_seen_to_be_dead(folder: Folder, host: subprocess.Popen[str]) -> None:
    host.send_signal(signal.SIGKILL)
    host.wait()
    assert not is_alive(folder, 1)
    lock = try_lock(folder, 1)
    assert lock is not None
    unlock(folder, 1, lock)


def test_another_process_cannot_be_the_host_that_we_are(folder: Folder) -> None:
    lock = try_lock(folder, 1)
    assert lock is not None
    with locker(folder) as second:
        assert second.communicate("go\n")[0] == "taken\n"
    unlock(folder, 1, lock)
    with locker(folder) as third:
        assert third.communicate("go\n")[0] == "locked\n"


def test_asking_whether_a_host_lives_takes_nothing_from_it(folder: Folder) -> None:
    for _ in range(3):
        assert not is_alive(folder, 1)
    lock = try_lock(folder, 1)
    assert lock is not None
    assert is_alive(folder, 1)
    assert is_alive(folder, 1)
    os.close(lock)
    assert not is_alive(folder, 1)
    assert not is_alive(folder, 1)


def test_two_who_ask_do_not_take_each_other_for_the_host(folder: Folder) -> None:
    Path(folder.host_lock(1)).touch()
    with open(folder.host_lock(1)) as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        assert not is_alive(folder, 1)


def test_nothing_is_left_open(folder: Folder) -> None:
    """The kernel closes a lock with its last open file: one that is left open makes a dead host look alive."""
    os.mkfifo(folder.host_fifo(1))
    bell = os.open(folder.host_fifo(1), os.O_RDWR | os.O_NONBLOCK)
    before = os.listdir("/proc/self/fd")
    lock = try_lock(folder, 1)
    assert lock is not None
    assert try_lock(folder, 1) is None
    is_alive(folder, 1)
    ring(folder, 1)
    unlock(folder, 1, lock)
    assert os.listdir("/proc/self/fd") == before
    os.close(bell)


def test_letting_go_leaves_no_file(folder: Folder) -> None:
    lock = try_lock(folder, 1)
    assert lock is not None
    assert os.stat(folder.host_lock(1)).st_mode & 0o777 == 0o600
    unlock(folder, 1, lock)
    assert not os.path.exists(folder.host_lock(1))
    assert not is_alive(folder, 1)


def test_a_lock_on_a_file_that_was_removed_meanwhile_is_not_taken_for_the_lock(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last holder removes the file between our opening and our locking it."""
    really_open = os.open
    removed: list[str] = []

    def open_then_lose(path: str, *rest: int, **of_others: Any) -> int:
        fd = really_open(path, *rest, **of_others)
        if not removed:
            removed.append(path)
            os.unlink(path)
        return fd

    monkeypatch.setattr(os, "open", open_then_lose)
    lock = try_lock(folder, 1)
    assert removed
    assert lock is not None
    assert os.fstat(lock).st_ino == os.stat(folder.host_lock(1)).st_ino
    assert is_alive(folder, 1)
    unlock(folder, 1, lock)


# -- bells ----------------------------------------------------------------------------------------------------------


def test_a_bell_that_nobody_has_rings_in_vain(folder: Folder) -> None:
    ring(folder, 1)
    assert not os.path.exists(folder.host_fifo(1))


def test_a_bell_without_a_listener_rings_in_vain(folder: Folder) -> None:
    os.mkfifo(folder.host_fifo(1))
    ring(folder, 1)


def test_a_bell_with_a_listener_is_heard(folder: Folder) -> None:
    os.mkfifo(folder.host_fifo(1))
    bell = os.open(folder.host_fifo(1), os.O_RDWR | os.O_NONBLOCK)
    ring(folder, 1)
    ring(folder, 1)
    assert os.read(bell, 100) == b"!!"
    os.close(bell)


def test_a_bell_that_nobody_empties_keeps_nobody_waiting(folder: Folder) -> None:
    os.mkfifo(folder.host_fifo(1))
    bell = os.open(folder.host_fifo(1), os.O_RDWR | os.O_NONBLOCK)
    rung = os.write(bell, b"!" * (1 << 20))
    with pytest.raises(BlockingIOError):
        os.write(bell, b"!")
    ring(folder, 1)
    assert len(os.read(bell, 1 << 20)) == rung
    os.close(bell)


# -- rows -----------------------------------------------------------------------------------------------------------


def test_the_daemon_has_a_row_from_the_beginning(shelf: Shelf) -> None:
    row = shelf.hosts.get(DAEMON)
    assert (row.id, row.kind, row.name, row.pid, row.started_at) == (1, "daemon", "daemon", None, None)
    assert shelf.hosts.open_hosts() == []


def test_a_host_that_opens_says_who_it_is_and_what_it_gives_out(shelf: Shelf) -> None:
    seats = parse_gpus(["0+1", "2", "2"])
    shelf.hosts.open(DAEMON, seats, BARE)
    (row,) = shelf.hosts.open_hosts()
    assert (row.pid, row.process) == (os.getpid(), identity_of(os.getpid()))
    assert (row.boot_id, row.ended_at) == (boot_id(), None)
    assert seats_from(row.seats) == seats


def test_a_host_that_closed_in_good_order_is_no_longer_open(shelf: Shelf) -> None:
    shelf.hosts.open(DAEMON, [], BARE)
    shelf.hosts.close(DAEMON)
    assert shelf.hosts.open_hosts() == []
    shelf.hosts.open(DAEMON, [], BARE)
    assert [row.id for row in shelf.hosts.open_hosts()] == [DAEMON]


def test_a_run_without_a_name_gets_one(shelf: Shelf) -> None:
    first = shelf.hosts.add_run("", "/home/me", "/home/me/list.txt")
    named = shelf.hosts.add_run("mine", "/home/me", "")
    assert shelf.hosts.get(first).name == f"run-{first}"
    assert shelf.hosts.get(named).name == "mine"
    assert [row.id for row in shelf.hosts.all()] == [DAEMON, first, named]


def test_a_run_is_found_by_name_or_number_and_the_newest_wins(shelf: Shelf) -> None:
    first, second = (shelf.hosts.add_run("mine", "/home/me", "") for _ in range(2))
    found = shelf.hosts.run_named("mine")
    assert found is not None
    assert found.id == second
    by_number = shelf.hosts.run_named(str(first))
    assert by_number is not None
    assert by_number.id == first
    assert [shelf.hosts.handle(run, "mine") for run in (first, second)] == [str(first), "mine"]
    assert shelf.hosts.run_named("daemon") is None
    assert shelf.hosts.run_named("1") is None


def test_a_run_is_found_by_its_file_and_folder(shelf: Shelf) -> None:
    strange = os.fsdecode(b"/home/me/l\xefst")
    ids = [shelf.hosts.add_run("", "/home/me", source) for source in ("/home/me/list", "", strange)]
    shelf.hosts.add_run("", "/elsewhere", "/home/me/list")
    for source, host_id in zip(("/home/me/list", "", strange), ids, strict=True):
        found = shelf.hosts.run_of_file("/home/me", source)
        assert found is not None
        assert (found.id, found.source) == (host_id, source)
    assert shelf.hosts.run_of_file("/nowhere", "") is None


def test_a_run_that_has_no_job_does_not_hide_an_earlier_one_of_its_file(shelf: Shelf) -> None:
    """All of its lines were refused: the format was wrong."""
    first, second = (shelf.hosts.add_run("", "/home/me", "/home/me/list") for _ in range(2))
    found = shelf.hosts.run_of_file("/home/me", "/home/me/list")
    assert found is not None
    assert found.id == second
    shelf.add("true", host_id=first)
    found = shelf.hosts.run_of_file("/home/me", "/home/me/list")
    assert found is not None
    assert found.id == first


def test_how_a_run_reads_its_list_is_kept(shelf: Shelf) -> None:
    hosts = shelf.hosts
    form = ListForm("json", "%\udcff", True)
    plain, other = hosts.add_run("plain", "/", ""), hosts.add_run("other", "/", "", form)
    assert (hosts.get(plain).form, hosts.get(other).form) == (ListForm(), form)
    hosts.note_list(other, "/list", ListForm(delimiter="%%"))
    assert (hosts.get(other).form, hosts.get(other).source) == (ListForm(delimiter="%%"), "/list")
    assert (hosts.get(plain).form, hosts.get(plain).source) == (ListForm(), "")


def test_the_jobs_of_a_run_are_listed_in_their_order(shelf: Shelf) -> None:
    run = shelf.hosts.add_run("", "/home/me", "")
    strange = os.fsdecode(b"echo \xff")
    shelf.add("not ours")
    shelf.add("b", strange, host_id=run)
    assert shelf.hosts.jobs_of(run) == [(2, "b", "queued", None), (3, strange, "queued", None)]


def test_the_machine_of_a_host_is_read_as_it_was_noted(shelf: Shelf) -> None:
    machine = Machine(total_mb={"0": 24_000}, policy=Policy(max_gpus=2, ignore=("Xorg",)), cpus=8, mem_mb=64_000)
    shelf.hosts.open(DAEMON, parse_gpus(["0"]), machine)
    read = shelf.hosts.machine(DAEMON)
    assert (read.policy, read.total_mb, read.cpus, read.mem_mb) == (machine.policy, {"0": 24_000}, 8, 64_000)


def test_the_machine_that_a_host_of_an_older_version_noted_is_read(shelf: Shelf) -> None:
    """It listed its policy by position, and shorter ones are older still."""
    for listed, policy in (
        ('[1, 2, ["0"], 3, true, 512, "on", ["Xorg"], false, false]', None),
        ("[0, 2]", Policy(max_gpus=2)),
    ):
        shelf.database.execute("UPDATE hosts SET machine = ?", (f'{{"total_mb": {{"0": 24000}}, "policy": {listed}}}',))
        read = shelf.hosts.machine(DAEMON)
        full = Policy(
            min_free_gpus=1, max_gpus=2, prefer=("0",), jobs_per_gpu=3, only_idle=True, margin_mb=512, mps="on",
            ignore=("Xorg",),
        )  # fmt: skip
        assert read == Machine(total_mb={"0": 24_000}, policy=policy or full)
