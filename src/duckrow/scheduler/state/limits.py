"""Limits: how many jobs of a project or an array may run at a time, and what the cores and the memory allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Needs, needs_from
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.schedule.decide import CORES, MEMORY


class Limits:
    def __init__(self) -> None:
        self.most: dict[str, int] = {}  # scope -> how many at a time
        self.elsewhere: list[Needs] = []  # what other hosts have reserved of this machine

    def look(self, most: dict[str, int], elsewhere: list[Needs]) -> None:
        """Read them from the database."""
        self.most = most
        self.elsewhere = elsewhere

    def of_machine(self, machine: Machine, live: Iterable[LiveAttempt]) -> dict[str, int]:
        """What is left of the cores and of the memory: for a queue in which somebody asks for some."""
        reserved = [needs_from(attempt.job.needs) for attempt in live if attempt.follows is None]
        reserved += self.elsewhere
        room = {}
        if machine.cpus is not None:
            room[CORES] = machine.cpus - sum(needs.cpus or 0 for needs in reserved)
        if machine.mem_mb is not None:
            room[MEMORY] = machine.mem_mb - sum(needs.mem_mb or 0 for needs in reserved)
        return room

    def room(self, live: Iterable[LiveAttempt], host_id: int) -> dict[str, int]:
        """How many more of each limited scope may run."""
        if not self.most:
            return {}
        running = Counter(scope for a in live if a.job_host_id == host_id for scope in a.job.scopes)
        return {scope: most - running[scope] for scope, most in self.most.items()}
