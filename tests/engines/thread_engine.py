"""A toy: the engine that CONTRIBUTING has one write, with a thread for each attempt. It passes the contract."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from queue import Empty, SimpleQueue
from signal import SIGKILL, SIGTERM

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import CoreTime, Ended, NotStarted, Reactor, Report, Started, StartOrder, Vanished
from duckrow.engines.lined_up import LinedUp


class ThreadEngine:
    keeper = "threads"

    def __init__(self, reactor: Reactor) -> None:
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._lined_up = LinedUp()
        self._reports: list[Report] = []
        self._ends: SimpleQueue[Ended] = SimpleQueue()
        self._heard, self._tell = os.pipe()
        reactor.watch(self._heard, self._take_ends)

    def begin(self, keepers_in_use: set[str], let_go: Callable[[], None]) -> None: ...

    def start(self, orders: Sequence[StartOrder]) -> None:
        for order in orders:
            try:
                self._start(order)
            except OSError as error:
                self._report(NotStarted(order.attempt.id, str(error), try_later=False))

    def _start(self, order: StartOrder) -> None:
        attempt = order.attempt
        os.makedirs(order.folder, exist_ok=True)
        with open(attempt.log, "ab") as log:
            process = subprocess.Popen(
                [attempt.job.shell, "-c", attempt.job.command],
                cwd=attempt.job.cwd,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes[attempt.id] = process
        self._report(Started(attempt.id, process.pid, str(process.pid)))
        threading.Thread(target=self._wait, args=(attempt.id, process), daemon=True).start()

    def _wait(self, attempt_id: int, process: subprocess.Popen[bytes]) -> None:
        code = process.wait()
        exit_code, number = (code, None) if code >= 0 else (None, -code)
        self._kill_group(process.pid, SIGKILL)  # what it has left behind
        self._ends.put(Ended(attempt_id, exit_code, number, time.time(), (), silent=False))
        os.write(self._tell, b"!")

    def _take_ends(self) -> None:
        os.read(self._heard, 1)
        try:
            self._report(self._ends.get_nowait())
        except Empty:
            pass

    def _report(self, report: Report) -> None:
        self._reports.append(report)
        if not isinstance(report, Started):
            successor = self._lined_up.next_after(report.attempt_id)
            self._processes.pop(report.attempt_id, None)
            self.start([successor] if successor else [])

    def line_up(self, order: StartOrder) -> None:
        if order.attempt.follows in self._processes or order.attempt.follows in self._lined_up:
            self._lined_up.add(order)
        else:
            self.start([order])

    def lined_up(self) -> int:
        return len(self._lined_up)

    def follow_up(self) -> None: ...

    def stand_down(self, attempt: LiveAttempt) -> bool:
        return self._lined_up.stand_down(attempt)

    def adopt(self, attempts: Iterable[LiveAttempt], rebooted: bool) -> None:
        for attempt in attempts:
            self._report(Vanished(attempt.id, "its threads ended with their host"))

    def notice(self, attempt: LiveAttempt, number: int) -> bool:
        return self.signal_all(attempt, number)

    def signal_all(self, attempt: LiveAttempt, number: int) -> bool:
        if attempt.id not in self._processes:
            return False
        self._kill_group(self._processes[attempt.id].pid, number)
        return True

    def stop(self, attempt: LiveAttempt, step: int) -> None:
        self.signal_all(attempt, SIGTERM if step == 1 else SIGKILL)

    @staticmethod
    def _kill_group(pid: int, number: int) -> None:
        try:
            os.killpg(pid, number)
        except ProcessLookupError:
            pass

    def reports(self) -> list[Report]:
        reports, self._reports = self._reports, []
        return reports

    def settled(self) -> None: ...

    def owners_of(self, pids: Iterable[int], attempts: Iterable[LiveAttempt]) -> dict[int, int]:
        return dict.fromkeys(pids, 0)

    def ran_out_of_memory(self, attempt: LiveAttempt) -> bool | None:
        return None

    def core_time(self) -> CoreTime | None:
        return None

    def close(self, keepers_in_use: set[str]) -> None: ...
