"""An attempt at a job while it lives: its devices, its process, how it is stopped and how it ended."""

from __future__ import annotations

from duckrow.core.clock import Now
from duckrow.core.devices.device import Device, Reservations, gpus_among
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.life.states import Outcome, State
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.quick_dataclass import dataclass, field

ATTEMPTS_PER_JOB = 1_000_000


class Exit(NamedTuple):
    """How the first process of an attempt ended, as the kernel reported it."""

    code: int | None  # None: by a signal
    signal: int | None = None
    at: float | None = None  # None: another host saw it, and the time was not kept
    oom_killed: bool | None = None  # some of its processes were, as memory had run out; None: nobody knows whose were
    host_peak_mb: int | None = None


class Loss(NamedTuple):
    """Nobody saw how the first process of an attempt ended."""

    because: str
    code: None = None  # and what else an exit tells
    signal: None = None
    at: None = None
    oom_killed: None = None
    host_peak_mb: None = None


class FirstProcess(NamedTuple):
    """The process that an attempt began with."""

    pid: int | None  # None: it runs in another container, and here that number is another process
    identity: str = ""  # what identifies it for good; empty until we saw it running


class Stop(NamedTuple):
    """An attempt is being stopped."""

    reason: Outcome | None  # None: its first process has ended, and only its leftovers are stopped
    began_mono: float
    step: int = 0  # the last one that was taken: 0 none, 1 SIGTERM, 2 SIGKILL
    leftovers: str = ""  # what was still running after its first process, in words


@dataclass
class LiveAttempt:
    """An attempt that holds devices, as the host that watches it sees it.

    The host and its engine share it, so it is one object. Only its own methods change it: they replace its values.
    """

    number: int
    job: QueuedJob
    keeper: str
    holds: Reservations
    started: Now
    log: str
    job_host_id: int
    state: State = State.STARTING
    follows: int | None = None  # the attempt whose devices it takes over as soon as that one ends
    awaits_parent: bool = False  # its preloaded parent is still importing: it has not begun, and no time counts
    first: FirstProcess | None = None  # None until it has one
    kernel_kills: int | None = None  # how many processes the kernel had killed for their memory when it began
    noticed: bool = False  # the warning before the time limit was sent
    suspended_mono: float | None = None  # since when it is suspended, because somebody paused it
    stop: Stop | None = None  # None: nobody stops it
    end: Exit | Loss | None = None  # of its first process; what it left behind may keep the attempt from being done
    id: int = field(init=False)  # the number of the attempt within its state folder

    def __post_init__(self) -> None:
        self.id = self.job.id * ATTEMPTS_PER_JOB + self.number

    @property
    def started_at(self) -> float:
        """To show to people."""
        return self.started.wall

    @property
    def devices(self) -> list[Device]:
        return [device for device, _ in self.holds]

    @property
    def gpus(self) -> list[Device]:
        """Empty for one on a CPU slot."""
        return gpus_among(self.holds)

    @property
    def has_gpu(self) -> bool:
        return self.holds[0].device.is_gpu

    @property
    def deadline_mono(self) -> float | None:
        """When its time limit is over; None while it is suspended or has not begun."""
        if self.job.timeout_s is None or self.suspended_mono is not None or self.awaits_parent:
            return None
        return self.started.mono + self.job.timeout_s

    @property
    def pid(self) -> int | None:
        return None if self.first is None else self.first.pid

    @property
    def process(self) -> str:
        """What identifies its first process for good; empty until we saw it running."""
        return "" if self.first is None else self.first.identity

    @property
    def exit_code(self) -> int | None:
        """None: its first process has not ended, or by a signal, or nobody saw how."""
        return None if self.end is None else self.end.code

    @property
    def signal(self) -> int | None:
        return None if self.end is None else self.end.signal

    @property
    def lost_because(self) -> str:
        return self.end.because if isinstance(self.end, Loss) else ""

    @property
    def stopped_for(self) -> Outcome | None:
        """Why it is being stopped; None also if only its leftovers are."""
        return None if self.stop is None else self.stop.reason

    @property
    def left_behind(self) -> str:
        return "" if self.stop is None else self.stop.leftovers

    # -- beginning --------------------------------------------------------------------------------------------

    def line_up(self, behind: int) -> None:
        """It takes over the devices of that attempt."""
        self.follows = behind

    def step_up(self) -> None:
        """The one that it followed is gone."""
        self.follows = None

    def await_parent(self, waits: bool) -> None:
        """Whether its preloaded parent still imports."""
        self.awaits_parent = waits

    def begin(self, now: Now) -> None:
        """It begins only now: it was lined up, or waited for its preloaded parent."""
        self.started = now

    def has_process(self, pid: int | None, process: str | None = None) -> None:
        """`process`: what identifies it for good; None: not known yet."""
        identity = self.process if process is None else process
        self.first = FirstProcess(pid, identity) if pid is not None or identity else None

    def note_kernel_kills(self, count: int | None) -> None:
        """Before it begins, or before its new host watches it. None: unknown."""
        self.kernel_kills = count

    def restate_start(self, wall: float) -> None:
        """Somebody set the wall clock: restate when it began by the new clock."""
        self.started = self.started._replace(wall=wall)

    def move_to(self, state: State) -> None:
        """The store has recorded this state of its job."""
        self.state = state

    # -- while it runs ----------------------------------------------------------------------------------------

    def hold(self, holds: Reservations) -> None:
        """It now holds a different share of the same devices."""
        self.holds = holds

    def note_notice(self) -> None:
        """It was warned that its time limit is near."""
        self.noticed = True

    def suspend(self, mono: float) -> None:
        if self.suspended_mono is None:
            self.suspended_mono = mono

    def resume(self, mono: float) -> None:
        """Its time limit continues: its start moves forward by the time for which it was suspended."""
        if self.suspended_mono is not None:
            lasted_s = mono - self.suspended_mono
            self.started = self.started._replace(mono=self.started.mono + lasted_s)
            self.suspended_mono = None

    # -- ending -----------------------------------------------------------------------------------------------

    def begin_stop(self, reason: Outcome, mono: float) -> None:
        """It may be stopped already, for another reason: then the signals that were sent still count."""
        before = self.stop
        self.stop = Stop(reason, mono) if before is None else before._replace(reason=reason, began_mono=mono)

    def stop_leftovers(self, leftovers: str, mono: float) -> None:
        """Its first process has ended by itself. `leftovers`: what it left running, in words."""
        self.stop = Stop(None, mono, leftovers=leftovers)

    def take_step(self, step: int) -> None:
        """A step of stopping: SIGTERM, then SIGKILL."""
        if self.stop is not None:
            self.stop = self.stop._replace(step=step)

    def ask_again(self) -> None:
        """Send the signal again: it may have missed it. After SIGKILL there is nothing more to send."""
        if self.stop is not None and self.stop.step < 2:
            self.stop = self.stop._replace(step=0)

    def hurry(self, mono: float) -> None:
        """Its grace time is over."""
        if self.stop is not None and self.stop.step < 2:
            self.stop = self.stop._replace(step=1, began_mono=mono - self.job.grace_s)

    def note_exit(self, how: Exit) -> None:
        self.end = how

    def note_loss(self, because: str) -> None:
        """What is missing never outweighs what is there: another host may have seen how it ended."""
        if not isinstance(self.end, Exit):
            self.end = Loss(because)

    def lose_log(self) -> None:
        """It printed nothing, so it has no log."""
        self.log = ""

    def go_back(self, written: LiveAttempt) -> None:
        """Undo what was not written, so that it matches the database again."""
        self.state = written.state
        done = Stop(None, 0.0) if self.stop is None else self.stop  # signals that were sent stay sent
        self.stop = written.stop and written.stop._replace(step=done.step, leftovers=done.leftovers)
        self.suspended_mono, self.started = written.suspended_mono, written.started
        self.holds = written.holds
