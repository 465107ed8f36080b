"""What the readings of the GPUs tell: how much each attempt takes, how much others do, and when that can be trusted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from duckrow.core.inventory import WHOLE
from duckrow.core.machine import Machine
from duckrow.core.ports import Reading

FLAT_S = 3.0
"""So long an attempt's use must not have changed before it counts as what it takes."""

FOREIGN_WINDOW_S = 60.0
"""What others have used within this time counts as used: a colleague who restarts is not overrun."""

_IDLE_FLAT_S = 15.0
"""The same for one whose GPU has had nothing to do: it still reads its data, and takes its memory afterwards."""

_STEADY_MB, _STEADY_SHARE = 32, 0.02
_CURVE_POINTS = 200


class Tenant(NamedTuple):
    """An attempt on GPUs, as far as memory is concerned."""

    id: int
    holds: tuple[tuple[str, int], ...]
    started_at: float


class Use:
    """What one attempt takes, over time."""

    def __init__(self, started_at: float) -> None:
        self._started_at = started_at
        self._recent: deque[tuple[float, int, float | None]] = deque()
        self.mb: dict[str, int] = {}  # on each GPU, by the last reading
        self.peak_mb = 0  # on the GPU where it took most
        self.is_guess = False  # the driver did not say whose memory it was, and it was not alone
        self._busy_sum, self._busy_count = 0.0, 0
        self._curve: list[tuple[float, int, int]] = []
        self._step_s = 0.0  # the curve has no two points nearer than this

    def note(self, at: float, mb: Mapping[str, int], busy: float | None) -> None:
        self.mb = dict(mb)
        most = max(mb.values(), default=0)
        self.peak_mb = max(self.peak_mb, most)
        self._recent.append((at, most, busy))
        while self._recent and self._recent[0][0] < at - _IDLE_FLAT_S - FLAT_S:
            self._recent.popleft()
        if busy is not None:
            self._busy_sum, self._busy_count = self._busy_sum + busy, self._busy_count + 1
        self._draw(at - self._started_at, most, busy)

    def is_flat(self, now: float) -> bool:
        """Whether it has taken memory, and no more of it for a while."""
        is_idle = all(busy == 0 for at, _, busy in self._recent if at >= now - FLAT_S)
        since = now - (_IDLE_FLAT_S if is_idle else FLAT_S)
        window = [mb for at, mb, _ in self._recent if at >= since]
        if len(window) < 3 or self._recent[0][0] > since or min(window) == 0:
            return False
        return max(window) - min(window) <= max(_STEADY_MB, _STEADY_SHARE * max(window))

    @property
    def utilization(self) -> float | None:
        """The mean, in percent."""
        return self._busy_sum / self._busy_count if self._busy_count else None

    @property
    def curve(self) -> list[tuple[float, int, int]]:
        """(seconds since the start, MB, percent), never more than a few hundred points."""
        return self._curve

    def _draw(self, since_s: float, mb: int, busy: float | None) -> None:
        if self._curve and since_s - self._curve[-1][0] < self._step_s:
            return
        self._curve.append((round(since_s, 1), mb, round(busy or 0)))
        if len(self._curve) > _CURVE_POINTS:
            self._curve = self._curve[::2]
            self._step_s = max(self._step_s * 2, 2 * since_s / _CURVE_POINTS)


class Observation:
    """All that has been read of the GPUs of one host."""

    def __init__(self) -> None:
        self.uses: dict[int, Use] = {}
        self.readings: dict[str, Reading] = {}
        self._foreign: dict[str, deque[tuple[float, int]]] = {}
        self._unexplained: dict[str, int] = {}
        self._before_us: dict[str, int] = {}  # what was used of a GPU when none of ours was on it
        self._stale: dict[str, float] = {}  # GPUs that must be read anew after this moment
        self._shows_pids = False  # the driver has named a process of ours: what it calls a PID is one here

    # -- noting -----------------------------------------------------------------------------------------------

    def note(
        self,
        readings: Sequence[Reading],
        tenants: Iterable[Tenant],
        owners: Mapping[int, int],
        elsewhere: Mapping[str, int] | None = None,
    ) -> None:
        """`owners`: process -> the attempt that it belongs to, of those processes that are here; 0: a stranger's.

        A negative one is of another host of ours, or has just ended; -1: another duckrow's, with which we agree by
        locks, so that what it has given back is free at once. `elsewhere`: what other hosts have booked of each
        GPU, as shares.
        """
        tenants = list(tenants)
        self._shows_pids = self._shows_pids or any(owner for owner in owners.values())
        taken: dict[int, dict[str, int]] = {tenant.id: {} for tenant in tenants}
        guessed: set[int] = set()
        for reading in readings:
            on_it = [tenant for tenant in tenants if any(device == reading.device for device, _ in tenant.holds)]
            self.readings[reading.device] = reading
            if reading.total_mb is None or reading.free_mb is None:
                continue
            used_mb = reading.total_mb - reading.free_mb
            ours = _attributed(reading, on_it, owners, self._shows_pids)
            strangers_mb = _of(reading, owners, lambda owner: owner == 0)
            kin_mb = _of(reading, owners, lambda owner: owner < -1)
            guessed |= {tenant.id for tenant in on_it if ours is None and len(on_it) > 1}
            if ours is None:
                ours = self._by_change(reading.device, used_mb, on_it)
                strangers_mb, kin_mb = max(used_mb - sum(ours.values()), 0), 0
            for tenant_id, mb in ours.items():
                taken[tenant_id][reading.device] = mb
            if not on_it:
                self._before_us[reading.device] = used_mb
            self._foreign.setdefault(reading.device, deque()).append((reading.at, strangers_mb))
            # What no process explains, such as that of one which is just ending, counts only as long as it is there;
            # so does what other hosts take beyond what they have booked.
            booked_mb = (elsewhere or {}).get(reading.device, 0) * reading.total_mb // WHOLE
            nobodys_mb = max(used_mb - sum(ours.values()) - strangers_mb - kin_mb, 0)
            self._unexplained[reading.device] = nobodys_mb + max(kin_mb - booked_mb, 0)
        busy = {reading.device: reading.utilization for reading in readings if reading.free_mb is not None}
        for tenant in tenants:
            self._note_use(tenant, taken[tenant.id], busy, max((r.at for r in readings), default=0.0))
            if tenant.id in guessed and tenant.id in self.uses:
                self.uses[tenant.id].is_guess = True

    def _note_use(self, tenant: Tenant, mb: Mapping[str, int], busy: Mapping[str, int | None], at: float) -> None:
        read = [device for device, _ in tenant.holds if device in busy]
        if not read:
            return
        use = self.uses.setdefault(tenant.id, Use(tenant.started_at))
        known = [value for device in read if (value := busy[device]) is not None]
        use.note(at, mb, sum(known) / len(known) if known else None)

    def _by_change(self, device: str, used_mb: int, tenants: Sequence[Tenant]) -> dict[int, int]:
        """The driver does not say whose it is: what came since we did is ours, and what came last the youngest's."""
        left = max(used_mb - self._before_us.get(device, 0), 0)
        shares: dict[int, int] = {}
        for tenant in sorted(tenants, key=lambda tenant: tenant.started_at):
            known = self.uses[tenant.id].mb.get(device, 0) if tenant.id in self.uses else 0
            shares[tenant.id] = min(known, left)
            left -= shares[tenant.id]
        if left and tenants:
            youngest = max(tenants, key=lambda tenant: tenant.started_at)
            shares[youngest.id] += left
        return shares

    def forget(self, tenant_id: int) -> Use | None:
        """The attempt is over; what is known of it."""
        return self.uses.pop(tenant_id, None)

    def mistrust(self, devices: Iterable[str], now: float) -> None:
        """Something has ended there: what was read before says nothing of what is free now."""
        for device in devices:
            self._stale[device] = max(now, self._stale.get(device, 0.0))

    # -- telling ----------------------------------------------------------------------------------------------

    def foreign_mb(self, device: str, now: float) -> int:
        """The most that others have used of late, and what nobody explains."""
        history = self._foreign.get(device, deque())
        while len(history) > 1 and history[0][0] < now - FOREIGN_WINDOW_S:
            history.popleft()
        return max((mb for _, mb in history), default=0) + self._unexplained.get(device, 0)

    def is_known(self, device: str) -> bool:
        reading = self.readings.get(device)
        return reading is not None and reading.free_mb is not None and reading.at > self._stale.get(device, 0.0)

    def is_outdated(self, devices: Iterable[str]) -> bool:
        """Whether one of them was not read since something changed there; one that only says nothing was."""
        read_at = {device: reading.at for device, reading in self.readings.items()}
        return any(read_at.get(device, 0.0) <= self._stale.get(device, 0.0) for device in devices)

    def machine(self, base: Machine, tenants: Iterable[Tenant], watched: Iterable[str], now: float) -> Machine:
        """The machine as it is now. Of a GPU that is watched and says nothing, nothing is free."""
        tenants = list(tenants)
        pressure: dict[str, int] = {}
        foreign: dict[str, int] = {}
        for device in watched:
            total_mb = base.total_mb.get(device)
            if total_mb is None or not self.is_known(device):
                pressure[device] = WHOLE
                foreign[device] = max(total_mb or 0, NOTICEABLE_MB)  # nor is it taken for idle
                continue
            foreign[device] = self.foreign_mb(device, now)
            over_mb = sum(self._over_mb(tenant, device, total_mb) for tenant in tenants)
            beyond_mb = foreign[device] + over_mb + base.policy.margin_of(total_mb)
            pressure[device] = -(-beyond_mb * WHOLE // total_mb)
        return base._replace(pressure=pressure, foreign_mb=_noticeable(foreign))

    def _over_mb(self, tenant: Tenant, device: str, total_mb: int) -> int:
        """What an attempt takes beyond what it has reserved."""
        reserved = sum(share for held, share in tenant.holds if held == device)
        use = self.uses.get(tenant.id)
        taken = use.mb.get(device, 0) if use is not None and reserved else 0
        return max(taken - reserved * total_mb // WHOLE, 0)


NOTICEABLE_MB = 1200
"""The driver keeps some memory of every GPU for itself: so much is not taken for a colleague."""


def _noticeable(foreign: Mapping[str, int]) -> dict[str, int]:
    return {device: mb for device, mb in foreign.items() if mb >= NOTICEABLE_MB}


def _attributed(
    reading: Reading, tenants: Sequence[Tenant], owners: Mapping[int, int], shows_pids: bool
) -> dict[int, int] | None:
    """What each tenant takes, by its processes; None where the driver shows no processes, or not by our numbers.

    In a container it may show none, or the numbers of the machine outside. Where it has named one of ours before, a
    number that nobody has here is that of a process which has just ended.
    """
    if reading.processes is None or any(process.mb is None for process in reading.processes):
        return None
    if tenants and not shows_pids and all(process.pid not in owners for process in reading.processes):
        return None
    taken = dict.fromkeys((tenant.id for tenant in tenants), 0)
    for process in reading.processes:
        owner = owners.get(process.pid)
        if owner in taken:
            taken[owner] += process.mb or 0
    return taken


def _of(reading: Reading, owners: Mapping[int, int], whose: Callable[[int], bool]) -> int:
    """What the processes of certain owners take."""
    known = ((owners[process.pid], process.mb or 0) for process in reading.processes or () if process.pid in owners)
    return sum(mb for owner, mb in known if whose(owner))
