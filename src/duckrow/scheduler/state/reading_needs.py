"""When the GPUs were read, and for whom they must be read again."""

from __future__ import annotations

from duckrow.core.devices.machine import Machine
from duckrow.core.memory.observation import LOOK_S


class ReadingNeeds:
    def __init__(self, machine: Machine) -> None:
        self.seen_machine = machine  # as the last tick saw it
        self.read_mono = 0.0
        self.kept_mono = 0.0  # when the memory use of attempts was last written down
        self.looked_at_until_mono = 0.0  # by a person
        self.others_matter = False  # how much others use matters to a waiting job
        self.neighbours_matter = False  # who uses a GPU matters to a job that waits for a whole one

    def want(self, others: bool, neighbours: bool) -> None:
        """What matters to the jobs that wait."""
        self.others_matter, self.neighbours_matter = others, neighbours

    def see(self, machine: Machine) -> None:
        self.seen_machine = machine

    def read(self, mono: float) -> None:
        self.read_mono = mono

    def keep(self, mono: float) -> None:
        self.kept_mono = mono

    def look_until(self, mono: float) -> None:
        self.looked_at_until_mono = mono

    def is_looked_at(self, mono: float) -> bool:
        return 0 < self.looked_at_until_mono - mono <= LOOK_S
