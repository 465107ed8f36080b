"""What simultaneous runs divide among themselves: groups of cores, and staggered starts."""

from __future__ import annotations

import fcntl
import os
import time
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

_held: list[int] = []  # the lock of this run's slot, until its process ends


@dataclass
class Resources:
    """Each run takes its share as it begins, wherever it runs. The runs only need a shared folder."""

    folder: str = ""
    slots: int = 1  # how many runs there are at a time
    cores: list[int] | None = None  # to be divided; empty: all that the run may use; None: not divided
    delay_s: float = 0.0  # between the starts of the first runs, one for each slot
    beginnings: int | None = None  # how many of those there are, if several machines have slots

    def take(self) -> list[str]:
        """Take a share, and wait for our turn. Returns what was done, in words."""
        notes = []
        if self.cores is not None:
            notes.append(self._pin())
        if self.delay_s > 0:
            notes.append(self._stagger())
        return notes

    def _pin(self) -> str:
        slot = self._free_slot()
        if slot is None:
            return "all slots seem to be taken, so this run shares all cores"
        cores = share_of(self.cores or sorted(os.sched_getaffinity(0)), slot, self.slots)
        os.sched_setaffinity(0, cores)
        return f"slot {slot} of {self.slots}, cores {','.join(map(str, cores))}"

    def _free_slot(self) -> int | None:
        """The first slot that no run of the same host has. The kernel frees it when the run ends, however it ends."""
        host = f"{os.uname().nodename}-{os.getppid()}"
        for slot in range(self.slots):
            lock = os.open(f"{self.folder}/slot-{host}-{slot}", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(lock)
                continue
            _held.append(lock)
            return slot
        return None

    def _stagger(self) -> str:
        """The first runs, as many as run at a time on all machines together, start one after the other."""
        with open(f"{self.folder}/beginnings", "a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
            except OSError:
                return "no delay: this file system has no locks, so runs cannot agree on one"
            file.seek(0)
            earlier = file.read().split()
            if len(earlier) >= (self.beginnings or self.slots):
                return "no delay: one of the earlier runs has ended"
            now = time.time()  # the only clock that all machines share
            wait_s = max(float(earlier[-1]) + self.delay_s - now, 0.0) if earlier else 0.0
            wait_s = min(wait_s, len(earlier) * self.delay_s)  # it would be more only if somebody set a clock
            file.write(f"{now + wait_s}\n")
        time.sleep(wait_s)
        return f"waited {wait_s:.1f} s for its turn"


def share_of(things: list[T], slot: int, slots: int) -> list[T]:
    """Adjacent things, divided as evenly as possible. If there are more slots than things, slots share: 0,0,1,1."""
    if slots >= len(things):
        return [things[slot * len(things) // slots]]
    return things[slot * len(things) // slots : (slot + 1) * len(things) // slots]
