"""Tests in a PID namespace of their own: there PIDs can be chosen, and whatever is started ends with it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import Duckrow, until

_UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
_MOST_INOTIFY = "/proc/sys/user/max_inotify_instances"
_ROOT = Path(__file__).parent.parent.parent


def _may_unshare() -> bool:
    try:
        return subprocess.run([*_UNSHARE, "true"], capture_output=True).returncode == 0
    except OSError:
        return False


needs_namespaces = pytest.mark.skipif(
    not _may_unshare() and not os.environ.get("CI"), reason="PID namespaces need root, and unshare of util-linux"
)


def container(scene: str, home: Path, work: Path, inotify: bool = True) -> subprocess.Popen[str]:
    """Play a scene, `module:function`, in a namespace of its own; the function is given a duckrow on these folders.

    `inotify`: False if the kernel is to have none left there.
    """
    module, _, function = scene.partition(":")
    code = (
        f"from pathlib import Path; from tests.conftest import Duckrow; from {module} import {function}; "
        f"{function}(Duckrow(Path({str(home)!r}), Path({str(work)!r})))"
    )
    limits = [] if inotify else ["--user", "--map-root-user", "sh", "-c", f'echo 0 > {_MOST_INOTIFY}; exec "$@"', "sh"]
    return subprocess.Popen(
        [*_UNSHARE, *limits, sys.executable, "-c", code],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def play(scene: str, duckrow: Duckrow, inotify: bool = True) -> None:
    """Play it to its end; what it asserts must hold."""
    with container(scene, duckrow.home, duckrow.work, inotify) as process:
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said


def stranger_with(pid: int) -> int:
    """A process of ours that has nothing to do with duckrow, leads a session, and has got this PID."""
    # /proc rounds start times down to a hundredth of a second: within one, two processes cannot be told apart.
    seen = time.clock_gettime(time.CLOCK_BOOTTIME)
    until(lambda: time.clock_gettime(time.CLOCK_BOOTTIME) > seen + 0.05, "a later moment")

    def born() -> int:
        _reap()  # as long as a zombie of the job's session is there, its number is not given out
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
        child = os.fork()
        if child == 0:
            os.setsid()
            os.execve("/bin/sleep", ["sleep", "600"], {})
        if child == pid:
            return child
        os.kill(child, 9)
        os.waitpid(child, 0)
        return 0

    return int(until(born, f"a process with the PID {pid}"))


def _reap() -> None:
    """In this namespace we are process 1, to whom orphans come."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def is_there(pid: int) -> bool:
    """A child of this process that has not ended."""
    return os.waitpid(pid, os.WNOHANG) == (0, 0)
