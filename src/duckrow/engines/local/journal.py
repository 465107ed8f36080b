"""Reading a keeper's journal: what became of an attempt, for a host that was not there to be told."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass, field


@dataclass(slots=True)
class Record:
    """All that the journal says of one attempt."""

    begun: bool = False  # the keeper was about to start it
    pid: int | None = None
    seen_boottime: float = 0.0  # seconds since boot when the process was known to be there
    wait_status: int | None = None
    ended_at: float = 0.0
    leftovers: bool = False
    silent: bool = False
    refusal: str | None = None
    try_later: bool = False


@dataclass(slots=True)
class Journal:
    exists: bool = False
    keeper_alive: bool = False
    closed: bool = False  # no attempt will start any more
    records: dict[int, Record] = field(default_factory=dict)

    def of(self, attempt_id: int) -> Record:
        return self.records.get(attempt_id, Record())


def read_journal(path: str) -> Journal:
    """Whether the keeper lives is asked first: what a dead keeper has written is then all there."""
    journal = Journal()
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return journal
    try:
        journal.exists = True
        journal.keeper_alive = _is_locked(fd)
        with open(fd, "rb", closefd=False) as file:
            # What stands behind the last newline is being written right now.
            for line in file.read().decode("utf-8", "replace").split("\n")[:-1]:
                _apply(journal, line.split(" "))
    finally:
        os.close(fd)
    return journal


def _is_locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False


def _apply(journal: Journal, words: list[str]) -> None:
    match words:
        case ["S", attempt]:
            journal.records[int(attempt)] = Record(begun=True)
        case ["P", attempt, pid, boottime]:
            record = journal.records.setdefault(int(attempt), Record(begun=True))
            record.pid, record.seen_boottime = int(pid), float(boottime)
        case ["E", attempt, status, at, leftovers, silent]:
            record = journal.records.setdefault(int(attempt), Record(begun=True))
            record.wait_status, record.ended_at, record.leftovers = int(status), float(at), leftovers == "1"
            record.silent = silent == "1"
        case ["N", attempt, later, *reason]:
            record = journal.records.setdefault(int(attempt), Record(begun=True))
            record.refusal, record.try_later = " ".join(reason), later == "1"
        case ["D"]:
            journal.closed = True
