"""Tests on several cores: one process loads and collects them all, and forks workers that run them.

Workers that are started one by one each load all modules and collect all tests, which costs as much as hundreds of
tests. `pytest --workers 6` does that once.
"""

from __future__ import annotations

import os
import traceback
from collections import deque
from collections.abc import Iterable
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import pytest
from coverage import Coverage

Link = Connection


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=0, metavar="N", help="Run the tests in N processes.")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    count = min(session.config.getoption("workers"), len(session.items))
    if count < 2 or session.config.option.collectonly or session.testsfailed:
        return None
    _Workers(session, count).run()
    return True


class Shares:
    """Which worker runs which tests, by their numbers.

    Each begins with tests that stand together: they share what is slow to start. One that has no more takes half of
    what the busiest has left.
    """

    def __init__(self, tests: int, workers: int) -> None:
        bounds = [tests * worker // workers for worker in range(workers + 1)]
        self._left = [deque(range(bounds[worker], bounds[worker + 1])) for worker in range(workers)]

    def next_for(self, worker: int) -> int | None:
        mine = self._left[worker]
        if not mine:
            busiest = max(self._left, key=len)
            mine.extendleft([busiest.pop() for _ in range((len(busiest) + 1) // 2)])
        return mine.popleft() if mine else None

    def give_back(self, worker: int, tests: Iterable[int]) -> None:
        self._left[worker].extendleft(tests)


class _Worker:
    """A worker, as the first process sees it."""

    def __init__(self, number: int, pid: int) -> None:
        self.number = number
        self.pid = pid
        self.given: deque[int] = deque()  # the test that it runs, and the one that follows


class _Workers:
    def __init__(self, session: pytest.Session, count: int) -> None:
        self._session = session
        self._hook = session.config.hook
        self._count = count
        self._shares = Shares(len(session.items), count)
        self._at_work: dict[Link, _Worker] = {}

    def run(self) -> None:
        reporter: Any = self._session.config.pluginmanager.get_plugin("terminalreporter")
        reporter.showfspath = False  # all files take turns
        self._session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        try:
            for number in range(self._count):
                self._begin(number)
            while self._at_work:
                for link in wait(list(self._at_work)):
                    self._hear(link)  # type: ignore[arg-type]
        finally:
            for link, worker in self._at_work.items():
                link.close()  # whereupon it ends what it has begun
                os.waitpid(worker.pid, 0)
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def _begin(self, number: int) -> None:
        ours, theirs = Pipe()
        self._session.config.get_terminal_writer().flush()  # or the worker would write it too
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                for link in (ours, *self._at_work):
                    link.close()
                code = _work(self._session, number, theirs)
            finally:
                os._exit(code)  # whatever happened: what follows is for the first process to do
        theirs.close()
        self._at_work[ours] = _Worker(number, pid)

    def _hear(self, link: Link) -> None:
        worker = self._at_work[link]
        try:
            what, told = link.recv()
        except (EOFError, ConnectionError):
            self._see_end(link)
            return
        if what == "next":
            test = None if self._is_over else self._shares.next_for(worker.number)
            if test is not None:
                worker.given.append(test)
            link.send(test)
        elif what == "report":
            report = self._hook.pytest_report_from_serializable(config=self._session.config, data=told)
            self._hook.pytest_runtest_logreport(report=report)
        elif what == "done":
            item = self._session.items[worker.given.popleft()]
            self._hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        else:
            raise RuntimeError(told)

    @property
    def _is_over(self) -> bool:
        return bool(self._session.shouldfail or self._session.shouldstop)

    def _see_end(self, link: Link) -> None:
        """It has no more to do. If it died in a test, that one has failed, and another worker does the rest."""
        worker = self._at_work.pop(link)
        link.close()
        _, status = os.waitpid(worker.pid, 0)
        if not worker.given:
            return
        item = self._session.items[worker.given.popleft()]
        died = f"The worker ended in this test: {os.waitstatus_to_exitcode(status)}."
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", died, "call")
        self._hook.pytest_runtest_logreport(report=report)
        self._shares.give_back(worker.number, worker.given)
        self._begin(worker.number)


# -- in a worker ---------------------------------------------------------------------------------------------------


class _Telling:
    """The plugin that tells the first process what became of a test."""

    def __init__(self, config: pytest.Config, link: Link) -> None:
        self._config = config
        self._link = link

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._link.send(("report", told))


def _work(session: pytest.Session, number: int, link: Link) -> int:
    try:
        _be_a_worker(session.config, number, link)
        test = _next(link)
        while test is not None:
            following = _next(link)
            nextitem = None if following is None else session.items[following]
            session.config.hook.pytest_runtest_protocol(item=session.items[test], nextitem=nextitem)
            link.send(("done", None))
            test = following
        measured = Coverage.current()
        if measured is not None:
            measured.stop()
            measured.save()
    except BaseException:
        # Whatever it is, it is not the failure of a test: the first process says it and ends.
        link.send(("broken", traceback.format_exc()))
        return 1
    return 0


def _be_a_worker(config: pytest.Config, number: int, link: Link) -> None:
    """With all of its own that processes cannot share: folders, captured output, who is told what became of tests."""
    folders: Any = config._tmp_path_factory  # type: ignore[attr-defined]
    folders._basetemp = folders.getbasetemp() / f"worker-{number}-{os.getpid()}"
    folders._basetemp.mkdir()
    capturing: Any = config.pluginmanager.get_plugin("capturemanager")
    capturing.stop_global_capturing()
    capturing.start_global_capturing()
    capturing.suspend_global_capture()
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(_Telling(config, link))


def _next(link: Link) -> int | None:
    """None: nothing more, or the first process is gone."""
    try:
        link.send(("next", None))
        test: int | None = link.recv()
    except (EOFError, ConnectionError):
        return None
    return test
