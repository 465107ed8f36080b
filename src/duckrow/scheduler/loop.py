"""The loop: sleep, observe, decide, record, act. Whenever it dies, the disk shows what happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from duckrow.core.devices.inventory import Seat
from duckrow.core.devices.machine import BARE, Machine
from duckrow.core.errors import IllegalTransition, StateError
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.life.retry import Verdict
from duckrow.core.ports import Engine, GpuReader, MpsServer, Observer, Reactor
from duckrow.scheduler.crashpoints import reach
from duckrow.scheduler.hosts.host import Host
from duckrow.scheduler.hosts.own_files import OwnFiles
from duckrow.scheduler.life.wishes import WrongWish
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.act import ActPhase
from duckrow.scheduler.tick.collaborators import HostPorts, assemble
from duckrow.scheduler.tick.decide import decide_tick
from duckrow.scheduler.tick.failed_ticks import FailedTicks
from duckrow.scheduler.tick.observe import ObservePhase
from duckrow.scheduler.tick.record import RecordPhase
from duckrow.scheduler.tick.waking import Waking
from duckrow.store.sqlite.checkpoint import Checkpointer
from duckrow.store.sqlite.database import Database
from duckrow.store.tick import TickStores

TYPE_CHECKING = False
if TYPE_CHECKING:
    from duckrow.core.schedule.run_times import RunTimes


class Loop:
    def __init__(
        self,
        database: Database,
        host: Host,
        seats: Sequence[Seat],
        engine: Engine,
        reactor: Reactor,
        open_reader: Callable[[Reactor], GpuReader],
        observer: Observer | None = None,
        machine: Machine = BARE,
        open_mps: Callable[[str], MpsServer] | None = None,
    ) -> None:
        self.database = database
        self.host = host
        self.engine = engine
        self.reactor = reactor
        self.observer = observer or Observer()
        self.store = TickStores(database, host.id)
        self.state = state = HostState(host.id, seats, machine)
        ports = HostPorts(database, host, self.store, engine, reactor, open_reader, self.observer, open_mps)
        self._checkpointer = Checkpointer(database)
        self._collaborators = collaborators = assemble(state, ports, self._checkpointer)
        self.watch = collaborators.watch
        self._observe = ObservePhase(state, ports, collaborators)
        self._record = RecordPhase(state, self.store, engine, self.observer, collaborators)
        self._act = ActPhase(state, host, engine, self.observer, collaborators)
        self._waking = Waking(state, engine, collaborators.watch)
        self._failed_ticks = FailedTicks(state, reactor, self.observer, collaborators.recovery, collaborators.wishes)
        self._closed = False
        self._hear_bell()
        self._own_files = OwnFiles(
            state, host, database, self._checkpointer, reactor, self.observer, self._let_go_of_jobs, self._hear_bell
        )

    # -- what a host can set ----------------------------------------------------------------------------------

    def tell_ends(self, on_end: Callable[[LiveAttempt, Verdict], None], on_back: Callable[[int], None]) -> None:
        """`on_end` is called before anything else starts; `on_back` when a job that had failed is queued again."""
        self._collaborators.endings.on_end = on_end
        self._collaborators.broken_gpus.on_back = on_back

    def never_set_gpus_aside(self) -> None:
        self.state.never_set_gpus_aside()

    def write_devices_as(self, written: Mapping[str, str] | None) -> None:
        """What jobs see instead of the names of their devices."""
        self.state.write_devices_as(written)

    # -- the life of the loop ---------------------------------------------------------------------------------

    def begin(self) -> None:
        """Take over what an earlier process of this host, or a dead host, has left."""
        self.host.announce(self.state.seats, self.state.gpus.machine)
        with self.database.transaction():
            self._collaborators.delays.begin()
            if self.host.previous.boot_id not in ("", self.host.boot_id):
                self.store.readings.forget_all()
            self._collaborators.recovery.adopt_own()
            self._collaborators.broken_gpus.begin()
        self.engine.begin(self.store.attempts.keepers_in_use(), self._let_go)
        self._own_files.watch()

    def turn(self, at_most_s: float | None = None) -> None:
        """Sleep until something happens, then do one tick. Ends that are written together are awaited here."""
        state, engine = self.state, self.engine
        state.note(engine.reports())  # starting may have failed at once
        due_s = self._until_tick_s()
        while True:
            self.reactor.wait(due_s if at_most_s is None else at_most_s if due_s is None else min(at_most_s, due_s))
            reports = engine.reports()
            state.note(reports)
            due_s = self._until_tick_s()
            if due_s == 0:
                break
            if not reports:
                return
        try:
            self._tick()
            self._failed_ticks.over()
        except StateError as error:
            self._own_files.look()  # perhaps they are the reason
            self._failed_ticks.survive(error)
        except (IllegalTransition, WrongWish) as error:
            self._failed_ticks.survive(error)

    def _until_tick_s(self) -> float | None:
        return None if self.state.failures.is_waited_for else self._waking.until_tick_s(self.reactor.now().mono)

    def _tick(self) -> None:
        now = self.reactor.now()
        with self.database.transaction():
            reach("observed")
            seen = self._observe(now)
            self.engine.follow_up()
            decision = decide_tick(self.state, seen, self.watch.ask_of, now)
            reach("decided")
            self.engine.follow_up()
            recorded = self._record(decision, now)
        reach("recorded")
        self._checkpointer.committed()
        self.watch.read_if_due(now.mono)
        self.engine.settled()
        self.engine.follow_up()
        self.state.settle()
        self._act(recorded)

    @property
    def run_times(self) -> RunTimes | None:
        """How long jobs will run, as far as known."""
        return self._collaborators.learned_times.read()

    def idle(self) -> bool:
        """Nothing runs here, and nothing of ours is left to run. Paused and held jobs count as left."""
        if self.state.runs_own or self.state.is_unsettled or self.store.queue.is_unfinished(self.state.withheld):
            return False
        return not self.watch.is_looked_for_faults(self.reactor.now().mono)

    # -- its end ----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go: running jobs keep running, and the next host finds them again."""
        if self._closed:
            return
        self._closed = True
        self._own_files.close()
        self.engine.close(self.store.attempts.keepers_in_use())
        self._collaborators.sharing.close()
        self._collaborators.delays.close()
        self._checkpointer.finish()
        self.host.close()
        self.host.ring_others()
        self.reactor.close()

    def _let_go_of_jobs(self) -> int:
        """Stop watching the jobs: the database or the folder is gone. Returns how many keep running.

        The journal stays: if somebody restores the database, it says how the jobs ended.
        """
        self._closed = True
        self._checkpointer.wait()
        self.engine.close({self.engine.keeper})
        self._collaborators.sharing.close()
        try:
            self.host.rows.close(self.host.id)  # into the file that we have open, whatever its name is now
        except StateError:
            pass
        return len(self.state.running)

    def _let_go(self) -> None:
        """Stop being a host, which others see at once: from now on, the engine only waits for its attempts to end."""
        self.host.release()
        self.database.close()

    # -- the bell ---------------------------------------------------------------------------------------------

    def _hear_bell(self) -> None:
        self.reactor.watch(self.host.bell, self._rung)
        self.state.wake()  # somebody may have rung meanwhile

    def _rung(self) -> None:
        self.host.hush()
        self.state.wake()
