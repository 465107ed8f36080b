"""The local engine: starts attempts through a keeper, adopts those of dead hosts, stops whole process trees."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from duckrow.core.job import LiveAttempt
from duckrow.core.ports import (
    Ended,
    Gone,
    NeverBegan,
    NotStarted,
    Reactor,
    Report,
    Started,
    StartOrder,
    Vanished,
)
from duckrow.engines.local import processes
from duckrow.engines.local.channel import Channel, remove_if_dead
from duckrow.engines.local.journal import Journal, Record, read_journal
from duckrow.engines.local.script import write_script

# Starts after which a keeper is replaced, so that no journal grows without end.
KEEPER_STARTS = 10_000
# A command longer than this does not fit into an argument of a process, so its shell reads it from a file.
LONGEST_ARGUMENT = 100_000
_FIRST_LOOK_S, _LONGEST_LOOK_S = 0.002, 0.5


class LocalEngine:
    def __init__(
        self,
        reactor: Reactor,
        keepers_folder: str,
        state_tag: str,
        variables_of: Callable[[int], dict[str, str]],
        output: str = "log",
    ) -> None:
        self._reactor = reactor
        self._folder = keepers_folder
        self._state_tag = state_tag
        self._variables_of = variables_of
        self._output = output
        self._channel: Channel | None = None
        self._open: list[Channel] = []  # with the one above, those that still have attempts
        self._own: set[str] = set()  # every keeper that we started
        self._watched: dict[int, LiveAttempt] = {}
        self._rebooted: set[int] = set()  # attempts of an earlier boot: none of their processes is there
        self._reports: list[Report] = []

    # -- what the scheduler asks for --------------------------------------------------------------------------

    @property
    def keeper(self) -> str:
        """The keeper that the next attempts will have; it is there before a start names it."""
        if self._channel is None or self._channel.started >= KEEPER_STARTS:
            self._retire(self._channel)
            channel = Channel(self._folder, os.path.join(self._folder, "keepers.log"), self._output)
            self._reactor.watch(channel.fd, lambda: self._hear(channel))
            self._open.append(channel)
            self._own.add(channel.name)
            self._channel = channel
        return self._channel.name

    def start(self, orders: Sequence[StartOrder]) -> None:
        if not orders:
            return
        assert self._channel is not None
        messages = []
        for order in orders:
            self._watched[order.attempt.id] = order.attempt
            try:
                messages.append(self._message(order))
            except OSError as error:
                self._report(NotStarted(order.attempt.id, f"{error.strerror}: {error.filename}", try_later=True))
        self._channel.order(messages, self._variables_of)

    def adopt(self, attempts: Iterable[LiveAttempt], rebooted: bool) -> None:
        for attempt in attempts:
            self._watched[attempt.id] = attempt
            if rebooted:
                self._rebooted.add(attempt.id)
            self._settle(attempt.id)

    def notice(self, attempt: LiveAttempt, signal: int) -> None:
        """Only those who listen are told: the signal would kill a process that has no handler for it."""
        for process in processes.processes_of(self.tag(attempt.id), attempt.pid):
            if processes.catches(process.pid, signal):
                processes.send(process.pid, signal)

    def stop(self, attempt: LiveAttempt, step: int) -> None:
        number = processes.SIGTERM if step == 1 else processes.SIGKILL
        leader = attempt.pid
        leads_group = leader is not None and (found := processes.read_process(leader)) and found.session == leader
        if leader is not None and leads_group:
            processes.send_to_group(leader, number)
        if step == 2 or not leads_group:
            for process in processes.processes_of(self.tag(attempt.id), leader):
                processes.send(process.pid, number)
        if step == 2:
            self._reactor.later(0.02, lambda: self._finish_off(attempt.id, 0.02))

    def reports(self) -> list[Report]:
        reports, self._reports = self._reports, []
        return reports

    def tag(self, attempt_id: int) -> str:
        return f"{self._state_tag}.{attempt_id}"

    def close(self, keepers_in_use: set[str]) -> None:
        """Let go. Attempts that run go on; journals that nobody needs any more are removed."""
        for channel in list(self._open):
            self._reactor.unwatch(channel.fd)
            channel.close()
            if channel.name not in keepers_in_use:
                try:
                    os.unlink(channel.journal)
                except OSError:
                    pass
        self._open.clear()
        self._channel = None

    def clean_up(self, keepers_in_use: set[str]) -> None:
        """Remove the journals of keepers that are dead and have nothing left to tell."""
        ours = {channel.name for channel in self._open}
        for name in os.listdir(self._folder):
            if name != "keepers.log" and name not in keepers_in_use | ours:
                remove_if_dead(os.path.join(self._folder, name))

    # -- starting ---------------------------------------------------------------------------------------------

    def _message(self, order: StartOrder) -> dict[str, Any]:
        attempt = order.attempt
        job = attempt.job
        argv = [job.shell, "-c", job.command]
        if len(job.command) > LONGEST_ARGUMENT:
            argv = [job.shell, write_script(order.folder, job.command)]
        return {
            "attempt": attempt.id,
            "argv": argv,
            "cwd": job.cwd,
            "environment": job.environment_id,
            "extra": {**order.extra_environment, processes.TAG: self.tag(attempt.id)},
            "folder": order.folder,
            "log": attempt.log,
            "max_log": job.max_log_bytes,
            "output": self._output,
        }

    def _retire(self, channel: Channel | None) -> None:
        """A keeper that has had its share gets no more orders, and goes when its last attempt has ended."""
        if channel is not None and not any(a.keeper == channel.name for a in self._watched.values()):
            self._drop(channel)

    def _drop(self, channel: Channel) -> None:
        self._reactor.unwatch(channel.fd)
        channel.close()
        self._open.remove(channel)
        if channel is self._channel:
            self._channel = None

    # -- hearing ----------------------------------------------------------------------------------------------

    def _hear(self, channel: Channel) -> None:
        lines = channel.news()
        if lines is None:
            self._drop(channel)
            for attempt in [a for a in self._watched.values() if a.keeper == channel.name]:
                self._settle(attempt.id)
            return
        for line in lines:
            kind, number, *words = line.split(" ")
            attempt_id = int(number)
            if attempt_id not in self._watched:
                continue
            if kind == "P":
                self._report(Started(attempt_id, int(words[0])))
            elif kind == "E":
                self._ended(attempt_id, int(words[0]), float(words[1]), words[2] == "1", words[3] == "1")
            elif kind == "N":
                self._report(NotStarted(attempt_id, " ".join(words[1:]), words[0] == "1"))
        if channel is not self._channel:
            self._retire(channel)

    def _ended(self, attempt_id: int, wait_status: int, at: float, leftovers: bool, silent: bool) -> None:
        attempt = self._watched[attempt_id]
        code = os.waitstatus_to_exitcode(wait_status)
        # The keeper's word for leftovers is quick and may be wrong; an attempt that we stop must be gone entirely.
        if leftovers or attempt.stop_began_at is not None:
            leftovers = bool(self._remaining(attempt))
        exit_code, signal = (code, None) if code >= 0 else (None, -code)
        self._report(Ended(attempt_id, exit_code, signal, at, leftovers, silent))
        if leftovers:
            self._await_leftovers(attempt_id)

    def _report(self, report: Report) -> None:
        self._reports.append(report)
        goes_on = isinstance(report, Started) or (isinstance(report, Ended) and report.leftovers)
        if not goes_on:
            self._watched.pop(report.attempt_id, None)
            self._rebooted.discard(report.attempt_id)

    # -- leftovers --------------------------------------------------------------------------------------------

    def _remaining(self, attempt: LiveAttempt) -> list[processes.Process]:
        if attempt.id in self._rebooted:
            return []
        return processes.processes_of(self.tag(attempt.id), attempt.pid)

    def _await_leftovers(self, attempt_id: int) -> None:
        """Wait for the end of the first of them, then look again."""
        attempt = self._watched.get(attempt_id)
        if attempt is None:
            return
        remaining = self._remaining(attempt)
        if not remaining:
            self._report(Gone(attempt_id))
        elif not self._watch_end(remaining[0].pid, lambda: self._await_leftovers(attempt_id)):
            self._reactor.later(_FIRST_LOOK_S, lambda: self._await_leftovers(attempt_id))

    def _watch_end(self, pid: int, call: Callable[[], None]) -> bool:
        fd = processes.open_pidfd(pid)
        if fd is None:
            return False

        def ended() -> None:
            self._reactor.unwatch(fd)
            os.close(fd)
            call()

        self._reactor.watch(fd, ended)
        return True

    def _finish_off(self, attempt_id: int, wait_s: float) -> None:
        """After SIGKILL: again, until nothing is left. A process may have forked while it was being killed."""
        attempt = self._watched.get(attempt_id)
        if attempt is None:
            return
        for process in self._remaining(attempt):
            processes.send(process.pid, processes.SIGKILL)
        wait_s = min(wait_s * 2, _LONGEST_LOOK_S)
        self._reactor.later(wait_s, lambda: self._finish_off(attempt_id, wait_s))

    # -- adopting ---------------------------------------------------------------------------------------------

    def _settle(self, attempt_id: int, wait_s: float = _FIRST_LOOK_S) -> None:
        """Find out from the journal and the kernel what became of an attempt that no keeper of ours reports."""
        attempt = self._watched.get(attempt_id)
        if attempt is None:
            return
        journal = read_journal(os.path.join(self._folder, attempt.keeper))
        record = journal.of(attempt_id)
        if record.pid is not None and attempt.pid is None and record.wait_status is None:
            attempt.pid = record.pid
            self._report(Started(attempt_id, record.pid))
        attempt.pid = record.pid or attempt.pid
        report = self._verdict(attempt, journal, record)
        if isinstance(report, Ended):
            self._ended(attempt_id, record.wait_status or 0, record.ended_at, True, record.silent)
        elif report is not None:
            self._report(report)
        elif self._lives(attempt, record) and self._watch_end(attempt.pid or 0, lambda: self._settle(attempt_id)):
            pass
        else:
            wait_s = min(wait_s * 2, _LONGEST_LOOK_S)
            self._reactor.later(wait_s, lambda: self._settle(attempt_id, wait_s))

    def _lives(self, attempt: LiveAttempt, record: Record) -> bool:
        return (
            attempt.pid is not None
            and attempt.id not in self._rebooted
            and processes.is_same_process(attempt.pid, record.seen_boottime)
        )

    def _verdict(self, attempt: LiveAttempt, journal: Journal, record: Record) -> Report | None:
        """How it ended; None while it runs, or while its keeper has yet to say."""
        if record.refusal is not None:
            return NotStarted(attempt.id, record.refusal, record.try_later)
        if record.wait_status is not None:
            return Ended(attempt.id, None, None, record.ended_at, True, record.silent)
        if attempt.id in self._rebooted:
            return Vanished(attempt.id, "the machine was restarted while it ran")
        if not journal.exists:
            return Vanished(attempt.id, f"the journal of its keeper is gone ({self._folder}/{attempt.keeper})")
        if self._lives(attempt, record):
            return None
        if journal.keeper_alive and not (journal.closed and not record.begun):
            return None
        if not record.begun and attempt.keeper in self._own:
            return NotStarted(attempt.id, f"its keeper ended (see {self._folder}/keepers.log)", try_later=True)
        if not record.begun:
            return NeverBegan(attempt.id)
        if record.pid is None and (found := self._remaining(attempt)):
            attempt.pid = found[0].pid
            record.seen_boottime = found[0].started_s
            self._report(Started(attempt.id, attempt.pid))
            return None
        return Vanished(attempt.id, "its process ended while nobody was there to see how")
