"""The journal of a host: what was about to start and how it ended, for hosts that did not see it themselves.

    H boot.namespace                    where its PIDs mean something; the first line
    F                                   from now on, starters may start attempts too
    F pid                               one of them, before it starts any
    D                                   nobody starts attempts any more: what has not begun never will
    S attempt                           about to start; on disk before the attempt's first instruction
    S attempt boottime                  likewise, by a starter
    P attempt pid boottime              its process, and the time since boot when that was written; soon after the start
    E attempt status time boottime      its wait status, as the kernel gave it: by the keeper, once the host is dead
    E attempt status time boottime how  likewise, by a starter; how: silent, spoke or left
    N attempt                           it was about to start and never did: by the keeper, once the host is dead

The host and its keeper share one open and locked file, and a copy of it in memory. While the lock is held, somebody
will write what is missing. Starters share both too, and the host reads in the copy what they have written.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable, Container, Iterable

from duckrow.core.errors import StateError
from duckrow.engines.local.keeper.journal_copy import JournalCopy
from duckrow.engines.local.keeper.write_lock import WriteLock
from duckrow.kernel.process import PidSpace, our_pid_space, pid_space_from

COMPACT_BYTES = 1 << 20

SILENT, SPOKE, LEFT = b"silent", b"spoke", b"left"
"""It printed nothing and left no file, so it has no folder; it did; it left processes behind."""


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
        self.begun_boottime = 0.0  # when a starter was about to start it; 0: no starter was
        self.how = b""  # how it ended, as a starter saw it: SILENT, SPOKE or LEFT

    @property
    def by_starter(self) -> bool:
        return self.begun_boottime > 0

    @property
    def has_ended(self) -> bool:
        return self.wait_status is not None


class Journal:
    def __init__(self) -> None:
        self.exists = False
        self.kept = False  # host or keeper is alive
        self.whole = False  # it has lines, and no other than ours: what it does not tell of never was
        self.space: PidSpace | None = None
        self.records: dict[int, Record] = {}
        self.has_starters = False  # they start attempts, perhaps for a moment longer than their host lives
        self.starters: set[int] = set()  # their PIDs; those that are dead, too

    def of(self, attempt_id: int) -> Record:
        return self.records.get(attempt_id, Record())


class JournalWriter:
    """The host makes it before it has a keeper, and shares it with the keeper, and later with starters."""

    def __init__(self, folder: str) -> None:
        self.name = os.urandom(6).hex()
        self.path = os.path.join(folder, self.name)
        self.on_new_file: Callable[[int], None] = lambda fd: None  # the process that shares it must get the new file
        self.lock = WriteLock()
        self._may_repair = True
        self._head = f"H {our_pid_space()}\n".encode()
        self._copy = JournalCopy()
        self._copy.append(self._head)
        self._read = 0  # how much of the copy `news` has given
        try:
            self.fd = _make(self.path)
            os.write(self.fd, self._head)
        except OSError as error:
            raise StateError(
                f"The journal {self.path} cannot be created: {error.strerror}. Nothing was started."
            ) from None
        self._copy.note_in_file(len(self._head))

    def share(self, end_others: Callable[[], None]) -> None:
        """From now on, processes that we fork write it too: see `WriteLock`. Raises OSError on a full disk."""
        if self.lock.is_shared:
            return
        self._begin(b"F\n")
        self.lock.share(end_others)

    def note_starter(self, pid: int) -> None:
        with self.lock:
            self._copy.append(b"F %d\n" % pid)

    def starters(self) -> set[int]:
        return parse(self._copy.text()).starters

    def shared_no_more(self) -> None:
        """Those processes are dead, and nobody starts attempts any more."""
        self.lock.share_no_more()
        if parse(self._copy.text()).has_starters:
            self._append_if_possible(b"D\n")

    def leave_repair(self) -> None:
        """We are a starter: whatever is wrong with the file or its lock is left to the host."""
        self._may_repair = False
        self.lock.be_patient()

    def begin(self, attempt_ids: Iterable[int]) -> None:
        """Write this before the attempt starts. If that raises OSError, the attempt must not start."""
        lines = "".join([f"S {attempt_id}\n" for attempt_id in attempt_ids])
        with self.lock:
            self._begin(lines.encode())

    def begin_unless(self, is_recalled: Callable[[], bool], attempt_id: int) -> bool:
        """Likewise, for a starter; False if the host has taken the attempt back. The host asks with the lock, too."""
        with self.lock:
            if is_recalled():
                return False
            self._begin(b"S %d %.6f\n" % (attempt_id, time.clock_gettime(time.CLOCK_BOOTTIME)))
            return True

    def _begin(self, lines: bytes) -> None:
        before = self._copy.size
        try:
            self._append(lines)
        except OSError:
            self._copy.cut(before)
            raise

    def started(self, attempt_id: int, pid: int) -> None:
        """The keeper knows it at once, from the copy. The file has it with the next line, or after `catch_up`."""
        line = b"P %d %d %.6f\n" % (attempt_id, pid, time.clock_gettime(time.CLOCK_BOOTTIME))
        with self.lock:
            self._copy.append(line)

    def catch_up(self) -> None:
        """Write what only the copy has: if both host and keeper die, the file must do."""
        if self._copy.in_file < self._copy.size:
            self._append_if_possible(b"")

    def ended(self, attempt_id: int, wait_status: int) -> bool:
        """Write this before you wait for the process: until then nobody else can get its PID."""
        return self._append_if_possible(b"E %d %d %s\n" % (attempt_id, wait_status, _times()))

    def note_end(self, attempt_id: int, wait_status: int, how: bytes) -> None:
        """Likewise, for a starter. The host and the keeper know it at once; the file has it with the next line."""
        with self.lock:
            self._copy.append(b"E %d %d %s %s\n" % (attempt_id, wait_status, _times(), how))

    def never_began(self, attempt_id: int) -> bool:
        return self._append_if_possible(b"N %d\n" % attempt_id)

    @property
    def is_long(self) -> bool:
        """Whether to make it compact."""
        return self._copy.size >= COMPACT_BYTES

    def compact(self, wanted: Container[int], starters: Container[int] = ()) -> None:
        """Forget all attempts and starters but these.

        If we die half-way, old lines stay after the new ones: harmless, if no end is missing among them.
        """
        self.catch_up()
        with self.lock:
            text, begin = self._copy.text(), len(self._head)
            read = max(begin, self._read)
            old, new = (_about(wanted, starters, lines) for lines in (text[begin:read], text[read:]))
            self._copy.replace(self._head + old + new)
            self._read = len(self._head + old)
            try:
                self._mend()
            except OSError:
                pass  # the file is longer than necessary; the next line fixes it

    def read(self) -> dict[int, Record]:
        """What host, starters and keeper have written, whatever happened to the file."""
        return parse(self._copy.text()).records

    @property
    def has_news(self) -> bool:
        return self._copy.size != self._read

    def news(self) -> dict[int, Record]:
        """What has been written since this was last asked, in this order."""
        if not self.has_news:
            return {}
        with self.lock:  # or we might read a line that is taken back, because the disk is full
            text = self._copy.text(self._read)
        self._read += len(text)
        return parse(text).records

    def skip_news(self) -> None:
        """Forget whatever has been written until now."""
        self._read = self._copy.size

    def mend(self) -> None:
        """Repair the file. Raises OSError if that is not possible."""
        with self.lock:
            self._mend()

    def _mend(self) -> None:
        if not self._may_repair:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), self.path)
        text = self._copy.text()
        self._copy.note_in_file(len(text))  # if it cannot be written, the next line finds it too short and repairs it
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
        try:
            os.unlink(self.path)
        except OSError:
            pass  # it is gone, or the file system is read-only: the next host cleans up

    def _append(self, lines: bytes) -> None:
        """Raises OSError on a full disk; then none of the lines is in the file."""
        size = self._copy.in_file
        if not self._copy.append(lines):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)
        state = os.fstat(self.fd)
        if state.st_size != size or not state.st_nlink:
            self._mend()  # somebody emptied or removed it
            return
        data = self._copy.text(size)
        written = 0
        try:
            written = os.write(self.fd, data)
        finally:
            if written < len(data):
                os.ftruncate(self.fd, size)
                os.lseek(self.fd, size, os.SEEK_SET)
        if written < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)
        self._copy.note_in_file(size + written)

    def _append_if_possible(self, line: bytes) -> bool:
        """False on a full disk. The copy has the line, so the next write brings it into the file."""
        with self.lock:
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


def _about(wanted: Container[int], starters: Container[int], lines: bytes) -> bytes:
    def is_kept(line: bytes) -> bool:
        letter, *words = line.split()
        return not words or int(words[0]) in (starters if letter == b"F" else wanted)

    return b"".join([line for line in lines.splitlines(keepends=True) if is_kept(line)])


def wait_status(ended: os.waitid_result) -> int:
    return ended.si_status << 8 if ended.si_code == os.CLD_EXITED else ended.si_status


def _times() -> bytes:
    return b"%.6f %.4f" % (time.time(), time.clock_gettime(time.CLOCK_BOOTTIME))


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
            _apply(journal, line.split(" "))
        except ValueError:
            journal.whole = False
    return journal


def _apply(journal: Journal, words: list[str]) -> None:
    records = journal.records
    match words:
        case ["S", attempt, *boottime]:
            records[int(attempt)] = record = Record(begun=True)
            record.begun_boottime = float(boottime[0]) if boottime else 0.0
        case ["P", attempt, pid, boottime]:
            record = records.setdefault(int(attempt), Record(begun=True))
            record.pid, record.seen_boottime = int(pid), float(boottime)
        case ["E", attempt, status, at, *more]:
            record = records.setdefault(int(attempt), Record(begun=True))
            record.wait_status, record.ended_at = int(status), float(at)
            record.ended_boottime = float(more[0]) if more else 0.0
            record.how = more[1].encode() if len(more) > 1 else b""
        case ["N", attempt]:
            records.setdefault(int(attempt), Record(begun=True)).never_began = True
        case ["F", *pid]:
            journal.has_starters = True
            journal.starters.update(map(int, pid))
        case ["D"]:
            journal.has_starters = False
        case _:
            raise ValueError(words)
