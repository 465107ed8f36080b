"""The cgroups of a host's attempts: made for those that last, and removed when they end."""

from __future__ import annotations

import errno
from collections.abc import Iterable

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import Reactor
from duckrow.engines.local.cgroups.attempt_group import AttemptGroup
from duckrow.engines.local.cgroups.cgroups import tags_by_group
from duckrow.engines.local.cgroups.group_mover import Mover
from duckrow.engines.local.processes.processes import tag_of

_NO_LIMIT = "no cgroup that counts memory is available here, so the kernel cannot limit a job's memory"
_FIRST_LOOK_S, _LONGEST_LOOK_S = 0.002, 0.5


class AttemptGroups:
    """If cgroups are not available, no attempt has one, and everything else works the same."""

    def __init__(self, reactor: Reactor, keepers_folder: str, journal: str) -> None:
        """`journal`: the name of this host's journal."""
        self._reactor = reactor
        self._journal = journal
        self._groups: dict[int, AttemptGroup] = {}
        self._expected: set[int] = set()  # attempts that may get a group
        self._mover = Mover(reactor, keepers_folder, self._moved)

    # -- getting one ------------------------------------------------------------------------------------------

    def expect(self, attempt: LiveAttempt, process: str) -> None:
        """It has begun, with this first process. It gets a group once it is a second old."""
        if attempt.id not in self._groups:
            self._expected.add(attempt.id)
            self._mover.expect(attempt.id, tag_of(attempt.keeper, attempt.id), process)

    def make_for(self, attempt: LiveAttempt, limit_mb: int) -> AttemptGroup:
        """A group to start in, with this memory limit. Raises OSError if that is not available."""
        cgroups = self._mover.cgroups()
        group = None if cgroups is None else cgroups.make(tag_of(attempt.keeper, attempt.id))
        if group is not None:
            self._groups[attempt.id] = group
            if group.limit_memory(limit_mb):
                return group
        raise OSError(errno.EOPNOTSUPP, f"{_NO_LIMIT} (--mem-limit)")

    def find_again(self, attempts: Iterable[LiveAttempt]) -> None:
        """Find the groups that an earlier host has made for these attempts."""
        tags = {tag_of(attempt.keeper, attempt.id): attempt.id for attempt in attempts}
        cgroups = self._mover.cgroups() if tags else None
        if cgroups is not None:
            self._groups |= {tags[tag]: group for tag, group in cgroups.again(tags).items()}

    def _moved(self, attempt_id: int, group: AttemptGroup) -> None:
        if attempt_id in self._expected:
            self._expected.discard(attempt_id)
            self._groups[attempt_id] = group
        else:
            self._remove(group)  # the attempt has ended meanwhile

    def __contains__(self, attempt_id: object) -> bool:
        """Whether it has a group; few jobs last long enough."""
        return attempt_id in self._groups

    # -- what is in it ----------------------------------------------------------------------------------------

    def pids(self, attempt_id: int) -> list[int]:
        group = self._groups.get(attempt_id)
        return [] if group is None else group.pids()

    def is_empty(self, attempt_id: int) -> bool:
        group = self._groups.get(attempt_id)
        return group is None or group.is_empty

    def attempt_of(self, pid: int) -> int | None:
        """Which of our attempts has this process in its group."""
        for tag in tags_by_group(pid):
            journal, _, number = tag.rpartition(".")
            if journal == self._journal:
                return int(number)
        return None

    def oom_killed(self, attempt_id: int) -> bool | None:
        """Whether the kernel killed some of it because memory ran out; None if that is not counted by group."""
        group = self._groups.get(attempt_id)
        kills = None if group is None else group.oom_kills()
        return None if kills is None else kills > 0

    def peak_mb(self, attempt_id: int) -> int | None:
        """The most main memory that it used; None if the kernel does not count that for it alone."""
        group = self._groups.get(attempt_id)
        return None if group is None else group.memory_peak_mb()

    # -- ending it --------------------------------------------------------------------------------------------

    def kill(self, attempt_id: int) -> None:
        """Kill all processes in it at once."""
        group = self._groups.get(attempt_id)
        if group is not None:
            group.kill()

    def gone(self, attempt_id: int) -> None:
        """The attempt is over: remove its group, and kill what is still in it."""
        self._expected.discard(attempt_id)
        self._mover.forget(attempt_id)
        group = self._groups.pop(attempt_id, None)
        if group is not None:
            self._remove(group)

    def _remove(self, group: AttemptGroup, wait_s: float = _FIRST_LOOK_S) -> None:
        if not group.remove():
            group.kill()
            longer_s = min(wait_s * 2, _LONGEST_LOOK_S)
            self._reactor.later(wait_s, lambda: self._remove(group, longer_s))

    def close(self) -> None:
        """Let go. The groups of running attempts stay, and the next host finds them again."""
        self._mover.close()
