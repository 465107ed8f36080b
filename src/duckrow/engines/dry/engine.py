"""The dry engine: does all that an engine must do, on a machine where nothing runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from signal import SIGKILL, SIGTERM

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import (
    CoreTime,
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
from duckrow.engines.dry.behaviour import Behaviour
from duckrow.engines.dry.machine import DryMachine, DryProcess, Order
from duckrow.engines.lined_up import LinedUp


class DryEngine:
    def __init__(self, machine: DryMachine, reactor: Reactor) -> None:
        self._machine = machine
        self._reactor = reactor
        self._keeper = machine.new_keeper()
        self._watched: dict[int, LiveAttempt] = {}
        self._ended: set[int] = set()  # those whose end was reported while a process of them is left
        self._reports: list[Report] = []
        self._lined_up = LinedUp()

    @property
    def keeper(self) -> str:
        return self._keeper

    def begin(self, keepers_in_use: set[str], let_go: Callable[[], None]) -> None:
        """Nothing to do: nothing was recorded, and nothing can go wrong."""

    # -- starting ---------------------------------------------------------------------------------------------

    def start(self, orders: Sequence[StartOrder]) -> None:
        for order in orders:
            self._note("start", order.attempt)
            self._start(order.attempt)

    def _start(self, attempt: LiveAttempt) -> None:
        self._watched[attempt.id] = attempt
        behaviour = self._machine.behaviour_of(attempt)
        if behaviour.starts_after_s:
            self._reactor.later(behaviour.starts_after_s, lambda: self._begin(attempt, behaviour))
        else:
            self._begin(attempt, behaviour)

    def _begin(self, attempt: LiveAttempt, behaviour: Behaviour) -> None:
        if behaviour.refusal:
            self._report(NotStarted(attempt.id, behaviour.refusal, behaviour.try_later))
            return
        process = self._machine.start(attempt, behaviour, self._reactor.now())
        attempt.has_process(process.pid)
        self._report(Started(attempt.id, process.pid, process.name))
        self._look_when_due(process)

    def line_up(self, order: StartOrder) -> None:
        self._note("line-up", order.attempt)
        if order.attempt.follows in self._watched or order.attempt.follows in self._lined_up:
            self._lined_up.add(order)
        else:
            order.attempt.begin(self._reactor.now())
            self._start(order.attempt)

    def lined_up(self) -> int:
        return len(self._lined_up)

    def follow_up(self) -> None: ...  # no time passes while the loop writes

    def stand_down(self, attempt: LiveAttempt) -> bool:
        self._note("stand-down", attempt)
        return self._lined_up.stand_down(attempt)

    def adopt(self, attempts: Iterable[LiveAttempt], rebooted: bool) -> None:
        for attempt in attempts:
            self._note("adopt", attempt)
            self._watched[attempt.id] = attempt
            process = self._machine.processes.get(attempt.id)
            if rebooted:
                self._report(Vanished(attempt.id, "the machine was restarted while it ran"))
            elif process is None:
                self._report(NeverBegan(attempt.id))
            else:
                self._adopt(attempt, process)

    def _adopt(self, attempt: LiveAttempt, process: DryProcess) -> None:
        if attempt.process != process.name and not process.has_ended(self._reactor.now().mono):
            self._report(Started(attempt.id, process.pid, process.name))
        attempt.has_process(process.pid, process.name)
        self.look(attempt.id)

    # -- signals ----------------------------------------------------------------------------------------------

    def notice(self, attempt: LiveAttempt, number: int) -> bool:
        self._note("notice", attempt, number)
        process = self._living(attempt)
        self._send(attempt, number)
        return process is not None and number in dict(process.behaviour.exits_on)

    def signal_all(self, attempt: LiveAttempt, number: int) -> bool:
        self._note("signal", attempt, number)
        process = self._living(attempt)
        self._send(attempt, number)
        return process is not None

    def _living(self, attempt: LiveAttempt) -> DryProcess | None:
        process = self._machine.processes.get(attempt.id)
        return None if process is None or process.is_gone(self._reactor.now().mono) else process

    def stop(self, attempt: LiveAttempt, step: int) -> None:
        self._note("stop", attempt, step)
        self._send(attempt, SIGTERM if step == 1 else SIGKILL)

    def _send(self, attempt: LiveAttempt, number: int) -> None:
        self._machine.signal(attempt.id, number, self._reactor.now().mono)
        process = self._machine.processes.get(attempt.id)
        if process is not None:
            self._look_when_due(process)

    # -- ending -----------------------------------------------------------------------------------------------

    def _look_when_due(self, process: DryProcess) -> None:
        """Look again when it should have ended, or be gone, judging by what is known now."""
        due_mono = process.gone_mono if process.attempt_id in self._ended else process.ends_mono
        left_s = due_mono - self._reactor.now().mono
        if process.suspended_mono is None and left_s < float("inf"):
            self._reactor.later(max(left_s, 0.0), lambda: self.look(process.attempt_id))

    def look(self, attempt_id: int) -> None:
        """Report if it has ended, or is gone."""
        process, now = self._machine.processes[attempt_id], self._reactor.now()
        if attempt_id not in self._watched:
            return
        if attempt_id not in self._ended and process.has_ended(now.mono):
            self._tell_end(process, now.wall - (now.mono - process.ends_mono), process.is_gone(now.mono))
        elif attempt_id in self._ended and process.is_gone(now.mono):
            self._report(Gone(attempt_id))
        if attempt_id in self._watched:
            self._look_when_due(process)

    def _tell_end(self, process: DryProcess, at: float, is_gone: bool) -> None:
        behaviour = process.behaviour
        leftovers = () if is_gone else (f"a helper (process {process.pid})",)
        self._ended.add(process.attempt_id)
        if process.is_lost:
            reason = "its process ended while no scheduler was watching"
            self._report(Vanished(process.attempt_id, reason, leftovers))
            return
        if behaviour.prints:
            os.makedirs(os.path.dirname(process.log), exist_ok=True)
            with open(process.log, "a") as log:
                log.write(behaviour.prints)
        self._report(
            Ended(
                process.attempt_id,
                process.exit_code,
                process.signal,
                at,
                leftovers,
                silent=not behaviour.prints,
                oom_killed=behaviour.oom_killed,
                host_peak_mb=behaviour.host_peak_mb,
            )
        )

    def _report(self, report: Report) -> None:
        self._reports.append(report)
        if isinstance(report, Started) or (isinstance(report, (Ended, Vanished)) and report.leftovers):
            return
        self._watched.pop(report.attempt_id, None)
        self._ended.discard(report.attempt_id)
        successor = self._lined_up.next_after(report.attempt_id)
        if successor is not None:
            successor.attempt.begin(self._reactor.now())
            self._start(successor.attempt)

    def reports(self) -> list[Report]:
        reports, self._reports = self._reports, []
        return reports

    def settled(self) -> None:
        """Nothing to do: nothing was recorded that could now be forgotten."""

    # -- other questions --------------------------------------------------------------------------------------

    def owners_of(self, pids: Iterable[int], attempts: Iterable[LiveAttempt]) -> dict[int, int]:
        asked = {attempt.id for attempt in attempts}
        owners = {process.pid: process.attempt_id for process in self._machine.processes.values()}
        ours = {pid: owners.get(pid, 0) for pid in pids}
        found = {pid: attempt_id if attempt_id in asked else -attempt_id for pid, attempt_id in ours.items()}
        return {**found, **self._machine.owners_elsewhere(found.keys() - owners.keys())}

    def ran_out_of_memory(self, attempt: LiveAttempt) -> bool | None:
        return self._machine.ran_out_of_memory

    def core_time(self) -> CoreTime | None:
        return self._machine.core_time

    def close(self, keepers_in_use: set[str]) -> None:
        """Nothing to do: nothing is open."""

    def _note(self, what: str, attempt: LiveAttempt, number: int = 0) -> None:
        self._machine.orders.append(Order(what, attempt.job.id, number))
