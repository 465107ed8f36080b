"""What all tests share: a duckrow of their own, with real processes, in a folder of its own."""

from __future__ import annotations

import gc
import importlib
import itertools
import json
import os
import pkgutil
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

import duckrow as duckrow_package
from duckrow.engines.local.cgroups.attempt_group import AttemptGroup
from duckrow.engines.local.cgroups.cgroups import Cgroups
from duckrow.engines.local.processes.processes import DAEMON_TAG, TAG
from duckrow.kernel.process import environment_of
from duckrow.scheduler.reactor import EpollReactor
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import is_alive
from duckrow.store.sqlite import database_lock
from tests.fork_server import Program
from tests.workers import pytest_addoption, pytest_runtestloop

__all__ = ["pytest_addoption", "pytest_runtestloop"]  # for pytest

DEADLINE_S = 120.0
"""How long a test waits for what must come. That costs nothing; where others use the cores, everything is slow."""

LONGEST_PAUSE_S = 0.05
"""Between two looks. One that looks a hundred times a second takes a tenth of a core, which others wait for."""

# A shell that starts us in the background (`make test &`) has us ignore Ctrl-C, and `nohup` a terminal that goes away;
# and so would all that we begin.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Nor is a case that Hypothesis makes up wrong because it took long.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


MEMORY = "/dev/shm"
ENOUGH = 4 * 2**30


def pytest_configure() -> None:
    """Folders of tests are in memory, where there is room for them. What is submitted is on disk before its id is
    printed, which took a quarter of a core's time for what is thrown away. On disk: `PYTEST_DEBUG_TEMPROOT=/tmp`."""
    with suppress(FileNotFoundError):
        found = os.statvfs(MEMORY)
        has_room = found.f_bavail * found.f_frsize >= ENOUGH
        if has_room and not found.f_flag & (os.ST_NOEXEC | os.ST_RDONLY) and os.access(MEMORY, os.W_OK):
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)


WHOLE_PROGRAM = tuple(f"{Path(__file__).parent}/{room}/" for room in ("system", "pages", "slurm", "web/browser"))
"""Whose tests are about processes of their own: to measure theirs would take time and count what is met by chance."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Coverage counts what a test means to reach, not what is met by chance: which if measured takes thrice as long."""
    for item in items:
        is_by_chance = isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)
        if is_by_chance or str(item.path).startswith(WHOLE_PROGRAM):
            item.add_marker("no_cover")


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is loaded by then stays: the garbage collector need not look through it again and again.

    What our modules do when they are loaded is measured here, in one go: to measure all of collecting takes 15 s.
    """
    gc.disable()
    if sys.gettrace() is not None:
        for module in pkgutil.walk_packages(duckrow_package.__path__, "duckrow."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    with not_measured():
        yield
    gc.freeze()
    gc.enable()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    with not_measured(item.get_closest_marker("no_cover") is not None):
        yield


@contextmanager
def not_measured(so: bool = True) -> Iterator[None]:
    """Also in threads that begin within."""
    tracer, of_threads = sys.gettrace(), threading.gettrace()
    if so:
        sys.settrace(None)
        threading.settrace(None)
    try:
        yield
    finally:
        if so:
            sys.settrace(tracer)
            threading.settrace(of_threads)


def until(condition: Callable[[], Any], what: str = "", deadline_s: float = DEADLINE_S) -> Any:
    """Wait for a condition, with a deadline; its value."""
    end = time.monotonic() + deadline_s
    pause_s = 0.005
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"waited {deadline_s:.0f} s in vain for {what or condition}"
        time.sleep(pause_s)  # in time: everybody else says `until`
        pause_s = min(pause_s * 1.2, LONGEST_PAUSE_S)


class Duckrow:
    """The installed program, with a state folder of its own."""

    def __init__(self, home: Path, work: Path) -> None:
        self.home = home
        self.work = work
        self.env = {**os.environ, "DUCKROW_HOME": str(home), "NO_COLOR": "1", "COLUMNS": "160"}
        self.env.pop("CUDA_VISIBLE_DEVICES", None)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "duckrow", *words]

    def __call__(
        self,
        *words: str,
        stdin: str | bytes = "",
        ok: bool = True,
        env: dict[str, str] | None = None,
        limit_s: float = DEADLINE_S,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; `ok`: it must succeed."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with self.spawn(*words, env=env, **pipes) as process:
            stdout, stderr = process.communicate(data, timeout=limit_s)
        result = subprocess.CompletedProcess(
            process.args, process.returncode, stdout.decode(errors="replace"), stderr.decode(errors="replace")
        )
        assert "Traceback" not in result.stderr, result.stderr
        assert not ok or result.returncode == 0, f"{words}: exit {result.returncode}\n{result.stdout}\n{result.stderr}"
        return result

    def spawn(self, *words: str, env: dict[str, str] | None = None, **options: Any) -> subprocess.Popen[bytes]:
        return Program(
            self.command(*words), env={**self.env, **(env or {})}, cwd=options.pop("cwd", self.work), **options
        )

    # -- the daemon -------------------------------------------------------------------------------------------

    def up(self, *words: str) -> int:
        self("up", *words)
        return self.daemon_pid()

    def daemon_pid(self) -> int:
        return int(self.sql("SELECT pid FROM hosts WHERE id = 1")[0][0])

    def kill_daemon(self) -> None:
        """As if by the kernel's OOM killer, or a cable."""
        pid = self.daemon_pid()
        os.kill(pid, signal.SIGKILL)
        until(lambda: not is_running(pid), "the daemon's end")

    def lives(self, host: int) -> bool:
        """As all commands see it."""
        return is_alive(Folder(str(self.home)), host)

    # -- looking ----------------------------------------------------------------------------------------------

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.home / "duckrow.db", timeout=DEADLINE_S)
        try:
            rows = connection.execute(statement, values).fetchall()
            connection.commit()
            return rows
        finally:
            connection.close()

    def job(self, job_id: int) -> dict[str, Any]:
        view: dict[str, Any] = json.loads(self("show", str(job_id), "--json").stdout)[0]
        return view

    def state(self, job_id: int) -> str:
        """The state, or the outcome once it is done; straight from the database."""
        rows = self.sql("SELECT coalesce(outcome, state) FROM jobs WHERE id = ?", job_id)
        return str(rows[0][0]) if rows else ""

    def submit(self, *words: str) -> int:
        return int(self("submit", *words).stdout)

    def wait_for(self, job_id: int, *states: str) -> None:
        until(lambda: self.state(job_id) in states, f"job {job_id} to be {' or '.join(states)}")

    def processes(self) -> list[int]:
        """Everything that is alive of this duckrow: daemon, keepers, jobs."""
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                variables = environment_of(int(name))
                if f"DUCKROW_HOME={self.home}".encode() in variables and is_running(int(name)):
                    found.append(int(name))
        return found

    def job_processes(self) -> list[int]:
        tag, of_daemon = f"{TAG}=".encode(), f"{TAG}={DAEMON_TAG}".encode()
        tags = {pid: [v for v in environment_of(pid) if v.startswith(tag)] for pid in self.processes()}
        return [pid for pid, found in tags.items() if found and found != [of_daemon]]

    def kill_everything(self) -> None:
        """Again and again: one that is about to die may just have begun another."""
        until(lambda: not self._kill_those_there(), "the end of all processes")
        for group in self.groups():
            group.kill()
            until(group.remove, "the end of a cgroup")

    def _kill_those_there(self) -> list[int]:
        """All at once: none sees another die, not even a keeper with a higher PID than its jobs (PIDs start over)."""
        found = self.processes()
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
        return found

    def groups(self) -> list[AttemptGroup]:
        """The cgroups of its attempts."""
        cgroups = Cgroups.find(str(self.home / "keepers"))
        return [] if cgroups is None else list(cgroups.made())


def press_ctrl_c(terminal: int, command: int) -> None:
    """Press it once the command has taken in the last one: to the kernel two that are not yet heard are one."""
    pending = re.compile(r"^ShdPnd:\t(\w+)", re.MULTILINE)

    def has_heard_the_last() -> bool:
        found = pending.search(Path(f"/proc/{command}/status").read_text())
        return found is not None and not int(found[1], 16) >> (signal.SIGINT - 1) & 1

    until(has_heard_the_last, "the last Ctrl-C to be heard")
    os.write(terminal, b"\x03")


def read_to_end(terminal: int) -> bytes:
    """What is written to a terminal until nobody has it open any more; who does not read holds up who writes."""
    seen = b""
    with suppress(OSError):  # how a terminal says that the other side is gone
        while data := os.read(terminal, 65536):
            seen += data
    os.close(terminal)
    return seen


def kill_if_there(pid: int) -> None:
    """End a process that the test has started."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def is_running(pid: int) -> bool:
    """Whether the process is there and not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def has_open(pid: int, path: Path) -> bool:
    """Whether a process has opened this file: tail sees only what is appended later."""
    with suppress(OSError):  # it has just closed another
        return any(os.readlink(link) == str(path) for link in Path(f"/proc/{pid}/fd").iterdir())
    return False


@pytest.fixture
def duckrow(tmp_path: Path) -> Iterator[Duckrow]:
    work = tmp_path / "work"
    work.mkdir()
    program = Duckrow(tmp_path / "state", work)
    yield program
    program.kill_everything()


@pytest.fixture
def reactor() -> Iterator[EpollReactor]:
    reactor = EpollReactor()
    yield reactor
    reactor.close()


@pytest.fixture(autouse=True)
def _processes_end_with_their_test() -> Iterator[None]:
    """Fixtures that several tests share are set up before this one: what they begin, they end."""
    with processes_end():
        yield


@contextmanager
def processes_end() -> Iterator[None]:
    """Every process that is begun within is ended and buried behind it, and its pipes are closed.

    Python complains of one that was forgotten when it throws the object away. That may be in the middle of another
    test, which then fails.
    """
    begun: list[subprocess.Popen[Any]] = []
    really_begin, really_leave = subprocess.Popen.__init__, subprocess.Popen.__exit__

    def begin(self: subprocess.Popen[Any], *words: Any, **options: Any) -> None:
        really_begin(self, *words, **options)
        begun.append(self)

    def leave(self: subprocess.Popen[Any], kind: type[BaseException] | None, *rest: Any) -> None:
        if kind is not None:
            self.kill()  # or `with` would wait for its end, which a test that fails has not brought about
        really_leave(self, kind, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", begin)
        patch.setattr(subprocess.Popen, "__exit__", leave)
        yield
    for process in begun:
        _end(process)


def _end(process: subprocess.Popen[Any]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait(DEADLINE_S)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):  # what was not read any more
                pipe.close()


@pytest.fixture(scope="module", autouse=True)
def _files_are_closed_behind_a_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests leave open is missed by others: a user has 128 watches of files at most, and 1,024 open files."""
    yield
    close_files_of_databases()
    if left := open_files(tmp_path_factory.getbasetemp()):
        gc.collect()  # some stand in a circle
        # Threads of a server that was closed close theirs when they end.
        until(lambda: not open_files(tmp_path_factory.getbasetemp()), f"{', '.join(left)} to be closed")


def close_files_of_databases() -> None:
    """Those that a process which uses a database must not close. Here nobody uses them any more."""
    for fd in [*database_lock._asking.values(), *itertools.chain(*database_lock._idle.values())]:
        os.close(fd)
    database_lock._asking.clear()
    database_lock._idle.clear()


def open_files(below: Path) -> list[str]:
    """The open files of the tests, and what watches some."""
    found = []
    for fd in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the listing itself
            target = os.readlink(f"/proc/self/fd/{fd}")
            if target.startswith(f"{below}/") or target == "anon_inode:inotify":
                found.append(target)
    return found


@pytest.fixture(autouse=True)
def no_real_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test may touch the user's own state, or hang on the user's own settings."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg-config"))
    for name in ("DUCKROW_HOME", "DUCKROW_CONFIG", *(name for name in os.environ if name.startswith("DUCKROW__"))):
        monkeypatch.delenv(name, raising=False)
