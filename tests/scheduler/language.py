"""A small language for tests of the scheduler: given devices and jobs and what they do, let time pass, see what became.

The loop, the store and the database are the real ones; only processes and the clock are not. A test takes milliseconds,
however long its jobs last:

    def test_a_job_that_fails_is_tried_again(queue: Queue) -> None:
        job = queue.add(fails(after_s=5), succeeds(after_s=5), retries=1, backoff_s=60)
        queue.passes(5)
        assert queue.state(job) == "queued"
        queue.passes(60 + 5)
        assert queue.state(job) == "succeeded"
        assert queue.orders() == ["start 1", "start 1"]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from duckrow.core.devices.inventory import Seat, cpu_seats, parse_gpus
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.policy import NO_POLICY, Policy
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import JobSpec
from duckrow.core.life.wishes import DeviceWish, SignalWish, Wish
from duckrow.core.ports import Health, Observer
from duckrow.core.units import parse_size_mb
from duckrow.devices.discover import Offer
from duckrow.engines.dry.behaviour import Behaviour
from duckrow.engines.dry.clock import HandClock
from duckrow.engines.dry.machine import DryMachine, DryProcess
from duckrow.engines.dry.turning import Turning
from duckrow.scheduler.hosts.dry_host import DryHost
from duckrow.store.devices.set_aside import SetAsideStore
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON, HostStore
from duckrow.store.jobs.control import ControlStore
from duckrow.store.jobs.history import AttemptMade, JobStoryStore
from duckrow.store.jobs.jobs import JobStore
from duckrow.store.sqlite.database import Database

# -- what attempts do -----------------------------------------------------------------------------------------------


def succeeds(after_s: float = 1.0, **more: Any) -> Behaviour:
    return Behaviour(runs_s=after_s, **more)


def fails(after_s: float = 1.0, code: int = 1, **more: Any) -> Behaviour:
    return Behaviour(runs_s=after_s, exit_code=code, **more)


def dies_of(signal: int, after_s: float = 1.0, **more: Any) -> Behaviour:
    return Behaviour(runs_s=after_s, signal=signal, **more)


def runs(**more: Any) -> Behaviour:
    """Until somebody ends it."""
    return Behaviour(runs_s=math.inf, **more)


def ignores_sigterm(**more: Any) -> Behaviour:
    return runs(stops_after_s=None, **more)


def cannot_start(why: str, try_later: bool = False, **more: Any) -> Behaviour:
    return Behaviour(refusal=why, try_later=try_later, **more)


def by_gpu(cases: dict[str, Behaviour], elsewhere: Behaviour) -> Callable[[LiveAttempt], Behaviour]:
    """It does one thing on these GPUs, and another on all others."""
    return lambda attempt: cases.get(attempt.holds[0][0], elsewhere)


Does = Behaviour | Callable[[LiveAttempt], Behaviour]


# -- what there is --------------------------------------------------------------------------------------------------


def slots(count: int) -> list[Seat]:
    return cpu_seats(count)


def gpus(*sizes: str) -> tuple[list[Seat], dict[str, int]]:
    """`gpus("24G", "24G")`: seats over GPUs that can be read, and their memory."""
    names = [str(number) for number in range(len(sizes))]
    memory_mb = {name: parse_size_mb(size) for name, size in zip(names, sizes, strict=True)}
    return parse_gpus(["all"], all_gpus=names), memory_mb


class Told(Observer):
    """What people would have been told."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def trouble(self, sentence: str) -> None:
        self.sentences.append(sentence)


class Queue:
    """A state folder with its daemon, and others if need be. Time passes only when the test says so."""

    def __init__(
        self,
        folder: Path,
        seats: list[Seat],
        gpus_mb: dict[str, int] | None = None,
        policy: Policy = NO_POLICY,
        **machine: Any,
    ) -> None:
        """`machine`: its `cpus` and `mem_mb`, if anybody asks for some."""
        self.folder = Folder(str(folder)).make()
        self.seats = seats
        self.known = Machine(gpus_mb or {}, policy=policy)._replace(**machine)
        self.clock = HandClock()
        self.machine = DryMachine(self._behaviour, gpus_mb)
        self.told = Told()
        self._does: dict[int, tuple[Does, ...]] = {}
        self._turning = Turning(self.clock)
        self.database = Database(self.folder, durable=False)
        self._story = JobStoryStore(self.database)
        self._control = ControlStore(self.database)
        self._seen_orders = 0
        self._hosts: dict[int, DryHost] = {}
        self.begin()

    # -- given ------------------------------------------------------------------------------------------------

    def add(self, *does: Does, command: str = "true", host_id: int = DAEMON, **fields: Any) -> int:
        """A job; what its attempts do, the last again and again. `after`: jobs that must have ended well before."""
        after = [(before, fields.pop("condition", "ok")) for before in fields.pop("after", ())]
        with self.database.transaction():
            spec = JobSpec(command, "/", **fields)
            (job_id,) = JobStore(self.database).add(host_id, [spec], {}, now=self.clock.now())
            self._control.add_dependencies([job_id], after)
        self._does[job_id] = does or (succeeds(),)
        self._ring()
        return job_id

    def expect(self, job_id: int, *does: Does) -> None:
        """Somebody else will add this job."""
        self._does[job_id] = does

    def _behaviour(self, attempt: LiveAttempt) -> Behaviour:
        does = self._does[attempt.job.id]
        self._does[attempt.job.id] = does[1:] or does
        return does[0](attempt) if not isinstance(does[0], Behaviour) else does[0]

    def begin(self, host_id: int = DAEMON, seats: list[Seat] | None = None) -> DryHost:
        """A host begins: the daemon, or the next life of a host that died."""
        offer = Offer(self.seats if seats is None else seats, self.known)
        host = DryHost(self.folder, offer, self.machine, self.clock, host_id, self.told)
        self._hosts[host_id] = host
        self._turning.add(host.reactor, host.loop.turn)
        return host

    def begin_run(self, seats: list[Seat]) -> int:
        """Another host, as of a `duckrow run`."""
        host_id = HostStore(self.database).add_run("run", "/", "")
        self.begin(host_id, seats)
        return host_id

    def host(self, host_id: int = DAEMON) -> DryHost:
        return self._hosts[host_id]

    # -- when -------------------------------------------------------------------------------------------------

    def passes(self, seconds: float = 0.0) -> None:
        """So much time; 0: what can be done now is done."""
        self._turning.advance(seconds)
        self._turning.settle()

    def stalls(self, host_id: int) -> None:
        """The host lives, and does nothing until it `goes_on`."""
        self._turning.remove(self._hosts[host_id].reactor)

    def goes_on(self, host_id: int) -> None:
        host = self._hosts[host_id]
        self._turning.add(host.reactor, host.loop.turn)

    def dies(self, host_id: int = DAEMON) -> None:
        """The host is killed. Running jobs keep running."""
        host = self._hosts.pop(host_id)
        self._turning.remove(host.reactor)
        host.die()

    def ends(self, host_id: int = DAEMON) -> None:
        """The host ends in good order. Running jobs keep running."""
        host = self._hosts.pop(host_id)
        self._turning.remove(host.reactor)
        host.close()

    def wish(self, job_id: int, wish: Wish | SignalWish) -> None:
        JobStore(self.database).wish([job_id], wish)
        self._ring()

    def kill(self, job_id: int, at_once: bool = False) -> None:
        self.wish(job_id, Wish.KILL_NOW if at_once else Wish.KILL)

    def hold(self, job_id: int) -> None:
        self._control.set_held([job_id], True)
        self._ring()

    def release(self, job_id: int) -> None:
        self._control.set_held([job_id], False)
        self._ring()

    def pause(self, job_id: int) -> None:
        self.wish(job_id, Wish.PAUSE)

    def resume(self, job_id: int) -> None:
        self.wish(job_id, Wish.CONTINUE)

    def drain(self, device: str, wish: DeviceWish | None = DeviceWish.DRAIN) -> None:
        self._control.wish_of_device(device, wish)
        self._ring()

    def limit(self, scope: str, most: int | None) -> None:
        with self.database.transaction():
            self._control.set_limit(scope, most)
        self._ring()

    def breaks(self, gpu: str, **health: Any) -> None:
        """Something is wrong with it from now on: `xids=(79,)`, `cure="it must be reset"`, `is_silent=True`."""
        self.machine.health[gpu] = Health(**health)

    def heals(self, gpu: str) -> None:
        del self.machine.health[gpu]

    def wants_back(self, gpu: str) -> None:
        """A person types `duckrow gpus add`."""
        SetAsideStore(self.database).want_back([DAEMON], gpu)
        self._ring()

    def _ring(self) -> None:
        for host in self._hosts.values():
            host.loop.state.wake()

    # -- then -------------------------------------------------------------------------------------------------

    def state(self, job_id: int) -> str:
        """The state, or the outcome once it is done; as it stands in the database."""
        return str(self.database.one("SELECT coalesce(outcome, state) FROM jobs WHERE id = ?", (job_id,)))

    def states(self, *job_ids: int) -> list[str]:
        return [self.state(job_id) for job_id in job_ids]

    def orders(self) -> list[str]:
        """What the engine was asked for since the last call: `start 1`, `stop 1 step 2`, `signal 1 19`."""
        fresh, self._seen_orders = self.machine.orders[self._seen_orders :], len(self.machine.orders)
        step = {"stop": "step "}
        return [
            f"{order.what} {order.job_id}" + (f" {step.get(order.what, '')}{order.number}" if order.number else "")
            for order in fresh
        ]

    def attempts(self, job_id: int) -> list[AttemptMade]:
        return self._story.attempts(job_id)

    def details(self, job_id: int) -> list[str]:
        """What its story says, apart from bare moves."""
        return [event.detail for event in self._story.events(job_id) if event.detail]

    def process(self, job_id: int) -> DryProcess:
        """The last one of this job."""
        return [each for each in self.machine.processes.values() if each.attempt_id // 1_000_000 == job_id][-1]

    def booked(self, host_id: int = DAEMON) -> dict[str, int]:
        """What is given out of each device, as this host sees it."""
        return {device: share for device, share in self._hosts[host_id].loop.state.booked.items() if share}

    def suspended(self) -> set[int]:
        """The jobs that have begun and stand still."""
        return set(JobStore(self.database).suspended())

    def set_aside(self) -> dict[str, str]:
        """GPU -> why it gets no job."""
        found = SetAsideStore(self.database).of_hosts([DAEMON])
        return {gpu: why for (gpu, _), why in found.items()}

    def gpus_of(self, job_id: int) -> list[str]:
        """On which each of its attempts was."""
        return ["+".join(made.devices) for made in self.attempts(job_id)]

    def close(self) -> None:
        for host in self._hosts.values():
            host.close()
        self.database.close()
