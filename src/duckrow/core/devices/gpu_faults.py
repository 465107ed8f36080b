"""Detects GPUs that can no longer be used: an Xid, a memory error, a GPU that fell off the bus."""

from __future__ import annotations

from collections.abc import Container, Sequence

from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import Reading
from duckrow.core.units import format_duration, plural

UNUSABLE_XIDS = {
    46: "the GPU stopped processing",
    48: "a memory error of two bits",
    62: "its internal controller halted",
    64: "a faulty row of its memory could not be replaced",
    74: "an NVLink error",
    79: "it fell off the bus",
    95: "a memory error that could not be contained",
    119: "its system processor does not answer",
    120: "its system processor failed",
    140: "a memory error that could not be corrected",
    143: "it could not be initialised",
    158: "a fatal timeout",
}
"""Those after which NVIDIA says to reset the GPU or to restart the machine.

Left out: what programs cause (13, 31, 43, 45, 109), what was corrected or contained (63, 92, 94), and what only points
to another one (154).
"""

_SILENT_READINGS = 3
_SILENT_S = 10.0  # a GPU that somebody resets is silent for a few seconds


class Fault(NamedTuple):
    """Why a GPU can no longer be used, as the end of a sentence."""

    why: str
    passes: bool = False  # a reading without it means that it is over: the GPU was reset


class Faults:
    """Remembers what it takes to tell a new fault from an old one."""

    def __init__(self) -> None:
        self._uncorrected: dict[str, int] = {}  # GPU -> the errors that were there before
        self._seen: set[str] = set()  # GPUs that have answered
        self._silent: dict[str, tuple[int, float]] = {}  # GPU -> (readings without an answer, since when)

    def note(self, readings: Sequence[Reading]) -> dict[str, Fault]:
        """Each GPU that can no longer be used."""
        faults = {
            reading.device: fault
            for reading in readings
            if (fault := _told(reading) or self._new_errors(reading) or self._silence(reading))
        }
        self._seen |= healthy(readings, faults)
        return faults

    def forget(self, gpu: str) -> None:
        """Its earlier faults no longer count."""
        self._uncorrected.pop(gpu, None)
        self._silent.pop(gpu, None)

    def _new_errors(self, reading: Reading) -> Fault | None:
        """Errors that were there at the first reading do not count. A reset sets the counters back."""
        count = None if reading.health is None else reading.health.uncorrected
        if count is None:
            return None
        before = min(self._uncorrected.get(reading.device, count), count)
        self._uncorrected[reading.device] = before
        return (
            None if count == before else Fault(f"{plural(count - before, 'memory error')} that ECC could not correct")
        )

    def _silence(self, reading: Reading) -> Fault | None:
        """A GPU that never answered does not exist (a misspelt name). A silent driver is not a fault of one GPU."""
        if reading.health is None or not reading.health.is_silent or reading.device not in self._seen:
            self._silent.pop(reading.device, None)
            return None
        count, since = self._silent.get(reading.device, (0, reading.mono))
        self._silent[reading.device] = (count + 1, since)
        lasted_s = reading.mono - since
        if count + 1 < _SILENT_READINGS or lasted_s < _SILENT_S:
            return None
        return Fault(f"it has not answered for {format_duration(lasted_s)}, while the driver does", passes=True)


def _told(reading: Reading) -> Fault | None:
    """What the driver itself reports about it."""
    health = reading.health
    if health is None:
        return None
    xid = next((xid for xid in health.xids if xid in UNUSABLE_XIDS), None)
    if xid is not None:
        return Fault(f"the driver reports Xid {xid} ({UNUSABLE_XIDS[xid]})")
    if health.is_lost:
        return Fault("it fell off the bus", passes=True)
    return Fault(f"the driver says that {health.cure}", passes=True) if health.cure else None


def healthy(readings: Sequence[Reading], faults: Container[str]) -> set[str]:
    """The GPUs that have answered and have no fault."""
    return {
        reading.device
        for reading in readings
        if reading.device not in faults and reading.health is not None and not reading.health.is_silent
    }
