"""The journal of a host: what was about to start and how it ended, for hosts that did not see it themselves.

    H boot.namespace                    where its PIDs mean something; the first line
    S attempt                           about to start; on disk before the attempt's first instruction
    P attempt pid boottime              its process, and the time since boot when that was written; soon after the start
    E attempt status time boottime      its wait status, as the kernel gave it: by the keeper, once the host is dead
    N attempt                           it was about to start and never did: likewise

The host and its keeper share one open and locked file, and a copy of it in memory. While the lock is held, somebody
will write what is missing.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterable

from duckrow.core.errors import StateError
from duckrow.engines.local.keeper.journal_copy import JournalCopy
from duckrow.kernel.process import PidSpace, our_pid_space, pid_space_from

COMPACT_BYTES = 1 << 20


class Record:
    """All that the journal says of one attempt."""

    def __init__(self, begun: bool = False) -> None:
        self.begun = begun
        self.pid: int | None = None
        self.seen_boottime = 0.0  # seconds since boot when the process was known to be there
        self.wait_status: int | None = None
        self.ended_at = 0.0
        self.ended_boottime = 0.0  # its PID was not yet free then; 0: not known
        self.never_began = False


class Journal:
    def __init__(self) -> None:
        self.exists = False
        self.kept = False  # host or keeper is alive
        self.whole = False  # it has lines, and no other than ours: what it does not tell of never was
        self.space: PidSpace | None = None
        self.records: dict[int, Record] = {}

    def of(self, attempt_id: int) -> Record:
        return self.records.get(attempt_id, Record())


class JournalWriter:
    """The host makes it before it has a keeper, and shares it with the keeper."""

    def __init__(self, folder: str) -> None:
        self.name = os.urandom(6).hex()
        self.path = os.path.join(folder, self.name)
        self.on_new_file: Callable[[int], None] = lambda fd: None  # the process that shares it must get the new file
        self._head = f"H {our_pid_space()}\n".encode()
        self._copy = JournalCopy()
        self._copy.append(self._head)
        self._late = b""  # lines that the copy has and the file does not, because they are in no hurry
        try:
            self.fd = _make(self.path)
            os.write(self.fd, self._head)
        except OSError as error:
            raise StateError(
                f"The journal {self.path} cannot be created: {error.strerror}. Nothing was started."
            ) from None

    def begin(self, attempt_ids: Iterable[int]) -> None:
        """Write this before the attempt starts. If that raises OSError, the attempt must not start."""
        lines = "".join([f"S {attempt_id}\n" for attempt_id in attempt_ids])
        before = self._copy.size
        try:
            self._append(lines)
        except OSError:
            self._copy.cut(before)
            raise

    def started(self, attempt_id: int, pid: int) -> None:
        """The keeper knows it at once, from the copy. The file has it with the next line, or after `catch_up`."""
        line = b"P %d %d %.4f\n" % (attempt_id, pid, time.clock_gettime(time.CLOCK_BOOTTIME))
        if self._copy.append(line):
            self._late += line

    def catch_up(self) -> None:
        """Write what only the copy has: if both host and keeper die, the file must do."""
        if self._late:
            self._append_if_possible("")

    def ended(self, attempt_id: int, wait_status: int) -> bool:
        """Write this before you wait for the process: until then nobody else can get its PID."""
        times = f"{time.time():.6f} {time.clock_gettime(time.CLOCK_BOOTTIME):.4f}"
        return self._append_if_possible(f"E {attempt_id} {wait_status} {times}\n")

    def never_began(self, attempt_id: int) -> bool:
        return self._append_if_possible(f"N {attempt_id}\n")

    def compact(self, live: Iterable[tuple[int, int]]) -> None:
        """Forget all but these (attempt, pid). If we die half-way, old lines stay after the new ones: harmless."""
        if self._copy.size < COMPACT_BYTES:
            return
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        lines = "".join([f"S {attempt_id}\nP {attempt_id} {pid} {now:.4f}\n" for attempt_id, pid in live])
        self._copy.replace(self._head + lines.encode())
        try:
            self.mend()
        except OSError:
            pass  # the file is longer than necessary; the next line fixes it

    def read(self) -> dict[int, Record]:
        """What host and keeper have written, whatever happened to the file."""
        return parse(self._copy.text()).records

    def mend(self) -> None:
        """Repair the file. Raises OSError if that is not possible."""
        text = self._copy.text()
        self._late = b""  # if it cannot be written, the next line finds the file too short and repairs it
        if self.is_replaced():
            self._make_anew(text)
        elif os.pread(self.fd, len(text) + 1, 0) != text:
            written = os.pwrite(self.fd, text, 0)
            os.ftruncate(self.fd, text.rfind(b"\n", 0, written) + 1)
            if written < len(text):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)
        os.lseek(self.fd, len(text), os.SEEK_SET)

    def use(self, fd: int) -> None:
        """The process that we share it with has created the file again."""
        os.dup2(fd, self.fd, inheritable=False)
        os.close(fd)

    def remove(self) -> None:
        """Nobody needs it any more, so nobody should create it again."""
        self._copy.cut(0)
        self._late = b""
        try:
            os.unlink(self.path)
        except OSError:
            pass  # it is gone, or the file system is read-only: the next host cleans up

    def _append(self, lines: str) -> None:
        """Raises OSError on a full disk; then none of the lines is in the file."""
        data = lines.encode()
        size = self._copy.size - len(self._late)
        if not self._copy.append(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)
        state = os.fstat(self.fd)
        if state.st_size != size or not state.st_nlink:
            self.mend()  # somebody emptied or removed it
            return
        data = self._late + data
        written = 0
        try:
            written = os.write(self.fd, data)
        finally:
            if written < len(data):
                os.ftruncate(self.fd, size)
                os.lseek(self.fd, size, os.SEEK_SET)
        if written < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)
        self._late = b""

    def _append_if_possible(self, line: str) -> bool:
        """False on a full disk. The copy has the line, so the next write brings it into the file."""
        try:
            self._append(line)
        except OSError:
            return False
        return True

    def is_replaced(self) -> bool:
        """Whether its path is no longer ours: somebody moved or removed the file, or put another one there."""
        try:
            return not os.path.samestat(os.stat(self.path), os.fstat(self.fd))
        except OSError:
            return True

    def _make_anew(self, text: bytes) -> None:
        folder = os.path.dirname(self.path)
        if not os.path.exists(folder):
            os.mkdir(folder, 0o700)  # but no folder above it: if somebody removed the whole state, they want it gone
        fd = _make(f"{self.path}.new")
        os.write(fd, text)
        os.replace(f"{self.path}.new", self.path)
        self.use(fd)
        self.on_new_file(self.fd)


def _make(path: str) -> int:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


def read_journal(path: str) -> Journal:
    """First ask whether somebody still writes it. If nobody does, everything is in the file."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return Journal()
    try:
        kept = _is_locked(fd)
        journal = parse(os.pread(fd, os.fstat(fd).st_size, 0))
    finally:
        os.close(fd)
    journal.exists, journal.kept = True, kept
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


def parse(data: bytes) -> Journal:
    journal = Journal()
    # After the last newline, a line is being written right now.
    lines = data.decode("ascii", "replace").split("\n")[:-1]
    if lines and lines[0].startswith("H "):
        journal.space = pid_space_from(lines[0][2:])
    journal.whole = bool(lines)
    for line in lines if journal.space is None else lines[1:]:
        try:
            _apply(journal.records, line.split(" "))
        except ValueError:
            journal.whole = False
    return journal


def _apply(records: dict[int, Record], words: list[str]) -> None:
    match words:
        case ["S", attempt]:
            records[int(attempt)] = Record(begun=True)
        case ["P", attempt, pid, boottime]:
            record = records.setdefault(int(attempt), Record(begun=True))
            record.pid, record.seen_boottime = int(pid), float(boottime)
        case ["E", attempt, status, at, *boottime]:
            record = records.setdefault(int(attempt), Record(begun=True))
            record.wait_status, record.ended_at = int(status), float(at)
            record.ended_boottime = float(boottime[0]) if boottime else 0.0
        case ["N", attempt]:
            records.setdefault(int(attempt), Record(begun=True)).never_began = True
        case _:
            raise ValueError(words)
