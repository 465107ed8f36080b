"""How much room the GPUs have: their memory, what others use of it, and what the policy leaves to others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from duckrow.core.devices.device import Device
from duckrow.core.devices.inventory import WHOLE, Ledger
from duckrow.core.devices.neighbours import Neighbour, others
from duckrow.core.devices.policy import NO_POLICY, Policy
from duckrow.core.named_tuple import NamedTuple

MPS_SERVERS = ("nvidia-cuda-mps-server", "nvidia-cuda-mps-control")
"""They use a GPU on behalf of other processes, which are listed too."""


_FEW = 8  # this many jobs may always start at a time
_LEAST_MB = 512  # the least that a process uses of a GPU: a CUDA context


def is_one_wave(jobs: int, have_room: int) -> bool:
    """Whether these jobs had better start all at once, though fewer should: a second wave would not be half full."""
    return 2 * jobs <= 3 * have_room


class Machine(NamedTuple):
    """The memory of the GPUs as it is now. What is unknown is missing here, and never counts as free."""

    total_mb: Mapping[str, int] = {}
    pressure: Mapping[str, int] = {}  # in millionths: what is used beyond what is booked, plus the margin
    foreign_mb: Mapping[str, int] = {}  # what others use, if it is worth mentioning
    policy: Policy = NO_POLICY
    cpus: int | None = None  # of the machine; None: nobody has looked
    mem_mb: int | None = None
    neighbours: Mapping[str, Sequence[Neighbour]] = {}  # who else uses a GPU
    unread: Sequence[str] = ()  # nobody knows who uses these GPUs now
    models: Mapping[str, str] = {}  # of GPUs, as the driver calls them
    locked_by: Mapping[str, str] = {}  # GPUs on which a duckrow of this user has just started something
    unknown_jobs: int = 0  # for each GPU: jobs about which nothing is known, those that are tried out included

    def share_of(self, device: str, mb: int, parts: int = 1) -> int:
        """This much memory, or an equal part of it, as a share of the device.

        Rounded down, so that three jobs of 8G fit on 24G. Not even a megabyte is lost if twelve share a GPU of 80G.
        """
        return max(mb * WHOLE // (self.total_mb[device] * parts), 1)

    def free_mb(self, device: str, booked: Mapping[str, int]) -> float:
        """Memory that nobody uses and nothing has reserved."""
        if device not in self.total_mb:
            return 0
        free = WHOLE - booked.get(device, 0) - self.pressure.get(device, 0)
        return self.total_mb[device] * free / WHOLE

    def missing(self, gpus: Iterable[str]) -> list[str]:
        """Those of these GPUs that the driver does not list, though it lists others."""
        return [gpu for gpu in gpus if gpu not in self.models] if self.models else []

    # -- jobs about which nothing is known ---------------------------------------------------------------------

    def guess_of(self, device: str) -> int | None:
        """The share to reserve for a job about which nothing is known; None: it gets the whole device.

        The job is as likely to use more as less: this is the geometric mean of the least that a job uses and all there
        is; half of it, if all such jobs then start at once. It is never tried where others could suffer.
        """
        half = self._half_guess(device)
        if half is None or self.is_used_by_others(device):
            return None
        have_room = WHOLE // (2 * half)
        is_enough = have_room < self.unknown_jobs and is_one_wave(self.unknown_jobs, have_room)
        return half if is_enough else 2 * half

    def is_guess(self, device: str, share: int) -> bool:
        half = self._half_guess(device)
        return half is not None and share in (half, 2 * half)

    def _half_guess(self, device: str) -> int | None:
        total_mb = self.total_mb.get(device)
        if total_mb is None:
            return None
        return max(self.share_of(device, math.isqrt(min(_LEAST_MB, total_mb) * total_mb)) // 2, 1)

    def is_read(self, device: str) -> bool:
        """Whether its use is measured; otherwise nobody would ever see how a trial went."""
        return device in self.pressure

    def takes_unknown(self, device: str, booked: Ledger) -> bool:
        """Whether a job about which nothing is known may start here: beside other such jobs and nobody else. Those
        have not run for long, so little is lost if the memory is not enough for all.

        They all begin with imports, so more of them than the cores can serve would only slow each other down.
        """
        if not booked.get(device, 0):
            return True
        share, half = self.guess_of(device), self._half_guess(device)
        if share is None or half is None or not self.is_read(device):
            return False
        jobs = booked.jobs[device]
        are_guesses = jobs * half <= booked[device] <= jobs * 2 * half and booked[device] % half == 0
        if not are_guesses or (self.cpus is not None and jobs >= max(2 * self.cpus, _FEW)):
            return False
        return booked[device] + share + self.pressure[device] <= WHOLE

    @property
    def has_rules(self) -> bool:
        """Whether politeness can limit which devices are used."""
        policy = self.policy
        is_crowded = bool(self.neighbours or self.unread or self.locked_by) and not policy.share
        return is_crowded or policy.only_idle or policy.max_gpus is not None or policy.min_free_gpus > 0

    def is_left_alone(self, gpu: str, whole: bool) -> bool:
        """Whether it is left to those who use it. `whole`: for a job that wants all of it, not an amount of memory."""
        if self.policy.only_idle and (self.is_used_by_others(gpu) or gpu in self.unread):
            return True
        if not whole or self.policy.share:
            return False
        return gpu in self.unread or gpu in self.locked_by or bool(others(self.neighbours.get(gpu, ())))

    def is_used_by_others(self, gpu: str) -> bool:
        """Whether anybody outside duckrow uses it, including the user's own programs."""
        return gpu in self.foreign_mb or bool(self.neighbours.get(gpu))

    def may_use(
        self, devices: Iterable[str], all_gpus: Iterable[str], booked: Mapping[str, int], whole: bool = False
    ) -> bool:
        """Whether politeness allows using these devices besides those in use; CPU slots disturb nobody.

        `whole`: for a job that wants all of each, or a slot of it; otherwise it shares them by memory.
        """
        if not self.has_rules:
            return True
        policy = self.policy
        all_gpus = set(all_gpus)
        wanted = all_gpus & set(devices)
        if any(self.is_left_alone(device, whole) for device in wanted):
            return False
        if policy.max_gpus is not None:
            used = {device for device in all_gpus if booked.get(device, 0) > 0}
            if len(used | wanted) > policy.max_gpus:
                return False
        if policy.min_free_gpus:
            if any(self.pressure.get(device, 0) >= WHOLE for device in wanted):
                return False  # while it reports nothing, it may be the one that must stay free
            idle = {d for d in all_gpus if not booked.get(d, 0) and not self.is_used_by_others(d)}
            if wanted & idle and len(idle - wanted) < policy.min_free_gpus:
                return False
        return True

    def is_full(self, device: str, booked: Ledger) -> bool:
        """Whether as many jobs as may share the device already do."""
        most = self.policy.jobs_per_gpu
        return most is not None and booked.jobs[device] >= most

    def with_locks(self, locked_by: Mapping[str, str]) -> Machine:
        """A GPU on which somebody else is about to take memory has nothing free."""
        return self._replace(pressure={**self.pressure, **dict.fromkeys(locked_by, WHOLE)}, locked_by=locked_by)

    def without_others(self) -> Machine:
        """As it would be if nobody used it; a watched GPU still keeps its margin."""
        pressure = {
            device: -(-self.policy.margin_of(total_mb) * WHOLE // total_mb)
            for device in self.pressure
            if (total_mb := self.total_mb.get(device))
        }
        return self._replace(pressure=pressure, foreign_mb={}, neighbours={}, unread=(), locked_by={})

    def without_politeness(self) -> Machine:
        """The same without any regard for others."""
        return self._replace(policy=NO_POLICY, neighbours={}, unread=(), locked_by={})

    def order(self, devices: Iterable[Device]) -> list[Device]:
        """The preferred ones first, the others in the order given."""
        rank = {name: number for number, name in enumerate(dict.fromkeys(self.policy.prefer))}
        return sorted(dict.fromkeys(devices), key=lambda device: rank.get(device, len(rank)))


BARE = Machine()
"""A machine about which nothing is known but its seats."""
