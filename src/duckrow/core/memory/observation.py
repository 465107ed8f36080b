"""What the readings of the GPUs tell: how much each attempt uses, how much others use, and when to trust that."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import with_margin
from duckrow.core.devices.neighbours import Neighbour, RecentNeighbours, neighbours_of, noticeable_mb
from duckrow.core.memory.attribution import Owners, Shares, Tenant, shares_by_change, shares_by_process, used_mb
from duckrow.core.memory.use import Point, Use
from duckrow.core.ports import Reading

FOREIGN_WINDOW_S = 60.0
"""The most that others have used within this time counts as used: what a program gives back, it often takes again."""

FRESH_S = 2.0
"""An older reading says nothing about now: the scheduler, `why` and previews ignore it.

While a job waits for memory, or somebody is looking, the GPUs are read twice a second.
"""

LOOK_S = 5.0
"""A host keeps reading the GPUs for this long each time that somebody asks it to."""

SHOWN_S = 5.0
"""A figure on a screen may be this old. Nothing is decided by it, and on a busy machine a reading may take longer than
FRESH_S: figures that come and go help nobody."""


def is_fresh(read_mono: float, mono: float, longest_s: float = FRESH_S) -> bool:
    """Whether a reading is recent enough to count as current."""
    return read_mono > mono - longest_s


class Observation:
    """All that has been read of the GPUs of one host. All times here are monotonic."""

    def __init__(self) -> None:
        self.uses: dict[int, Use] = {}  # attempt -> what it uses
        self.readings: dict[str, Reading] = {}  # the last one of each GPU
        self._foreign: dict[str, deque[tuple[float, int]]] = {}  # GPU -> (when, what strangers used)
        self._passing: dict[str, int] = {}  # GPU -> memory that counts as used only while it is there
        self._ignored: dict[str, int] = {}  # GPU -> used by processes that do not make it busy
        self._before_us: dict[str, int] = {}  # what was used of a GPU when nothing of ours was on it
        self._stale: dict[str, float] = {}  # GPUs that must be read again after this moment
        self._neighbours = RecentNeighbours()
        self._shows_pids = False  # the driver has named a process of ours, so its PIDs are those of this machine

    # -- noting -----------------------------------------------------------------------------------------------

    def note(
        self,
        readings: Sequence[Reading],
        tenants: Sequence[Tenant],
        owners: Owners,
        elsewhere: Mapping[str, int] | None = None,
    ) -> None:
        """`elsewhere`: what other hosts have reserved of each GPU, as shares."""
        self._shows_pids = self._shows_pids or any(owners.of.values())
        taken: dict[int, dict[str, int]] = {tenant.id: {} for tenant in tenants}
        guessed: set[int] = set()
        told: set[int] = set()  # by the driver
        for reading in readings:
            self.readings[reading.device] = reading
            if reading.total_mb is None or reading.free_mb is None:
                named = neighbours_of(reading.processes or (), owners.people, 0, 0)
                self._neighbours.note(reading.device, named, reading.mono)
                continue
            shares = shares_by_process(reading, tenants, owners, self._shows_pids)
            if shares is None:
                shares = shares_by_change(
                    reading, tenants, owners, self._before_us.get(reading.device, 0), self._taken_mb(reading.device)
                )
                guessed |= shares.ours.keys() if len(shares.ours) > 1 and any(shares.ours.values()) else set()
            else:
                told |= shares.ours.keys()
            for tenant_id, mb in shares.ours.items():
                taken[tenant_id][reading.device] = mb
            self._note_others(reading, shares, owners, (elsewhere or {}).get(reading.device, 0))
        self._note_uses(readings, tenants, taken, guessed, told)

    def _note_others(self, reading: Reading, shares: Shares, owners: Owners, booked: int) -> None:
        """`booked`: reserved by other hosts, which may use more than that."""
        device, total_mb = reading.device, reading.total_mb or 0
        if not shares.ours:
            self._before_us[device] = used_mb(reading)
        history = self._foreign.setdefault(device, deque())
        history.append((reading.mono, shares.strangers_mb))
        while history[0][0] < reading.mono - FOREIGN_WINDOW_S:
            history.popleft()
        self._ignored[device] = shares.ignored_mb
        neighbours = neighbours_of(reading.processes or (), owners.people, shares.unexplained_mb, total_mb)
        self._neighbours.note(device, neighbours, reading.mono)
        self._passing[device] = shares.nobodys_mb + max(shares.kin_mb - booked * total_mb // WHOLE, 0)

    def _note_uses(
        self,
        readings: Sequence[Reading],
        tenants: Sequence[Tenant],
        taken: Mapping[int, Mapping[str, int]],
        guessed: set[int],
        told: set[int],
    ) -> None:
        busy = {reading.device: reading.utilization for reading in readings if reading.free_mb is not None}
        mono = max((reading.mono for reading in readings), default=0.0)
        for tenant in tenants:
            read = [device for device in tenant.devices if device in busy]
            if not read:
                continue
            known = [value for device in read if (value := busy[device]) is not None]
            use = self.uses.setdefault(tenant.id, Use(tenant.started_mono))
            if use.is_guess and tenant.id in told - guessed:
                use.forget_guess()
            use.note(mono, taken[tenant.id], sum(known) / len(known) if known else None)
            use.is_guess = use.is_guess or tenant.id in guessed

    def _taken_mb(self, device: str) -> dict[int, int]:
        return {attempt_id: use.mb.get(device, 0) for attempt_id, use in self.uses.items()}

    def forget(self, tenant_id: int) -> Use | None:
        """The attempt is over. Returns what is known about it."""
        return self.uses.pop(tenant_id, None)

    def resume(self, tenant: Tenant, curve: Sequence[Point]) -> None:
        """Continue what another host has seen of an attempt."""
        self.uses.setdefault(tenant.id, Use(tenant.started_mono)).resume(curve)

    def mistrust(self, devices: Iterable[str], mono: float) -> None:
        """Something has ended there: earlier readings no longer tell what is free."""
        for device in devices:
            self._stale[device] = max(mono, self._stale.get(device, 0.0))

    # -- telling ----------------------------------------------------------------------------------------------

    def foreign_mb(self, device: str, mono: float) -> int:
        """Memory that is not ours: the most that others have used recently, plus what counts only while it is there."""
        return self._in_the_way_mb(device, mono) + self._ignored.get(device, 0)

    def _in_the_way_mb(self, device: str, mono: float) -> int:
        """The same without the processes that do not make a GPU busy."""
        history = self._foreign.get(device, ())
        last = [mb for _, mb in history][-1:]
        of_late = [mb for at, mb in history if at >= mono - FOREIGN_WINDOW_S]
        return max(of_late or last, default=0) + self._passing.get(device, 0)

    def neighbours(self, device: str, mono: float) -> tuple[Neighbour, ...]:
        """Who else uses it, or did until a moment ago."""
        return self._neighbours.of(device, mono)

    def is_unread(self, device: str, mono: float, is_sized: bool) -> bool:
        """Whether nobody knows who uses it. `is_sized`: its memory is known, so it can be read.

        It does not matter if a job of ours has ended there since: the GPU can only have become emptier.
        """
        reading = self.readings.get(device)
        if reading is None or self.is_old([device], mono) or reading.is_silent:
            return True
        return is_sized and reading.free_mb is None

    def is_old(self, devices: Iterable[str], mono: float) -> bool:
        """Whether one of them has no recent reading."""
        read = {device: reading.mono for device, reading in self.readings.items()}
        return not all(is_fresh(read.get(device, 0.0), mono) for device in devices)

    def is_known(self, device: str, mono: float) -> bool:
        reading = self.readings.get(device)
        return reading is not None and reading.free_mb is not None and not self.is_outdated([device], mono)

    def is_outdated(self, devices: Iterable[str], mono: float) -> bool:
        """Whether one of them has no recent reading, or none since something changed there. An empty one counts."""
        read = {device: reading.mono for device, reading in self.readings.items()}
        return any(read.get(device, 0.0) <= max(self._stale.get(device, 0.0), mono - FRESH_S) for device in devices)

    def machine(self, base: Machine, tenants: Sequence[Tenant], watched: Iterable[str], mono: float) -> Machine:
        """The machine as it is now. A watched GPU that reports nothing has nothing free."""
        watched = list(watched)
        pressure: dict[str, int] = {}
        foreign: dict[str, int] = {}
        for device in watched:
            total_mb = base.total_mb.get(device)
            if total_mb is None or not self.is_known(device, mono):
                pressure[device] = WHOLE
                foreign[device] = max(total_mb or 0, noticeable_mb(0))  # nor does it count as idle
                continue
            in_the_way_mb = self._in_the_way_mb(device, mono)
            if in_the_way_mb > noticeable_mb(total_mb):
                foreign[device] = in_the_way_mb
            over_mb = sum(self._over_mb(tenant, device, total_mb, mono) for tenant in tenants)
            beyond_mb = self.foreign_mb(device, mono) + over_mb + base.policy.margin_of(total_mb)
            pressure[device] = -(-beyond_mb * WHOLE // total_mb)
        return base._replace(
            pressure=pressure,
            foreign_mb=foreign,
            neighbours={device: found for device in watched if (found := self.neighbours(device, mono))},
            unread=tuple(device for device in watched if self.is_unread(device, mono, device in base.total_mb)),
        )

    def _over_mb(self, tenant: Tenant, device: str, total_mb: int, mono: float) -> int:
        """What an attempt uses beyond its reservation; on a GPU that it was not given, all that it uses.

        If it uses clearly more than expected and is still growing, count it twice: it may grow as much again.
        """
        reserved_mb = sum(share for held, share in tenant.holds if held == device) * total_mb // WHOLE
        use = self.uses.get(tenant.id)
        mb = 0 if use is None else use.mb.get(device, 0)
        if use is not None and reserved_mb and mb > with_margin(reserved_mb) and not use.is_flat(mono):
            mb *= 2
        return max(mb - reserved_mb, 0)
