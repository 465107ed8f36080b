"""The journal of a host: what was about to start and what became of it, for hosts that were not there to see.

    S attempt                 about to start; on disk before the attempt's first instruction
    P attempt pid boottime    its process, and the time since boot when that was written
    E attempt status time     its wait status, as the kernel gave it: written by the keeper once the host is dead
    N attempt                 it was about to start and never did: likewise

The host and its keeper share one open and locked file. While the lock is held, somebody will write what is missing.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterable

from duckrow.core.errors import StateError

COMPACT_BYTES = 1 << 20


class Record:
    """All that the journal says of one attempt."""

    def __init__(self, begun: bool = False) -> None:
        self.begun = begun
        self.pid: int | None = None
        self.seen_boottime = 0.0  # seconds since boot when the process was known to be there
        self.wait_status: int | None = None
        self.ended_at = 0.0
        self.never_began = False


class Journal:
    def __init__(self) -> None:
        self.exists = False
        self.kept = False  # host or keeper is alive
        self.records: dict[int, Record] = {}

    def of(self, attempt_id: int) -> Record:
        return self.records.get(attempt_id, Record())


class JournalWriter:
    """Made by the host before it has a keeper, and handed on to it."""

    def __init__(self, folder: str) -> None:
        self.name = os.urandom(6).hex()
        self.path = os.path.join(folder, self.name)
        try:
            self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            fcntl.flock(self.fd, fcntl.LOCK_EX)
        except OSError as error:
            raise StateError(
                f"The journal {self.path} cannot be made: {error.strerror}. Nothing was started."
            ) from None
        self._size = 0

    def begin(self, attempt_ids: Iterable[int]) -> None:
        """An attempt whose begin is not on disk must not start: raises OSError if it cannot be written."""
        lines = "".join([f"S {attempt_id}\n" for attempt_id in attempt_ids]).encode()
        written = 0
        try:
            written = os.write(self.fd, lines)
        finally:
            if written < len(lines):
                os.ftruncate(self.fd, self._size)
                os.lseek(self.fd, self._size, os.SEEK_SET)
        if written < len(lines):
            raise OSError(28, "No space left on device", self.path)
        self._size += written

    def started(self, attempt_id: int, pid: int) -> None:
        self._write(f"P {attempt_id} {pid} {time.clock_gettime(time.CLOCK_BOOTTIME):.2f}\n")

    def ended(self, attempt_id: int, wait_status: int) -> bool:
        return self._write(f"E {attempt_id} {wait_status} {time.time():.6f}\n")

    def never_began(self, attempt_id: int) -> bool:
        return self._write(f"N {attempt_id}\n")

    def compact(self, live: Iterable[tuple[int, int]]) -> None:
        """Forget all but these (attempt, pid). A death half-way leaves old lines behind the new, which do no harm."""
        if self._size < COMPACT_BYTES:
            return
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        lines = "".join([f"S {attempt_id}\nP {attempt_id} {pid} {now:.2f}\n" for attempt_id, pid in live]).encode()
        if len(lines) < self._size and os.pwrite(self.fd, lines + b"\n", 0) == len(lines) + 1:
            self._size = len(lines)
            os.ftruncate(self.fd, self._size)
            os.lseek(self.fd, self._size, os.SEEK_SET)

    def read(self) -> dict[int, Record]:
        size = os.fstat(self.fd).st_size
        os.lseek(self.fd, size, os.SEEK_SET)
        self._size = size
        return parse(os.pread(self.fd, size, 0))

    def _write(self, line: str) -> bool:
        """False on a full disk; then nothing of the line is there."""
        data = line.encode()
        try:
            written = os.write(self.fd, data)
        except OSError:
            return False
        if written < len(data):
            os.ftruncate(self.fd, self._size)
            os.lseek(self.fd, self._size, os.SEEK_SET)
            return False
        self._size += written
        return True

    def remove(self) -> None:
        try:
            os.unlink(self.path)
        except OSError:
            pass  # it is gone, or the file system is read-only: the next host clears up


def read_journal(path: str) -> Journal:
    """Whether it is kept is asked first: what the dead have written is then all there."""
    journal = Journal()
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return journal
    try:
        journal.exists = True
        journal.kept = _is_locked(fd)
        journal.records = parse(os.pread(fd, os.fstat(fd).st_size, 0))
    finally:
        os.close(fd)
    return journal


def remove_if_unkept(path: str) -> None:
    """Delete a journal that nobody needs, unless somebody still writes it."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    except OSError:
        pass
    finally:
        os.close(fd)


def _is_locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False


def parse(data: bytes) -> dict[int, Record]:
    records: dict[int, Record] = {}
    # What stands behind the last newline is being written right now.
    for line in data.decode("ascii", "replace").split("\n")[:-1]:
        try:
            _apply(records, line.split(" "))
        except ValueError:
            continue  # half of an old line, left by a compaction that was interrupted
    return records


def _apply(records: dict[int, Record], words: list[str]) -> None:
    match words:
        case ["S", attempt]:
            records[int(attempt)] = Record(begun=True)
        case ["P", attempt, pid, boottime]:
            record = records.setdefault(int(attempt), Record(begun=True))
            record.pid, record.seen_boottime = int(pid), float(boottime)
        case ["E", attempt, status, at]:
            record = records.setdefault(int(attempt), Record(begun=True))
            record.wait_status, record.ended_at = int(status), float(at)
        case ["N", attempt]:
            records.setdefault(int(attempt), Record(begun=True)).never_began = True
