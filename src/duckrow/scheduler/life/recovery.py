"""After a host has died: find the attempts that nobody watches, and watch them."""

from __future__ import annotations

import os

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import Engine, Reactor
from duckrow.kernel.process import open_pidfd_of
from duckrow.scheduler.hosts.host import Host
from duckrow.scheduler.memory.early_starts import EarlyStarts
from duckrow.scheduler.memory.watch import Watch
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.attempts.attempts import AttemptStore

_NO_PIDFD_S = 5.0  # how often to look at a host if the kernel cannot tell us of its end


class Recovery:
    def __init__(
        self,
        state: HostState,
        store: AttemptStore,
        host: Host,
        engine: Engine,
        reactor: Reactor,
        watch: Watch,
        early_starts: EarlyStarts,
    ) -> None:
        self._state = state
        self._store = store
        self._host = host
        self._engine = engine
        self._reactor = reactor
        self._watch = watch
        self._early_starts = early_starts
        self._watched_hosts: dict[int, str] = {}  # host -> its process

    def adopt_own(self) -> None:
        """Watch the attempts of the process that was this host before us."""
        self._adopt(self._own(), self._host.previous.boot_id)

    def _own(self) -> list[LiveAttempt]:
        return [attempt for watcher, attempt in self._store.live() if watcher == self._host.id]

    def adopt_orphans(self) -> None:
        """Watch the attempts of dead hosts, and wake up when a living one dies."""
        by_host: dict[int, list[LiveAttempt]] = {}
        for watcher, attempt in self._store.live():
            if watcher != self._host.id:
                by_host.setdefault(watcher, []).append(attempt)
        for host_id, attempts in by_host.items():
            if self._host.is_alive(host_id):
                self._watch_host(host_id)
                continue
            taken = [attempt for attempt in attempts if self._store.take_over(attempt, host_id)]
            self._adopt(taken, self._host.rows.get(host_id).boot_id)

    def forget_unwritten(self) -> None:
        """After a tick that could not be written: make our state match the database again."""
        live = self._state.live
        known = {attempt.id: attempt for attempt in self._own()}
        for attempt_id in list(live):
            if attempt_id not in known:
                self._state.drop(live[attempt_id])
            else:
                live[attempt_id].go_back(known[attempt_id])
        # The tick had let go of these. Their ends are reported again; one that gave up its place is forgotten.
        let_go = [attempt for attempt_id, attempt in known.items() if attempt_id not in live]
        self._state.watch(let_go)
        self._early_starts.adopted(live.values())
        pending = self._state.pending()
        self._engine.adopt([attempt for attempt in let_go if attempt.id not in pending], rebooted=False)
        self._state.look_again()

    def _adopt(self, attempts: list[LiveAttempt], their_boot_id: str) -> None:
        """Take them as the database has them. If one was being stopped, send the signal again."""
        self._state.watch(attempts)
        self._watch.adopted(attempts)
        self._early_starts.adopted(attempts)
        self._engine.adopt(attempts, rebooted=bool(their_boot_id) and their_boot_id != self._host.boot_id)

    def _watch_host(self, host_id: int) -> None:
        """Look again when this host dies."""
        process = self._host.rows.get(host_id).process
        if self._watched_hosts.get(host_id) == process:
            return
        self._watched_hosts[host_id] = process
        fd = open_pidfd_of(process)
        if fd is None:  # in another container, or of an older duckrow
            self._reactor.later(_NO_PIDFD_S, lambda: self._host_ended(host_id))
            return

        def ended() -> None:
            self._reactor.unwatch(fd)
            os.close(fd)
            self._host_ended(host_id)

        self._reactor.watch(fd, ended)

    def _host_ended(self, host_id: int) -> None:
        self._watched_hosts.pop(host_id, None)
        self._state.wake()
