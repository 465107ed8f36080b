"""What the scheduler needs from an engine and from a source of devices. A new engine implements this."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from duckrow.core.clock import Now
from duckrow.core.devices.device import Device
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.life.retry import Verdict
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.protocol import Protocol

TYPE_CHECKING = False  # most runs never ask how long jobs will run
if TYPE_CHECKING:
    from duckrow.core.schedule.run_times import RunTimes

RUNS_FOLLOW = "DUCKROW_RUNS_FOLLOW"
"""A variable of jobs: more like this one will come, so what prepares their start is worth while from the first on."""


class StartOrder(NamedTuple):
    """All that an engine needs to start an attempt."""

    attempt: LiveAttempt
    folder: str  # the run's own folder; made before the attempt begins
    extra_environment: dict[bytes, bytes]  # what duckrow adds to the job's own
    gentle_environment: dict[bytes, bytes] = {}  # the same, unless the job sets it itself
    runs_follow: bool = False  # others wait or run that can be preloaded with it


class Started(NamedTuple):
    """The attempt's process exists."""

    attempt_id: int
    pid: int
    process: str  # its unique name


class NotStarted(NamedTuple):
    """The attempt never began. `try_later`: it is the machine's fault (disk full), not the job's."""

    attempt_id: int
    reason: str
    try_later: bool


class NeverBegan(NamedTuple):
    """Its scheduler died after it had recorded the start, but before it acted."""

    attempt_id: int


class Ended(NamedTuple):
    """The attempt's first process ended, with what the kernel reported."""

    attempt_id: int
    exit_code: int | None
    signal: int | None
    at: float
    leftovers: tuple[str, ...]  # processes of the attempt that are still there, in words
    silent: bool  # it printed nothing and left no file, so it has no folder and no log
    oom_killed: bool | None = None  # the kernel killed some of it because memory ran out; None: not counted for it
    host_peak_mb: int | None = None  # the most memory of the machine that it used; None: not counted for it


class Gone(NamedTuple):
    """The last of the processes that an attempt left behind is gone."""

    attempt_id: int


class Vanished(NamedTuple):
    """The attempt's process ended and nobody saw how."""

    attempt_id: int
    reason: str
    leftovers: tuple[str, ...] = ()  # as above


Report = Started | NotStarted | NeverBegan | Ended | Gone | Vanished


class CoreTime(NamedTuple):
    """Of all cores together, counted from any moment on."""

    busy_s: float
    all_s: float

    def busy_since(self, before: CoreTime) -> float | None:
        """In percent; None: no time has passed."""
        passed_s = self.all_s - before.all_s
        return 100 * (self.busy_s - before.busy_s) / passed_s if passed_s > 0 else None


class Engine(Protocol):
    """How a placed job becomes a process somewhere. It decides nothing and writes no state: it reports.

    This is all that the scheduler asks of it. No call waits: what takes time is reported once it has happened.
    """

    @property
    def keeper(self) -> str:
        """Names where it records the attempts it starts: new in each host process, stored with each attempt."""

    def begin(self, keepers_in_use: set[str], let_go: Callable[[], None]) -> None:
        """Called once, after `adopt` of what an earlier host process left. Records of unused keepers may be removed.

        Call `let_go` if this process must stop being a host. After that the database is closed and another host takes
        over: the engine may only wait for its attempts to end.
        """

    def start(self, orders: Sequence[StartOrder]) -> None:
        """Each is answered by Started, Ended or both, or by NotStarted."""

    def line_up(self, order: StartOrder) -> None:
        """Start this attempt the moment the one that it follows is gone."""

    def lined_up(self) -> int:
        """How many attempts are lined up."""

    def follow_up(self) -> None:
        """Start what is lined up behind attempts that have ended meanwhile: the loop calls it while it writes.

        Costs next to nothing if none has. What happened is in the next `reports`.
        """

    def stand_down(self, attempt: LiveAttempt) -> bool:
        """Do not start an attempt that was lined up; False if it has already started."""

    def adopt(self, attempts: Iterable[LiveAttempt], rebooted: bool) -> None:
        """Watch attempts that another process, now dead, has started; `rebooted`: before the last reboot."""

    def notice(self, attempt: LiveAttempt, number: int) -> bool:
        """Send a signal to those processes of the attempt that handle it; whether there was one."""

    def signal_all(self, attempt: LiveAttempt, number: int) -> bool:
        """Send a signal to every process of the attempt, for example to suspend it; whether there was one."""

    def stop(self, attempt: LiveAttempt, step: int) -> None:
        """Take this step of stopping: 1 asks (SIGTERM), 2 forces (SIGKILL)."""

    def reports(self) -> list[Report]:
        """What has happened since the last call; never waits."""

    def settled(self) -> None:
        """All that `reports` has told is on disk."""

    def owners_of(self, pids: Iterable[int], attempts: Iterable[LiveAttempt]) -> dict[int, int]:
        """For those of these processes that run here: the attempt that each belongs to, 0 for a stranger's.

        A negative number is an attempt of ours that is not among these; -1 is another duckrow's.
        """

    def ran_out_of_memory(self, attempt: LiveAttempt) -> bool | None:
        """Whether the machine has killed any process for its memory since this attempt began; None: unknown."""

    def core_time(self) -> CoreTime | None:
        """How long the cores on which attempts run have been busy, whoever uses them; None: unknown."""

    def close(self, keepers_in_use: set[str]) -> None:
        """Attempts keep running, and another host adopts them. Its records may go if its keeper is not in use."""


class Observer:
    """Watches the loop: the live view of a run, a test. Called after the tick is on disk."""

    def starting(self, attempt: LiveAttempt) -> None:
        """Its start is on disk, but nothing of it runs yet."""

    def started(self, attempt: LiveAttempt) -> None: ...

    def ended(self, attempt: LiveAttempt, verdict: Verdict, at: float) -> None: ...

    def back(self, job_id: int) -> None:
        """A job that had failed is queued again: it was not its own fault."""

    def trouble(self, sentence: str) -> None: ...

    def trouble_over(self) -> None: ...


class Progress(Protocol):
    """What a view can ask about a run in progress."""

    @property
    def host_id(self) -> int: ...

    @property
    def added(self) -> int:
        """How many jobs there are to do, as far as known."""

    @property
    def reading(self) -> bool:
        """Whether more jobs may come."""

    @property
    def running(self) -> Sequence[LiveAttempt]: ...

    @property
    def waiting(self) -> Sequence[QueuedJob]:
        """The next ones, as far as known."""

    @property
    def run_times(self) -> RunTimes | None:
        """What similar runs took; None: nobody knows."""

    @property
    def seat_count(self) -> int:
        """How many jobs can run at a time, if each has its devices to itself."""

    @property
    def waits_for(self) -> Sequence[str]:
        """What keeps the first job from starting, while none is running."""

    @property
    def starts_more(self) -> bool:
        """Not once it was interrupted, or gave up."""

    @property
    def interrupts(self) -> int: ...

    @property
    def hung_up(self) -> bool: ...


class Alarm(Protocol):
    """Rings at a time of one clock. An alarm of the wall clock also rings when somebody sets that clock."""

    def set_for(self, moment: float | None) -> None:
        """None: cancel it."""

    def close(self) -> None: ...


class Reactor(Protocol):
    """Sleeps until something happens, then makes the calls for it."""

    def now(self) -> Now:
        """The one place where the scheduler and its engines read the clocks."""

    def watch(self, fd: int, call: Callable[[], None]) -> None: ...

    def unwatch(self, fd: int) -> None: ...

    def later(self, seconds: float, call: Callable[[], None]) -> None: ...

    def alarm(self, clock: int, ring: Callable[[], None]) -> Alarm:
        """For CLOCK_REALTIME or CLOCK_BOOTTIME; `later` goes by CLOCK_MONOTONIC."""

    def on_signal(self, number: int, call: Callable[[], None]) -> None: ...

    def heard(self, number: int) -> bool:
        """Whether such a signal has come since this was last asked; its call is still to be made."""

    def wait(self, at_most_s: float | None) -> None:
        """Sleep until something happens or the time is up, then make the calls that are due."""

    def close(self) -> None: ...


class Gpu(NamedTuple):
    """A GPU as its library describes it."""

    name: str  # its name in CUDA_VISIBLE_DEVICES
    model: str
    uuid: str
    memory_mb: int | None
    part_of: tuple[str, ...] = ()  # an instance of a divided GPU: the number and the UUID of that GPU


class Allocation(NamedTuple):
    """What a cluster job was given of its node, as reported by the batch system. None: it does not say."""

    gpus: str = ""  # in the form of CUDA_VISIBLE_DEVICES, if that variable is not set
    cores: int | None = None
    memory_mb: int | None = None


class ProcessUse(NamedTuple):
    """A process on a GPU."""

    pid: int
    mb: int | None  # None: the driver does not say


class Health(NamedTuple):
    """What a GPU and its driver report about faults. A reading that is not supported is not a fault."""

    uncorrected: int | None = None  # memory errors that ECC could not correct, since the driver was loaded
    xids: tuple[int, ...] = ()  # reported by the driver since the last reading
    cure: str = ""  # what the driver says must be done before it can be used again
    is_lost: bool = False  # it fell off the bus
    is_silent: bool = False  # the driver answers, but not for this GPU


class Reading(NamedTuple):
    """What a GPU reports at one moment. None: it does not say, which never counts as zero."""

    device: str
    at: float  # to show to people
    mono: float  # tells how old it is
    total_mb: int | None
    free_mb: int | None
    utilization: int | None  # percent of the time in which it was busy
    temperature: int | None  # degrees Celsius
    processes: tuple[ProcessUse, ...] | None
    problem: str = ""  # why it reports less than it should
    health: Health | None = None  # None: there was nobody to ask

    @property
    def is_silent(self) -> bool:
        """Whether it reports nothing at all: it is lost, or its driver is."""
        told = (self.free_mb, self.utilization, self.temperature, self.processes)
        return all(figure is None for figure in told)


class GpuReader(Protocol):
    """Reads GPUs without blocking the loop: a driver may hang."""

    waiting: bool  # an answer is on its way
    no_library: bool  # there is nothing to ask, and there never will be

    @property
    def empty(self) -> bool:
        """Whether there is no answer to take."""

    def ask(self, names: Sequence[str]) -> None:
        """Start reading these GPUs; the reactor wakes when it is done."""

    def answer(self) -> tuple[list[Gpu], list[Reading]] | None:
        """(all GPUs, a reading of each and of those that were asked for), once per question."""


class MpsServer(Protocol):
    """NVIDIA's MPS, under which several processes use one GPU at the same time."""

    def start(self, gpus: Sequence[Device]) -> str:
        """Empty if it runs now, else the reason why not. `gpus`: all GPUs of this machine."""

    @property
    def variables(self) -> dict[bytes, bytes]:
        """The environment variables for its clients; empty when it does not run."""

    def end(self) -> None:
        """This host needs it no more."""


class DeviceSource(Protocol):
    def is_there(self) -> bool:
        """Whether there is a library to ask. Without one, devices are what the user says, and are never read."""

    def devices(self) -> list[Gpu]: ...

    def read(self, names: Sequence[str]) -> list[Reading]:
        """A reading of each of these GPUs, which may also be named by UUID."""

    def rest(self) -> None:
        """It will not be asked again soon: release the library."""
