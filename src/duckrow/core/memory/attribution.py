"""Whose memory it is: divides a GPU's used memory among our attempts, other people and unknown owners."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from duckrow.core.devices.device import Device, Reservations
from duckrow.core.devices.neighbours import Person
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import Reading

STRANGER = 0
ANOTHER_DUCKROW = -1
"""Owners of memory that no attempt of this host uses. A lower number is an attempt of another host of ours, or one that
just ended, negated."""


class Tenant(NamedTuple):
    """An attempt on GPUs, as far as memory is concerned."""

    id: int
    holds: Reservations
    started_mono: float

    @property
    def devices(self) -> tuple[Device, ...]:
        return tuple(device for device, _ in self.holds)


class Owners(NamedTuple):
    """Who owns the processes that the driver names."""

    of: Mapping[int, int] = {}  # process -> its owner; only processes on this machine
    ignored: Collection[int] = frozenset()  # strangers' processes that do not matter, such as a display server
    people: Mapping[int, Person] = {}  # whose the other strangers' and other duckrows' processes are


class MisplacedProcess(NamedTuple):
    """A process of an attempt on a GPU that the attempt was not given."""

    attempt_id: int
    pid: int
    gpu: str


class Shares(NamedTuple):
    """The used memory of one GPU, by owner."""

    ours: Mapping[int, int]  # attempt -> MB
    strangers_mb: int = 0
    ignored_mb: int = 0
    kin_mb: int = 0  # other hosts of ours
    nobodys_mb: int = 0  # no process here explains it: that of one that is just ending, or of other duckrows
    unexplained_mb: int = 0  # the same without other duckrows'


def shares_by_process(reading: Reading, tenants: Sequence[Tenant], owners: Owners, shows_pids: bool) -> Shares | None:
    """None if the driver shows no processes, or not by our PIDs.

    In a container it may show none, or the PIDs of the machine outside. If it has named a process of ours before, an
    unknown PID belongs to a process that has just ended.
    """
    processes = reading.processes
    if processes is None or any(process.mb is None for process in processes):
        return None
    on_it = [tenant for tenant in tenants if reading.device in tenant.devices]
    if on_it and not shows_pids and all(process.pid not in owners.of for process in processes):
        return None
    # An attempt may be on GPUs that it was not given: what it uses there still counts as its own.
    ours = dict.fromkeys((tenant.id for tenant in on_it), 0)
    known = {tenant.id for tenant in tenants}
    strangers_mb = ignored_mb = kin_mb = of_duckrows_mb = 0
    for pid, mb in processes:
        owner = owners.of.get(pid, ANOTHER_DUCKROW)  # one that has ended counts while its memory is there
        if owner in known:
            ours[owner] = ours.get(owner, 0) + (mb or 0)
        elif owner == STRANGER and pid in owners.ignored:
            ignored_mb += mb or 0
        elif owner == STRANGER:
            strangers_mb += mb or 0
        elif owner < ANOTHER_DUCKROW:
            kin_mb += mb or 0
        elif pid in owners.people:
            of_duckrows_mb += mb or 0
    explained_mb = sum(ours.values()) + strangers_mb + ignored_mb + kin_mb
    nobodys_mb = max(used_mb(reading) - explained_mb, 0)
    return Shares(ours, strangers_mb, ignored_mb, kin_mb, nobodys_mb, max(nobodys_mb - of_duckrows_mb, 0))


def shares_by_change(
    reading: Reading, tenants: Sequence[Tenant], owners: Owners, before_us_mb: int, taken_mb: Mapping[int, int]
) -> Shares:
    """For a driver that does not name owners: memory used since we came is ours, and growth is the youngest's.

    `taken_mb`: what each attempt used at the previous reading.
    """
    by_age = sorted(
        (tenant for tenant in tenants if reading.device in tenant.devices), key=lambda tenant: tenant.started_mono
    )
    left = max(used_mb(reading) - before_us_mb, 0)
    ours: dict[int, int] = {}
    for tenant in by_age:
        ours[tenant.id] = min(taken_mb.get(tenant.id, 0), left)
        left -= ours[tenant.id]
    if left and by_age:
        ours[by_age[-1].id] += left
    strangers_mb = max(used_mb(reading) - sum(ours.values()), 0)
    named_mb = sum(mb or 0 for pid, mb in reading.processes or () if pid in owners.people or pid in owners.ignored)
    return Shares(ours, strangers_mb=strangers_mb, unexplained_mb=max(strangers_mb - named_mb, 0))


def misplaced_processes(
    readings: Sequence[Reading], tenants: Sequence[Tenant], owners: Owners
) -> list[MisplacedProcess]:
    """Processes of attempts on GPUs that they were not given; the first of each attempt and GPU."""
    given = {tenant.id: tenant.devices for tenant in tenants}
    found: dict[tuple[int, str], MisplacedProcess] = {}
    for reading in readings:
        for pid, _ in reading.processes or ():
            owner = owners.of.get(pid, STRANGER)
            if owner in given and reading.device not in given[owner]:
                found.setdefault((owner, reading.device), MisplacedProcess(owner, pid, reading.device))
    return list(found.values())


def used_mb(reading: Reading) -> int:
    """For a GPU that reports its memory."""
    return (reading.total_mb or 0) - (reading.free_mb or 0)
