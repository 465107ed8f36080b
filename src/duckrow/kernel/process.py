"""Identities of processes: one is the process we mean if its PID, start time, boot and PID namespace are as recorded.

The kernel reuses a PID as soon as it is free. So a PID alone proves nothing, and is never enough to send a signal.
"""

from __future__ import annotations

import functools
import os
import pwd

from duckrow.core.named_tuple import NamedTuple

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
TICK_S = 1 / _TICKS_PER_S
"""/proc rounds start times down to this."""

LONGEST_NAME = 15
"""How many characters of a program's name the kernel keeps."""


class Process(NamedTuple):
    pid: int
    parent: int
    group: int
    session: int
    start: int  # ticks since boot
    zombie: bool

    @property
    def started_s(self) -> float:
        """Seconds since boot."""
        return self.start / _TICKS_PER_S


def read_process(pid: int) -> Process | None:
    fields = _stat(pid)
    if fields is None:
        return None
    # A process whose first thread has ended looks like a zombie, but its other threads are still working.
    zombie = fields[0] in b"ZX" and int(fields[17]) <= 1
    return Process(pid, int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]), zombie)


def _stat(pid: int) -> list[bytes] | None:
    """Its fields in /proc, from the state on."""
    try:
        stat = _read_at_once(f"/proc/{pid}/stat")
    except OSError:
        return None
    # The name is in parentheses and may contain anything, including parentheses.
    return stat[stat.rindex(b")") + 2 :].split()


def _read_at_once(path: str) -> bytes:
    """Read a short kernel file in one call; a file object would make five more system calls."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 4096)
    finally:
        os.close(fd)


def all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


# -- where a PID means something ------------------------------------------------------------------------------------


class PidSpace(NamedTuple):
    """One boot of a machine, and one of its PID namespaces (each container has its own)."""

    boot: str
    namespace: str  # empty: not known

    def __str__(self) -> str:
        return f"{self.boot}.{self.namespace}"


def pid_space_from(text: str) -> PidSpace | None:
    boot, dot, namespace = text.rpartition(".")
    return PidSpace(boot, namespace) if dot and boot else None


@functools.cache
def our_pid_space() -> PidSpace:
    return PidSpace(boot_id(), _namespace())


@functools.cache
def boot_id() -> str:
    """Names this boot of the machine: no process of an earlier boot is left."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return ""


def proc_is_ours() -> bool:
    """Whether /proc shows our own PID namespace: otherwise its numbers belong to other processes."""
    try:
        return os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return False


# -- identities -------------------------------------------------------------------------------------------------------


def identity_of(pid: int) -> str:
    """The unique name of a living process: `PID:START:BOOT.NAMESPACE`; empty if it is gone."""
    process = read_process(pid)
    return "" if process is None or process.zombie else f"{pid}:{process.start}:{our_pid_space()}"


def pid_in(identity: str) -> int | None:
    """The PID in an identity."""
    pid = identity.partition(":")[0]
    return int(pid) if pid.isdigit() else None


def space_in(identity: str) -> PidSpace | None:
    return pid_space_from(identity.rpartition(":")[2])


def is_alive(identity: str) -> bool:
    pid = pid_in(identity)
    return pid is not None and identity_of(pid) == identity


def has_ended(identity: str) -> bool:
    """Whether it is gone, or its first thread is. In ours no other thread outlives that for long: it was killed."""
    pid = pid_in(identity)
    fields = None if pid is None else _stat(pid)
    return fields is None or fields[0] in b"ZX" or f"{pid}:{int(fields[19])}:{our_pid_space()}" != identity


def signal_process(identity: str, number: int) -> bool:
    """Signal exactly this process; False if it is gone, or not visible from here."""
    import signal  # who only looks need not load it

    fd = open_pidfd_of(identity)
    if fd is None:
        return False
    try:
        signal.pidfd_send_signal(fd, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(fd)
    return True


def open_pidfd_of(identity: str) -> int | None:
    """A pidfd of exactly this process, or None. Checked again once it is open: the PID may have been reused."""
    pid = pid_in(identity)
    fd = None if pid is None else open_pidfd(pid)
    if fd is not None and not is_alive(identity):
        os.close(fd)
        return None
    return fd


def open_pidfd(pid: int) -> int | None:
    """A file descriptor that becomes readable when the process ends; None if it is already gone."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


# -- what else is known of a process --------------------------------------------------------------------------------


def environment_of(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:  # another user's, or gone
        return []


def program_of(pid: int) -> str:
    """Its name, possibly cut short; empty if it is gone."""
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            return os.fsdecode(file.read().rstrip(b"\n"))
    except OSError:
        return ""


def command_line_of(pid: int) -> str:
    """Its program and arguments; empty if it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.fsdecode(file.read(4096).rstrip(b"\0").replace(b"\0", b" "))
    except OSError:
        return ""


def user_of(pid: int) -> str | None:
    """Its owner's name; None: it is not visible from here (gone, or outside this container)."""
    uid = uid_of(pid)
    return None if uid is None else user_name(uid)


def uid_of(pid: int) -> int | None:
    """Its owner; None: it is not visible from here."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def user_name(uid: int) -> str:
    """The number, if there is no name for it."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def own_memory_mb(pid: int) -> int:
    """Memory that it shares with no file: its heap and stacks. 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return next((int(line.split()[1]) >> 10 for line in file if line.startswith("RssAnon:")), 0)
    except OSError:
        return 0


def catches(pid: int, number: int) -> bool:
    """Whether the process handles this signal: if not, the signal might kill it."""
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                if line.startswith("SigCgt:"):
                    return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    except OSError:
        pass
    return False


def children_of(pid: int) -> list[int]:
    """Those of all its threads: each thread lists what it has forked."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += [int(child) for child in file.read().split()]
        return found
    except OSError:
        return [p.pid for p in map(read_process, all_pids()) if p is not None and p.parent == pid]


class ChildrenList:
    """Our own children. They are read often, so the file stays open."""

    def __init__(self) -> None:
        try:
            self._fd: int | None = os.open(f"/proc/{os.getpid()}/task/{os.getpid()}/children", os.O_RDONLY)
        except OSError:
            self._fd = None

    def read(self) -> set[int]:
        return set(map(int, self._text().split()))

    def count(self) -> int:
        """How many there are, which is quicker to say than which."""
        return self._text().count(b" ")  # after each of them

    def _text(self) -> bytes:
        if self._fd is None:
            return b"".join(b"%d " % child for child in children_of(os.getpid()))
        data = os.pread(self._fd, 1 << 16, 0)
        while len(data) >= 1024 and (more := os.pread(self._fd, 1 << 16, len(data))):
            data += more  # the kernel gives a page at a time
        return data
