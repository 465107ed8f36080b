"""What is wrong with the files of the state folder, told without touching them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.api.machine.finding import PROBLEM, WARN, Finding
from duckrow.api.machine.state_files import file_faults
from duckrow.core.devices.inventory import cpu_seats
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.store.sqlite.before_opening import RESCUED
from tests.api.quiet_queue import QuietQueue


def faults(folder: Folder) -> list[Finding]:
    return list(file_faults(folder))


@pytest.fixture
def living(queue: QuietQueue) -> Iterator[QuietQueue]:
    """A daemon with its lock and its bell."""
    queue.offers(cpu_seats(1))
    queue.up()
    os.mkfifo(queue.folder.host_fifo(DAEMON))
    bell = os.open(queue.folder.host_fifo(DAEMON), os.O_RDONLY | os.O_NONBLOCK)
    yield queue
    os.close(bell)


def test_a_folder_that_is_not_there_or_all_is_well_has_no_fault(tmp_path: Path, queue: QuietQueue) -> None:
    assert faults(Folder(str(tmp_path / "none"))) == []
    assert faults(queue.folder) == []


def test_a_daemon_with_all_its_files_has_no_fault(living: QuietQueue) -> None:
    assert faults(living.folder) == []


@pytest.mark.parametrize("instead", ["nothing", "a file"])
def test_a_bell_that_cannot_be_rung_is_told(living: QuietQueue, instead: str) -> None:
    fifo = Path(living.folder.host_fifo(DAEMON))
    fifo.unlink()
    if instead == "a file":
        fifo.touch()
    (fault,) = faults(living.folder)
    assert (fault.check, fault.level) == ("bell", PROBLEM)
    assert fault.found == f"{fifo} was removed or replaced: the daemon misses new jobs"


@pytest.mark.parametrize(("is_empty", "level"), [(True, PROBLEM), (False, WARN)])
def test_folders_of_earlier_jobs_without_their_database_are_told(queue: QuietQueue, is_empty: bool, level: str) -> None:
    queue.run_folder(*queue.add())
    queue.client.close()
    database = Path(queue.folder.database)
    for file in database.parent.glob("duckrow.db*"):
        file.unlink()
    if is_empty:
        database.touch()
    (fault,) = faults(queue.folder)
    assert (fault.check, fault.level) == ("database", level)
    assert "folders of earlier jobs" in fault.found


@pytest.mark.parametrize("there", [True, False])
def test_a_database_that_was_saved_is_told_with_the_way_back(queue: QuietQueue, there: bool) -> None:
    database, saved = queue.folder.database, queue.folder.database + RESCUED
    queue.client.close()
    os.rename(database, saved)
    if there:
        Path(database).write_bytes(b"x")
    (fault,) = faults(queue.folder)
    assert fault.level == (WARN if there else PROBLEM)
    assert (f"mv {saved} {database}, then duckrow up" in fault.advice) is not there
