"""What all tests share: a duckrow of their own, with real processes, in a folder of its own."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from duckrow.engines.local.attempt_group import AttemptGroup
from duckrow.engines.local.cgroups import Cgroups
from duckrow.engines.local.processes import DAEMON_TAG, TAG
from duckrow.kernel.process import environment_of

DEADLINE_S = 60.0


def until(condition: Callable[[], Any], what: str = "", deadline_s: float = DEADLINE_S) -> Any:
    """Wait for a condition, with a deadline; its value."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"waited {deadline_s:.0f} s in vain for {what or condition}"
        time.sleep(0.01)


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
        limit_s: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; `ok`: it must succeed."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            self.command(*words),
            input=data,
            capture_output=True,
            env={**self.env, **(env or {})},
            cwd=self.work,
            timeout=limit_s,
        )
        result = subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        )
        assert "Traceback" not in result.stderr, result.stderr
        assert not ok or result.returncode == 0, f"{words}: exit {result.returncode}\n{result.stdout}\n{result.stderr}"
        return result

    def spawn(self, *words: str, env: dict[str, str] | None = None, **options: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
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

    # -- looking ----------------------------------------------------------------------------------------------

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.home / "duckrow.db", timeout=30)
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
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        until(lambda: not self.processes(), "the end of all processes")
        for group in self.groups():
            group.kill()
            until(group.remove, "the end of a cgroup")

    def groups(self) -> list[AttemptGroup]:
        """The cgroups of its attempts."""
        cgroups = Cgroups.find(str(self.home / "keepers"))
        return [] if cgroups is None else list(cgroups.made())


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


@pytest.fixture
def duckrow(tmp_path: Path) -> Iterator[Duckrow]:
    work = tmp_path / "work"
    work.mkdir()
    program = Duckrow(tmp_path / "state", work)
    yield program
    program.kill_everything()


@pytest.fixture(autouse=True)
def no_real_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test may touch the user's own state, or hang on the user's own settings."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg-config"))
    for name in ("DUCKROW_HOME", "DUCKROW_CONFIG", *(name for name in os.environ if name.startswith("DUCKROW__"))):
        monkeypatch.delenv(name, raising=False)
