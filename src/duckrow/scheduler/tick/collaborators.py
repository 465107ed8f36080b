"""The objects that help a host with its tick. Each gets only what it needs: the state, its store, its ports."""

from __future__ import annotations

from collections.abc import Callable

from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import Engine, GpuReader, MpsServer, Observer, Reactor
from duckrow.scheduler.devices.broken_gpus import BrokenGpus
from duckrow.scheduler.devices.drains import Drains
from duckrow.scheduler.devices.mps_sharing import MpsSharing
from duckrow.scheduler.devices.pacing import Pacing
from duckrow.scheduler.devices.shown_readings import ShownReadings
from duckrow.scheduler.hosts.host import Host
from duckrow.scheduler.life.clock_steps import ClockSteps
from duckrow.scheduler.life.delays import Delays
from duckrow.scheduler.life.endings import Endings
from duckrow.scheduler.life.learned_times import LearnedTimes
from duckrow.scheduler.life.lining_up import LiningUp
from duckrow.scheduler.life.recovery import Recovery
from duckrow.scheduler.life.stopping import Stopping
from duckrow.scheduler.life.suspending import Suspending
from duckrow.scheduler.life.wishes import Wishes
from duckrow.scheduler.memory.early_starts import EarlyStarts
from duckrow.scheduler.memory.enforcing import Enforcing
from duckrow.scheduler.memory.growing import Growing
from duckrow.scheduler.memory.learning import Learning
from duckrow.scheduler.memory.misplaced import MisplacedAttempts
from duckrow.scheduler.memory.unseen_memory import UnseenMemory
from duckrow.scheduler.memory.watch import Watch
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.new_attempts import NewAttempts
from duckrow.store.devices.history import HistoryWriter
from duckrow.store.devices.set_aside import SetAsideStore
from duckrow.store.jobs.answers import AnswerStore
from duckrow.store.life.delays import DelayStore
from duckrow.store.sqlite.checkpoint import Checkpointer
from duckrow.store.sqlite.database import Database
from duckrow.store.tick import TickStores


class HostPorts(NamedTuple):
    """The parts of a host, and what it talks to."""

    database: Database
    host: Host
    store: TickStores
    engine: Engine
    reactor: Reactor
    open_reader: Callable[[Reactor], GpuReader]
    observer: Observer
    open_mps: Callable[[str], MpsServer] | None


class Collaborators(NamedTuple):
    new_attempts: NewAttempts
    lining_up: LiningUp
    delays: Delays
    clock_steps: ClockSteps
    watch: Watch
    broken_gpus: BrokenGpus
    sharing: MpsSharing
    drains: Drains
    stopping: Stopping
    enforcing: Enforcing
    early_starts: EarlyStarts
    growing: Growing
    wishes: Wishes
    endings: Endings
    recovery: Recovery
    learned_times: LearnedTimes


def assemble(state: HostState, ports: HostPorts, checkpointer: Checkpointer) -> Collaborators:
    database, host, store, engine, reactor, _, observer, open_mps = ports
    new_attempts = NewAttempts(state, host.folder, engine.keeper)
    lining_up = LiningUp(state, store.attempts, engine, new_attempts)
    delays = Delays(state, DelayStore(database), reactor)
    pacing = Pacing(state, store.peaks.paces, new_attempts.folder_of, engine.core_time)
    learning = Learning(state, store.peaks, store.reservations, pacing)
    broken_gpus = BrokenGpus(
        state, SetAsideStore(database), store.reruns, host.boot_id, observer, learning.ask_of, lining_up, delays
    )
    watch = _watch(state, ports, learning, broken_gpus)
    sharing = MpsSharing(state, host.folder.root, observer, open_mps)
    suspending = Suspending(store.suspensions, engine)
    stopping = Stopping(store.attempts, suspending)
    early_starts = EarlyStarts(state, stopping, store.use, store.reservations)
    return Collaborators(
        new_attempts,
        lining_up,
        delays,
        ClockSteps(state, host.rows, store.attempts, delays),
        watch,
        broken_gpus,
        sharing,
        Drains(state, database),
        stopping,
        Enforcing(state, stopping),
        early_starts,
        Growing(state, stopping, learning),
        Wishes(state, database, store, host, engine, suspending, stopping, checkpointer),
        Endings(state, store, engine, observer, watch, sharing, broken_gpus, delays, suspending),
        Recovery(state, store.attempts, host, engine, reactor, watch, early_starts),
        LearnedTimes(state, AnswerStore(database)),
    )


def _watch(state: HostState, ports: HostPorts, learning: Learning, broken_gpus: BrokenGpus) -> Watch:
    database, host, store, engine, reactor, open_reader, observer, _ = ports
    root = host.folder.root
    unseen_memory = UnseenMemory(state, root, reactor, observer, learning.keeps_others_away)
    misplaced_attempts = MisplacedAttempts(state, store.events, observer)
    shown_readings = ShownReadings(state, store.readings, HistoryWriter(database))

    def met_gpus() -> None:
        """The driver has listed the GPUs."""
        from duckrow.core.devices.typed_devices import missing_gpus  # runs on CPU slots meet none

        host.rows.note_machine(host.id, state.gpus.machine)
        meant = [state.gpus.name_of(gpu) for gpu in state.gpus.watched]  # a UUID may have come before it could be asked
        missing = missing_gpus(meant, state.gpus.machine)
        if missing:
            observer.trouble(f"{missing[0].upper()}{missing[1:]}. To see them: duckrow gpus")

    return Watch(
        state,
        store.use,
        engine,
        reactor,
        open_reader,
        learning,
        unseen_memory,
        misplaced_attempts,
        shown_readings,
        broken_gpus,
        met_gpus,
    )
