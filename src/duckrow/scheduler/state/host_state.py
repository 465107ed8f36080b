"""The state of a host: all that a tick knows and changes. It uses no files, clocks or processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from duckrow.core.clock import Now
from duckrow.core.devices.device import Reservations, only_gpus
from duckrow.core.devices.inventory import Ledger, Seat, book, unbook
from duckrow.core.devices.machine import BARE, Machine
from duckrow.core.devices.set_aside import SetAside
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import JobSpec, QueuedJob
from duckrow.core.life.retry import Verdict
from duckrow.core.memory.knowledge import Knowledge
from duckrow.core.memory.observation import Observation
from duckrow.core.ports import Report
from duckrow.scheduler.state.attempt_notes import AttemptNotes
from duckrow.scheduler.state.gpu_paces import GpuPaces
from duckrow.scheduler.state.gpu_trust import GpuTrust
from duckrow.scheduler.state.known_gpus import KnownGpus
from duckrow.scheduler.state.limits import Limits
from duckrow.scheduler.state.line_pace import LinePace
from duckrow.scheduler.state.mps_use import MpsUse
from duckrow.scheduler.state.next_delays import NextDelays
from duckrow.scheduler.state.queue_head import QueueHead
from duckrow.scheduler.state.reading_needs import ReadingNeeds
from duckrow.scheduler.state.started_early import StartedEarly
from duckrow.scheduler.state.tick_failures import TickFailures
from duckrow.scheduler.state.told import Told
from duckrow.scheduler.state.unseen_reservations import UnseenReservations
from duckrow.scheduler.state.wish_cursor import WishCursor

TYPE_CHECKING = False  # most runs never ask how long jobs will run, and plan nothing
if TYPE_CHECKING:
    from duckrow.core.schedule.batch_plan import BatchPlan
    from duckrow.core.schedule.run_times import RunTimes

LEAST_S = 1.0
"""How long a shorter job lasts is not kept: its order does not matter, and they come by the thousand."""

_MOST_PORTS = 256


class HostState:
    """Others may read the public attributes, and change them only through the methods."""

    def __init__(self, host_id: int, seats: Sequence[Seat], machine: Machine = BARE) -> None:
        """`machine`: as it is when nobody uses it."""
        self.host_id = host_id
        # Attempts and what they hold.
        self.live: dict[int, LiveAttempt] = {}
        self.lined_up: dict[int, LiveAttempt] = {}  # attempt -> the one behind it
        self.booked = Ledger()  # by us, as we know it; by other hosts, according to the database
        self.notes = AttemptNotes()
        # Devices.
        self.seats: list[Seat] = list(seats)  # replaced when devices come or go; in place, only their order changes
        self.drained: frozenset[str] = frozenset()  # get no new job, because a person said so
        self.gpus = KnownGpus(self.seats, machine)
        self.observation = Observation()  # what was read of the GPUs
        self.reading = ReadingNeeds(machine)
        self.trust = GpuTrust()  # which of them get no new job, because they look broken
        self.mps = MpsUse()
        # Memory.
        # How much recipes take, as the database says: a new object whenever something was learned.
        self.known_memory = Knowledge({})
        self.unseen = UnseenReservations()
        self.early = StartedEarly()
        # Jobs that wait.
        self.queue = QueueHead()
        self.limits = Limits()
        self.delays = NextDelays()
        self.run_times: RunTimes | None = None  # how long they will run; None: nobody has asked yet, or knows any
        self.may_have_run_times = True  # somebody should ask
        self.plans: Sequence[BatchPlan] = ()  # in which order those of a batch start
        self.shunned: frozenset[int] = frozenset()  # jobs that blocked all others because of a bug in duckrow
        self.withheld: set[int] = set()  # queued jobs of a resumed run that may no longer be wanted
        self.inbox: list[JobSpec] = []  # jobs of a run that arrived since the last tick
        self.environment: Mapping[str, str] = {}  # of the jobs in the inbox
        self.wishes = WishCursor()
        # What was seen, and is not yet on disk or not yet reported.
        self.reports: list[Report] = []
        self.ends: list[tuple[LiveAttempt, Verdict, float]] = []  # of this tick, with their times
        self.came_back: list[int] = []  # jobs that were done, and were queued again in this tick
        self.freed = False  # something became free that other hosts may want
        # What the host wants.
        self.dispatching = True  # else nothing is started
        self.looks_ahead = True  # short jobs may be lined up behind others
        self.last_freed_first = False  # of several free seats, take the one freed last; else the first in the list
        self.stop_all = 0  # 1: stop all that we started; 2: kill it at once
        self.sets_aside = True  # GPUs that look broken
        self.written_devices: Mapping[str, str] | None = None  # how jobs see devices, if not by their own names
        # What was learned or done before.
        self.pace = LinePace()  # of short jobs
        self.gpu_paces = GpuPaces()
        self.ports: deque[int] = deque(maxlen=_MOST_PORTS)  # that jobs were given to listen on, the last ones
        self.wall_at_boot: float | None = None  # by which the times of running jobs are stated
        self.told = Told()
        self.failures = TickFailures()
        # When to tick.
        self.woken = True  # somebody may have written to the database: look at everything
        self.wake_mono: float | None = None  # a limit or a grace ends
        self.ticked_mono = 0.0

    # -- questions --------------------------------------------------------------------------------------------

    def is_own(self, attempt: LiveAttempt) -> bool:
        """Whether its job is ours; else we watch it for a dead host."""
        return attempt.job_host_id == self.host_id

    @property
    def running(self) -> list[LiveAttempt]:
        """Those that are not lined up behind another one."""
        return [attempt for attempt in self.live.values() if attempt.follows is None]

    @property
    def runs_own(self) -> bool:
        return any(self.is_own(attempt) for attempt in self.live.values())

    @property
    def may_start(self) -> bool:
        """Not while wishes are left: they may be about the jobs that would start."""
        return self.dispatching and not self.wishes.are_left

    @property
    def jobs_wait(self) -> bool:
        return bool(self.queue or self.inbox)

    @property
    def first_in_queue(self) -> QueuedJob | None:
        return self.queue.jobs[0] if self.queue else None

    @property
    def any_out_of_use(self) -> bool:
        return bool(self.drained or self.trust.aside)

    def usable(self, seats: list[Seat]) -> list[Seat]:
        """The seats whose devices may get a job."""
        if not self.any_out_of_use:
            return seats
        out = self.drained | self.trust.aside.keys()
        return [seat for seat in seats if out.isdisjoint(seat.devices)]

    def not_set_aside(self, seats: Iterable[Seat]) -> list[Seat]:
        return [seat for seat in seats if self.trust.aside.keys().isdisjoint(seat.devices)]

    def pending(self) -> set[int]:
        """Attempts with a report that is not yet on disk."""
        return {report.attempt_id for report in self.reports}

    @property
    def is_unsettled(self) -> bool:
        """Whether something has arrived that no tick has handled."""
        return bool(self.inbox or self.reports or self.queue or self.queue.stale)

    @property
    def is_due(self) -> bool:
        """Whether a tick has something to do now."""
        if self.woken or self.inbox or self.stop_all or self.wishes.are_due:
            return True
        return self.queue.stale if self.dispatching else bool(self.lined_up)

    # -- attempts ---------------------------------------------------------------------------------------------

    def watch(self, attempts: Iterable[LiveAttempt]) -> None:
        """Watch these too. The next `rebook` books what they hold."""
        for attempt in attempts:
            self.live[attempt.id] = attempt

    def start(self, attempt: LiveAttempt) -> None:
        self.live[attempt.id] = attempt
        self._book(attempt)

    def line_up(self, attempt: LiveAttempt, behind: int) -> None:
        """It holds nothing until the attempt before it is gone."""
        attempt.line_up(behind)
        self.lined_up[behind] = attempt
        self.live[attempt.id] = attempt

    def drop(self, attempt: LiveAttempt) -> None:
        """Nothing of it was started, and nothing is booked for it."""
        del self.live[attempt.id]
        self.notes.forget(attempt.id)
        if attempt.follows is not None:
            self.lined_up.pop(attempt.follows, None)

    def release(self, attempt: LiveAttempt) -> None:
        """It is over. An attempt lined up behind it takes its place; if there is none, others may want that place."""
        del self.live[attempt.id]
        self.notes.forget(attempt.id)
        self._unbook(attempt)
        successor = self.lined_up.pop(attempt.id, None)
        if successor is not None:
            successor.step_up()
            self._book(successor)
            return
        only_ours = not attempt.has_gpu and self.is_own(attempt)
        if not only_ours or attempt.job.needs is not None:  # all hosts share the cores and the memory
            self.freed = True

    # -- what is booked ---------------------------------------------------------------------------------------

    def rebook(self, of_other_hosts: Iterable[Reservations]) -> None:
        """Book everything again. CPU slots are not shared between hosts."""
        self.booked = Ledger()
        for attempt in self.live.values():
            self._book(attempt)
        for holds in of_other_hosts:
            book(only_gpus(holds), self.booked)

    def rehold(self, attempt: LiveAttempt, holds: Reservations) -> None:
        """The attempt now holds another share of the same devices."""
        self._unbook(attempt)
        attempt.hold(holds)
        self._book(attempt)
        self.look_again()
        self.freed = True

    def _book(self, attempt: LiveAttempt) -> None:
        if attempt.follows is None:
            book(self._counted(attempt), self.booked)

    def _unbook(self, attempt: LiveAttempt) -> None:
        unbook(self._counted(attempt), self.booked)
        if self.last_freed_first:
            self.seats.sort(key=lambda seat: seat.holds != attempt.holds)

    def _counted(self, attempt: LiveAttempt) -> Reservations:
        return attempt.holds if self.is_own(attempt) else only_gpus(attempt.holds)

    # -- devices ----------------------------------------------------------------------------------------------

    def offers(self, device: str) -> bool:
        return any(device in seat.devices for seat in self.seats)

    def add_seat(self, seat: Seat) -> None:
        self._sit_on([seat, *self.seats])

    def remove_device(self, device: str) -> None:
        self._sit_on([seat for seat in self.seats if device not in seat.devices])

    def _sit_on(self, seats: list[Seat]) -> None:
        self.seats = seats
        self.gpus.seat(seats)

    def drain(self, devices: frozenset[str]) -> None:
        """Exactly these devices get no new jobs."""
        self.drained = devices

    def set_gpu_aside(self, gpu: SetAside) -> None:
        self.trust.set_aside(gpu)
        self.look_again()

    def give_gpu_out(self, device: str) -> None:
        """It may be used again."""
        self.trust.give_out(device)
        self.look_again()

    def take_last_freed_first(self) -> None:
        """Of several free seats, take the one that was listed or freed last."""
        self.last_freed_first = True
        self._sit_on(self.seats[::-1])

    # -- what the host wants ----------------------------------------------------------------------------------

    def dispatch(self, wanted: bool) -> None:
        """Whether to start jobs."""
        self.dispatching = wanted

    def look_ahead(self, wanted: bool) -> None:
        self.looks_ahead = wanted

    def end_all(self, at_once: bool = False) -> None:
        """Stop all that we started; `at_once`: without a grace period."""
        self.stop_all = 2 if at_once else 1

    def never_set_gpus_aside(self) -> None:
        self.sets_aside = False

    def write_devices_as(self, written: Mapping[str, str] | None) -> None:
        """What jobs see instead of the names of their devices."""
        self.written_devices = written

    def take_in(self, job: JobSpec) -> None:
        self.inbox.append(job)

    def withhold(self, job_ids: Iterable[int]) -> None:
        """Do not start these yet."""
        self.withheld.update(job_ids)
        self.look_again()

    def give_back(self, job_ids: Iterable[int]) -> None:
        """They may start like any others."""
        self.withheld.difference_update(job_ids)
        self.look_again()

    def begin_with(self, environment: Mapping[str, str]) -> None:
        """The environment of the jobs that are taken in."""
        self.environment = environment

    # -- what is remembered -----------------------------------------------------------------------------------

    def know_memory(self, known: Knowledge) -> None:
        self.known_memory = known

    def know_times(self, times: RunTimes | None) -> None:
        """None: there are none yet."""
        self.run_times, self.may_have_run_times = times, False

    def note_time(self, job: QueuedJob, lasted_s: float) -> None:
        """It has succeeded. If nobody has asked yet, it will be read from the database."""
        if lasted_s < LEAST_S:
            return
        self.may_have_run_times = True
        if self.run_times is not None:
            self.run_times.note(job, lasted_s)

    def note_clock(self, now: Now) -> None:
        self.wall_at_boot = now.wall_at_boot

    def hand_out(self, port: int) -> None:
        self.ports.append(port)

    # -- a tick -----------------------------------------------------------------------------------------------

    def begin_tick(self, now: Now, changed_by_others: bool) -> bool:
        """Whether to look at everything again."""
        self.ticked_mono = now.mono
        changed, self.woken = changed_by_others or self.woken, False
        self.ends, self.came_back = [], []
        return changed

    def note(self, reports: Iterable[Report]) -> None:
        self.reports += reports

    def shun(self, job_id: int) -> None:
        """Start no attempt of this job, and ignore reports of the one it has, which keeps its devices."""
        self.shunned |= {job_id}
        self.look_again()
        attempts = {attempt.id for attempt in self.live.values() if attempt.job.id == job_id}
        self.reports = [report for report in self.reports if report.attempt_id not in attempts]

    def settle(self) -> None:
        """All that had arrived is on disk."""
        self.reports, self.inbox, self.stop_all = [], [], 0

    def wake_at(self, mono: float | None) -> None:
        self.wake_mono = mono

    def keep_plans(self, plans: Sequence[BatchPlan]) -> None:
        self.plans = plans

    def note_back(self, job_id: int) -> None:
        self.came_back.append(job_id)

    def note_end(self, attempt: LiveAttempt, verdict: Verdict, at: float) -> None:
        self.ends.append((attempt, verdict, at))

    def take_freed(self) -> bool:
        """Whether to tell other hosts; true only once."""
        freed, self.freed = self.freed, False
        return freed

    def wake(self) -> None:
        self.woken = True

    def look_again(self) -> None:
        """Our copy of the head of the queue is out of date."""
        self.queue.outdate()
