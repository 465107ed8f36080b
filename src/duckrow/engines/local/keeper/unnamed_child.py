"""Finds the processes of attempts, if whoever started them died before it could write down which ones they are."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from duckrow.core.named_tuple import NamedTuple
from duckrow.engines.local.keeper.journal import JournalWriter, Record
from duckrow.engines.local.processes.processes import TAG, TAG_PREFIX, tag_of
from duckrow.kernel.process import Process, environment_of, read_process

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from collections.abc import Collection

_EXEC_S = 1.0


class Found(NamedTuple):
    pids: dict[int, int]  # attempt -> its process
    never_began: list[int]
    """Those that are in neither had a process, but there is no telling which: they have ended."""


def find_of_starters(
    journal: JournalWriter, attempts: Mapping[int, int | None], strangers: Callable[[], Collection[int]]
) -> Found:
    """The processes of these attempts, whose starters are dead, so that they are our children: as far as one is known,
    and else one of the strangers."""
    pids = {attempt: pid for attempt, pid in attempts.items() if pid is not None}
    if len(pids) == len(attempts):
        return Found(pids, [])
    known = {attempt: record for attempt, record in journal.read().items() if attempt in attempts or record.has_ended}
    found = find_unnamed(journal.name, known, strangers())
    for attempt, pid in found.pids.items():
        journal.started(attempt, pid)
    return found._replace(pids=pids | found.pids)


def find_unnamed(journal: str, known: Mapping[int, Record], strangers: Collection[int]) -> Found:
    """Which of these children of ours are attempts without a known process: by its tag, or as a session's leader if it
    has ended or shed its environment. `known`: all that the journal says.

    If we take a stranger for it, the worst is an outcome `lost`. If we miss the child, its job runs a second time.
    """
    unnamed = {attempt: record for attempt, record in known.items() if record.begun and record.pid is None}
    pids: dict[int, int] = {}
    untagged: list[int] = []
    our_variables = environment_of(os.getpid())
    by_tag = {f"{TAG}={tag_of(journal, attempt)}".encode(): attempt for attempt in unnamed}
    ended = {record.pid: record for record in known.values() if record.has_ended}
    for pid in strangers if unnamed else ():
        tags = [
            each for each in _variables_after_exec(pid) if each.startswith(TAG_PREFIX) and each not in our_variables
        ]
        process = read_process(pid)
        if tags and tags[0] in by_tag:
            pids[by_tag[tags[0]]] = pid
        elif process is not None and process.session == pid and not (tags or _is_known(process, ended.get(pid))):
            untagged.append(pid)
    left = [attempt for attempt in unnamed if attempt not in pids]
    # The host writes down all that it is about to start, and starts them in this order; a starter, one at a time.
    of_host = [attempt for attempt in left if not unnamed[attempt].by_starter][:1]
    begun = [attempt for attempt in left if unnamed[attempt].by_starter] + of_host
    if not untagged:
        return Found(pids, left)
    if len(begun) == 1:
        pids[begun[0]] = untagged[0]
    return Found(pids, [attempt for attempt in left if attempt not in begun])


def _is_known(process: Process, record: Record | None) -> bool:
    """Whether it is an attempt whose end a starter wrote down, and died before it waited for it."""
    return record is not None and process.started_s <= record.seen_boottime


def _variables_after_exec(pid: int) -> list[bytes]:
    """The environment of a child. Whoever started it may have died just then.

    Before it runs its own program, such a child looks like its parent, and then for a moment it shows nothing.
    """
    ours, our_variables = os.readlink("/proc/self/exe"), environment_of(os.getpid())
    deadline = time.monotonic() + _EXEC_S
    while True:
        process = read_process(pid)
        if process is None or process.zombie:
            return []
        variables = environment_of(pid)
        try:
            is_new = os.readlink(f"/proc/{pid}/exe") != ours
        except OSError:
            is_new = False
        # The host has a tag itself if it is a daemon, or was started by a job.
        tagged = any(v.startswith(TAG_PREFIX) and v not in our_variables for v in variables)
        if tagged or (is_new and any(variables)) or time.monotonic() > deadline:
            return variables
        time.sleep(0.001)
