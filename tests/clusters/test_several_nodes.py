"""A run on several nodes: what each of them does, without a SLURM."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from duckrow.clusters.slurm.environment import on_nodes
from tests.conftest import DEADLINE_S, is_running, until

# Starts the tasks of a step when the test says so. Its end code is that of its last task.
SRUN = """#!/bin/sh
while [ "$1" != /bin/sh ]; do shift; done
export SLURM_JOB_ID=7 SLURM_STEP_ID=0
for node in 0 1; do
    until test -e "go-$node"; do sleep 0.01; done
    SLURM_NODEID=$node "$@" &
    echo $! > "task-$node"
done
wait $!
"""
SCONTROL = "#!/bin/sh\necho n1\n"

Start = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts a command on two nodes."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "DUCKROW_RUN_DIR": str(tmp_path / "run")}
    return lambda command: subprocess.Popen(["/bin/sh", "-c", on_nodes(2, command)], cwd=tmp_path, env=env)


def children_of(pid: int) -> list[str]:
    """What they are called."""
    with suppress(OSError):  # one has just ended
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [Path(f"/proc/{child}/comm").read_text().strip() for child in children]
    return []


def task(folder: Path, node: int) -> int:
    return int(until(lambda: (folder / f"task-{node}").exists() and (folder / f"task-{node}").read_text(), "a task"))


def test_a_node_that_fails_does_not_end_before_the_others_have_begun(start: Start, tmp_path: Path) -> None:
    """srun kills those that it has started. One that comes later would run on by itself."""
    step = start("touch failed-$NODE_RANK; exit 3")
    (tmp_path / "go-0").touch()
    first = task(tmp_path, 0)
    until((tmp_path / "failed-0").exists, "the first to fail")
    until(lambda: children_of(first) == ["sleep"], "the first to wait for the other")
    (tmp_path / "go-1").touch()
    assert step.wait(DEADLINE_S) == 3
    until(lambda: not is_running(first), "the end of the first")


def test_one_that_succeeds_waits_for_nobody_and_one_that_is_signalled_may_make_use_of_it(
    start: Start, tmp_path: Path
) -> None:
    step = start(
        "if test $NODE_RANK = 0; then exit 0; fi\n"
        "trap 'touch saved; exit 0' TERM; touch ready; while :; do sleep 0.05; done  # and a comment"
    )
    (tmp_path / "go-0").touch()
    first = task(tmp_path, 0)
    until(lambda: not is_running(first), "its end")
    (tmp_path / "go-1").touch()
    until((tmp_path / "ready").exists, "the second to run")
    second = task(tmp_path, 1)
    for pid in [second, *map(int, Path(f"/proc/{second}/task/{second}/children").read_text().split())]:
        os.kill(pid, signal.SIGTERM)  # as SLURM does: to each process of the task
    assert step.wait(DEADLINE_S) == 0
    assert (tmp_path / "saved").exists()
