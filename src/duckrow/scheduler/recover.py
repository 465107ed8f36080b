"""After a death: finding the attempts that nobody watches, and watching them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from duckrow.core.job import LiveAttempt
from duckrow.core.lifecycle import State
from duckrow.kernel.process import open_pidfd_of

if TYPE_CHECKING:
    from duckrow.scheduler.loop import Loop

_NO_PIDFD_S = 5.0  # how often to look at a host whose end the kernel will not tell us


class Recovery:
    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._watched_hosts: dict[int, str] = {}  # host -> its process

    def adopt_own(self) -> None:
        """The attempts of the process that was this host before us."""
        loop = self._loop
        own = [attempt for watcher, attempt in loop.store.attempts.live() if watcher == loop.host.id]
        self._adopt(own, loop.host.previous.boot_id)

    def adopt_orphans(self) -> None:
        """The attempts of hosts that have died; and be woken when one that lives dies."""
        loop = self._loop
        by_host: dict[int, list[LiveAttempt]] = {}
        for watcher, attempt in loop.store.attempts.live():
            if watcher != loop.host.id:
                by_host.setdefault(watcher, []).append(attempt)
        for host_id, attempts in by_host.items():
            if loop.host.is_alive(host_id):
                self._watch_host(host_id)
                continue
            taken = [attempt for attempt in attempts if loop.store.attempts.take_over(attempt, host_id)]
            self._adopt(taken, loop.host.rows.get(host_id).boot_id)

    def forget_unwritten(self) -> None:
        """After a tick that could not be written: what we hold must be what the database says."""
        loop = self._loop
        known = {attempt.id: attempt for watcher, attempt in loop.store.attempts.live() if watcher == loop.host.id}
        for attempt_id in list(loop.live):
            if attempt_id not in known:
                loop.lines.drop(loop.live[attempt_id])
            else:
                _go_back(loop.live[attempt_id], known[attempt_id])
        # Those that the tick had let go of: their ends are reported again, but one that had stood back is forgotten.
        let_go = [attempt for attempt_id, attempt in known.items() if attempt_id not in loop.live]
        for attempt in let_go:
            loop.live[attempt.id] = attempt
        pending = loop.pending()
        loop.engine.adopt([attempt for attempt in let_go if attempt.id not in pending], rebooted=False)
        loop.look_again()

    def _adopt(self, attempts: list[LiveAttempt], their_boot_id: str) -> None:
        loop = self._loop
        for attempt in attempts:
            loop.live[attempt.id] = attempt
            if attempt.stop_began_mono is not None:
                attempt.stop_step = 0  # the signal may not have been sent: send it again
        loop.watch.adopted(attempts)
        loop.engine.adopt(attempts, rebooted=bool(their_boot_id) and their_boot_id != loop.host.boot_id)

    def _watch_host(self, host_id: int) -> None:
        """Look again when this host dies."""
        loop = self._loop
        process = loop.host.rows.get(host_id).process
        if self._watched_hosts.get(host_id) == process:
            return
        self._watched_hosts[host_id] = process
        fd = open_pidfd_of(process)
        if fd is None:  # in another container, or of an older duckrow
            loop.reactor.later(_NO_PIDFD_S, lambda: self._host_ended(host_id))
            return

        def ended() -> None:
            loop.reactor.unwatch(fd)
            os.close(fd)
            self._host_ended(host_id)

        loop.reactor.watch(fd, ended)

    def _host_ended(self, host_id: int) -> None:
        self._watched_hosts.pop(host_id, None)
        self._loop.wake()


def _go_back(ours: LiveAttempt, theirs: LiveAttempt) -> None:
    """Undo what an unwritten tick has changed of an attempt."""
    ours.state = State(theirs.state)
    ours.stopped_for = theirs.stopped_for
    ours.stop_began_mono = theirs.stop_began_mono
    ours.suspended_mono, ours.started = theirs.suspended_mono, theirs.started
