"""The processes of an attempt: are they there, which are they, and how to signal them. Reads /proc."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

TAG = "DUCKROW_TAG"
"""The variable by which every process of an attempt is known, wherever it moved."""


TAG_PREFIX = f"{TAG}=".encode()


def tag_of(journal: str, attempt_id: int) -> str:
    """The value of that variable: unique on this machine."""
    return f"{journal}.{attempt_id}"


_MOST_PARENTS = 20
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# /proc rounds start times down to a tick; a PID cannot come round again within this time.
_REUSE_SLACK_S = 0.02


class Process(NamedTuple):
    pid: int
    parent: int
    session: int
    started_s: float  # seconds since boot
    zombie: bool


def read_process(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
    except OSError:
        return None
    # The name is in parentheses and may hold anything, also parentheses.
    fields = stat[stat.rindex(b")") + 2 :].split()
    return Process(pid, int(fields[1]), int(fields[3]), int(fields[19]) / _TICKS_PER_S, fields[0] in b"ZX")


def is_same_process(pid: int, seen_boottime: float) -> bool:
    """Whether this PID still is the process that was seen then, not a later one with its number."""
    process = read_process(pid)
    return process is not None and not process.zombie and process.started_s <= seen_boottime + _REUSE_SLACK_S


def processes_of(tag: str, leader: int | None) -> list[Process]:
    """Every living process of an attempt: by tag, by session, and whatever descends from those."""
    table = {p.pid: p for p in map(read_process, _all_pids()) if p is not None}
    wanted = f"{TAG}={tag}".encode()
    members = {
        pid
        for pid, process in table.items()
        if (leader is not None and process.session == leader) or wanted in environment_of(pid)
    }
    grew = True
    while grew:
        children = {pid for pid, process in table.items() if process.parent in members} - members
        members |= children
        grew = bool(children)
    members.discard(os.getpid())
    return [table[pid] for pid in sorted(members) if not table[pid].zombie]


def attempts_of(pids: Iterable[int], attempts: Mapping[str, int], is_ours: Callable[[str], bool]) -> dict[int, int]:
    """Of those of these processes that live here: the attempt that each belongs to, 0 for a stranger's.

    `attempts`: by their tags. One of another host of ours (`is_ours` says so of its journal), or one that has ended
    just now, is told as a negative number, and -1 is another duckrow's. The numbers alone do not do: every state folder
    begins with 1.
    """
    found: dict[int, int] = {}
    for pid in pids:
        attempt = _attempt_of(pid, attempts, is_ours)
        process = read_process(pid)
        if process is not None and not process.zombie:  # looked at last: it may have ended meanwhile
            found[pid] = attempt
    return found


def _attempt_of(pid: int, attempts: Mapping[str, int], is_ours: Callable[[str], bool]) -> int:
    """By its tag, or that of the next of its parents that has one: a process may have cleared its environment."""
    for _ in range(_MOST_PARENTS):
        for variable in environment_of(pid):
            if variable.startswith(TAG_PREFIX):
                tag = os.fsdecode(variable[len(TAG_PREFIX) :])
                journal, _, number = tag.rpartition(".")
                known = int(number) if number.isdigit() and is_ours(journal) else 0
                return attempts.get(tag, -known or -1)
        process = read_process(pid)
        if process is None or process.parent <= 1:
            return 0
        pid = process.parent
    return 0


def _all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def environment_of(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:  # another user's, or gone
        return []


LONGEST_NAME = 15
"""What the kernel keeps of the name of a program."""


def program_of(pid: int) -> str:
    """Its name, or the beginning of it; empty if it is gone."""
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            return os.fsdecode(file.read().rstrip(b"\n"))
    except OSError:
        return ""


def children_of(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return [p.pid for p in map(read_process, _all_pids()) if p is not None and p.parent == pid]


class ChildrenList:
    """Our own children, read often: the file stays open."""

    def __init__(self) -> None:
        try:
            self._fd: int | None = os.open(f"/proc/{os.getpid()}/task/{os.getpid()}/children", os.O_RDONLY)
        except OSError:
            self._fd = None

    def read(self) -> set[int]:
        if self._fd is None:
            return set(children_of(os.getpid()))
        data = os.pread(self._fd, 1 << 16, 0)
        while len(data) >= 1024 and (more := os.pread(self._fd, 1 << 16, len(data))):
            data += more  # the kernel gives a page at a time
        return {int(child) for child in data.split()}


def catches(pid: int, number: int) -> bool:
    """Whether the process has a handler for this signal: to one that has none it might be deadly."""
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                if line.startswith("SigCgt:"):
                    return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    except OSError:
        pass
    return False


def send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def send_to_group(leader: int, number: int) -> None:
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        pass


def open_pidfd(pid: int) -> int | None:
    """A file that becomes readable when the process ends, or None when it is gone already."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
