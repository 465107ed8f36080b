"""A duckrow in mount and PID namespaces of its own: what is mounted there is seen by nobody else, and ends with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Duckrow, until

_ASK = """
import json, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=30)
rows = connection.execute(sys.argv[2], json.loads(sys.argv[3])).fetchall()
connection.commit()
print(json.dumps(rows))
"""


class Namespace:
    def __init__(self, first: int) -> None:
        self.first = first  # its first process; when that dies, all of it does
        self._user = [] if os.getuid() == 0 else ["--user", "--preserve-credentials"]

    def enter(self, work: Path, *words: str) -> list[str]:
        return ["nsenter", f"--target={self.first}", *self._user, "--mount", "--pid", f"--wd={work}", *words]

    def sh(self, script: str) -> None:
        subprocess.run(self.enter(Path("/"), "sh", "-ec", script), check=True)

    def path(self, inside: Path) -> Path:
        """The same file, from outside."""
        return Path(f"/proc/{self.first}/root{inside}")


class NamespacedDuckrow(Duckrow):
    def __init__(self, namespace: Namespace, home: Path, work: Path) -> None:
        super().__init__(home, work)
        self.namespace = namespace
        self.inner_home = home
        self.home = namespace.path(home)

    def command(self, *words: str) -> list[str]:
        return self.namespace.enter(self.work, sys.executable, "-m", "duckrow", *words)

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """From within: SQLite follows all links first, and those of /proc lead nowhere."""
        words = [sys.executable, "-c", _ASK, f"{self.inner_home}/duckrow.db", statement, json.dumps(values)]
        done = subprocess.run(self.namespace.enter(self.work, *words), capture_output=True, check=True)
        return [tuple(row) for row in json.loads(done.stdout)]


@contextmanager
def mount_namespace() -> Iterator[Namespace]:
    user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    options = [*user, "--mount", "--propagation=private", "--pid", "--fork", "--mount-proc", "--kill-child"]
    outer = subprocess.Popen(["unshare", *options, "sleep", "infinity"], stderr=subprocess.PIPE)
    try:
        children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
        until(lambda: outer.poll() is not None or _is_sleeping(children), "the namespace")
        if outer.poll() is not None:
            assert outer.stderr is not None
            pytest.skip(f"no namespace of one's own: {outer.stderr.read().decode().strip()}")
        yield Namespace(int(children.read_text().split()[0]))
    finally:
        outer.send_signal(signal.SIGKILL)  # and with it, its child, and with that, all in the namespace
        outer.communicate()


def _is_sleeping(children: Path) -> bool:
    """Whether the first process is there and has all its mounts."""
    try:
        first = children.read_text().split()[0]
        return Path(f"/proc/{first}/comm").read_text() == "sleep\n"
    except (OSError, IndexError):
        return False
