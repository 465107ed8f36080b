"""What the GPUs have room for: their memory, what others use of it, and what the policy leaves to them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from duckrow.core.devices.device import Device
from duckrow.core.devices.inventory import WHOLE, Ledger
from duckrow.core.devices.neighbours import Neighbour, others
from duckrow.core.devices.policy import NO_POLICY, Policy

MPS_SERVERS = ("nvidia-cuda-mps-server", "nvidia-cuda-mps-control")
"""They use a GPU on behalf of others, who are listed beside them."""


_FEW = 8  # jobs may always begin at a time
_LEAST_MB = 512  # what a process takes of a GPU at least: a CUDA context


class Machine(NamedTuple):
    """The memory of the GPUs as it is now. What is not known is not here, and is never taken for free."""

    total_mb: Mapping[str, int] = {}
    pressure: Mapping[str, int] = {}  # in millionths: what is used beyond what is booked, and the margin
    foreign_mb: Mapping[str, int] = {}  # what others use, where it is worth a word
    policy: Policy = NO_POLICY
    cpus: int | None = None  # of the machine; None: nobody has looked
    mem_mb: int | None = None
    neighbours: Mapping[str, Sequence[Neighbour]] = {}  # who else uses a GPU
    unread: Sequence[str] = ()  # GPUs of which nobody knows who uses them now
    models: Mapping[str, str] = {}  # of GPUs, as the driver calls them
    locked_by: Mapping[str, str] = {}  # GPUs on which a duckrow of this user has just started something

    def share_of(self, device: str, mb: int, parts: int = 1) -> int:
        """So much memory, or an even part of it, as a share of the device.

        Rounded down: three times 8G are 24G. Not even a megabyte is lost so, where twelve share a GPU of 80G.
        """
        return max(mb * WHOLE // (self.total_mb[device] * parts), 1)

    def free_mb(self, device: str, booked: Mapping[str, int]) -> float:
        """What nobody uses and nothing is reserved for."""
        if device not in self.total_mb:
            return 0
        free = WHOLE - booked.get(device, 0) - self.pressure.get(device, 0)
        return self.total_mb[device] * free / WHOLE

    # -- jobs of which nothing is known -----------------------------------------------------------------------

    def guess_of(self, device: str) -> int | None:
        """The share that is reserved for a job of which nothing is known; None: it gets the whole device.

        It is as likely to take more as to take less: the mean, by ratio, of the least that a job takes and of all
        there is. It is never tried out where others could be hurt.
        """
        total_mb = self.total_mb.get(device)
        if total_mb is None or self.is_used_by_others(device):
            return None
        return self.share_of(device, math.isqrt(min(_LEAST_MB, total_mb) * total_mb))

    def is_read(self, device: str) -> bool:
        """Whether what is used of it is seen; else nobody would ever know what was tried out."""
        return device in self.pressure

    def takes_unknown(self, device: str, booked: Ledger) -> bool:
        """Whether a job of which nothing is known may start here: beside others of which nothing is known, and nobody
        else. They have run for a short time, so that little is lost if their memory is not enough for all.

        They all begin with imports, so more of them than the cores can serve would only slow each other down.
        """
        if not booked.get(device, 0):
            return True
        share = self.guess_of(device)
        if share is None or not self.is_read(device):
            return False
        jobs = booked.jobs[device]
        if booked[device] != jobs * share or (self.cpus is not None and jobs >= max(2 * self.cpus, _FEW)):
            return False
        return booked[device] + share + self.pressure[device] <= WHOLE

    @property
    def has_rules(self) -> bool:
        """Whether it can matter for politeness which device is used."""
        policy = self.policy
        is_crowded = bool(self.neighbours or self.unread or self.locked_by) and not policy.share
        return is_crowded or policy.only_idle or policy.max_gpus is not None or policy.min_free_gpus > 0

    def is_left_alone(self, gpu: str, whole: bool) -> bool:
        """Whether it is left to those who use it. `whole`: for a job that wants all of it, not so much memory."""
        if self.policy.only_idle and (self.is_used_by_others(gpu) or gpu in self.unread):
            return True
        if not whole or self.policy.share:
            return False
        return gpu in self.unread or gpu in self.locked_by or bool(others(self.neighbours.get(gpu, ())))

    def is_used_by_others(self, gpu: str) -> bool:
        """Whether anybody outside duckrow uses it, the user's own programs among them."""
        return gpu in self.foreign_mb or bool(self.neighbours.get(gpu))

    def may_use(
        self, devices: Iterable[str], all_gpus: Iterable[str], booked: Mapping[str, int], whole: bool = False
    ) -> bool:
        """Whether politeness allows to use these devices, beside those that we use; CPU slots bother nobody.

        `whole`: for a job that wants all of each, or a slot of it; else it shares them by memory.
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
                return False  # as long as it says nothing, it may be the one that is to stay free
            idle = {d for d in all_gpus if not booked.get(d, 0) and not self.is_used_by_others(d)}
            if wanted & idle and len(idle - wanted) < policy.min_free_gpus:
                return False
        return True

    def is_full(self, device: str, booked: Ledger) -> bool:
        """Whether as many jobs as may share the device do so already."""
        most = self.policy.jobs_per_gpu
        return most is not None and booked.jobs[device] >= most

    def with_locks(self, locked_by: Mapping[str, str]) -> Machine:
        """Nothing is free of a GPU on which somebody else is about to take memory."""
        return self._replace(pressure={**self.pressure, **dict.fromkeys(locked_by, WHOLE)}, locked_by=locked_by)

    def without_others(self) -> Machine:
        """As it would be if nobody used it: of a GPU that is watched, the margin is kept all the same."""
        pressure = {
            device: -(-self.policy.margin_of(total_mb) * WHOLE // total_mb)
            for device in self.pressure
            if (total_mb := self.total_mb.get(device))
        }
        return self._replace(pressure=pressure, foreign_mb={}, neighbours={}, unread=(), locked_by={})

    def without_politeness(self) -> Machine:
        """The same, taken by somebody who asks nobody."""
        return self._replace(policy=NO_POLICY, neighbours={}, unread=(), locked_by={})

    def order(self, devices: Iterable[Device]) -> list[Device]:
        """The preferred ones first, the others as they are listed."""
        rank = {name: number for number, name in enumerate(dict.fromkeys(self.policy.prefer))}
        return sorted(dict.fromkeys(devices), key=lambda device: rank.get(device, len(rank)))


BARE = Machine()
"""A machine of which nothing is known but its seats."""
