"""A real SLURM on this machine: a controller and three nodes, started once for all tests of a process."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEADLINE_S, Duckrow, is_running, until

HERE = Path(__file__).parent
NODES, GPUS, CPUS = 3, 2, 4
MORE = shlex.split(
    os.environ.get("DUCKROW_SLURM_UP", "")
)  # --accounting --cgroup: as most clusters are (without --workers)
# What SLURM itself waits for: a node that is slow to answer is not dead.
PATIENT = ("SlurmdTimeout=120", "BatchStartTimeout=120", "UnkillableStepTimeout=120", "MessageTimeout=60")
SETTINGS = """
[engines.slurm]
lease = "8s"
signal_delay = "20s"
"""


class Cluster:
    def __init__(self, state: str) -> None:
        self.state = state
        self.conf = f"{state}/slurm.conf"

    def up(self) -> None:
        """Start it, or what has died of it.

        No array may have more than five jobs. A job that is being stopped has time for it, even on a busy machine. No
        id of a job is a small number, which may stand for something else.
        """
        words = [str(HERE / "slurm-up"), self.state, str(NODES), str(GPUS), "--cpus", str(CPUS)]
        for line in ("MaxArraySize=5", "KillWait=30", "FirstJobId=1001", *PATIENT):
            words += ["--conf", line]
        words += ["--timeout", f"{DEADLINE_S:.0f}", *MORE]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    def is_whole(self) -> bool:
        daemons = ["slurmctld", *(f"slurmd-n{node + 1}" for node in range(NODES))]
        return all(Path(f"{self.state}/{name}.pid").exists() and is_running(self.pid_of(name)) for name in daemons)

    def down(self) -> None:
        subprocess.run([HERE / "slurm-down", self.state, "--wipe"], check=True)

    def crash(self, node: str) -> None:
        """As if its power went; the controller is told, so that nobody has to wait until it notices."""
        subprocess.run([HERE / "slurm-crash", self.state, node], check=True, timeout=DEADLINE_S)
        self("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=crash")

    def revive(self, node: str) -> None:
        self("scontrol", "update", f"NodeName={node}", "State=RESUME")
        self.up()

    def pid_of(self, daemon: str) -> int:
        return int(Path(f"{self.state}/{daemon}.pid").read_text())

    def __call__(self, *words: str, ok: bool = True) -> str:
        env = {**os.environ, "SLURM_CONF": self.conf}
        done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=DEADLINE_S)
        assert not ok or done.returncode == 0, done.stderr
        return done.stdout

    def jobs(self) -> dict[str, str]:
        """Job -> node, of those that run."""
        lines = self("squeue", "--noheader", "--array", "--states=RUNNING", "--format=%F_%K %N").splitlines()
        return {line.split()[0]: line.split()[1] for line in lines}


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    if not shutil.which("slurmctld", path=f"{os.environ['PATH']}:/usr/sbin"):
        assert not os.environ.get("CI"), "CI must have SLURM: .ci/run installs it"
        pytest.skip("there is no SLURM here (Debian: apt install slurmctld slurmd slurm-client munge)")
    cluster = Cluster(tempfile.mkdtemp(prefix="dk-slurm-", dir="/tmp"))  # short: unix sockets are below it
    try:
        cluster.up()
        yield cluster
    finally:
        cluster.down()


def no_jobs_left(cluster: Cluster) -> None:
    cluster("scancel", f"--user={os.getuid()}", ok=False)
    until(lambda: not cluster("squeue", "--noheader", ok=False), "the end of all SLURM jobs")


class SlurmDuckrow(Duckrow):
    """duckrow on the login node of that cluster."""

    def settings(self, text: str) -> None:
        (self.work / "duckrow.toml").write_text(text)

    def states(self) -> list[str]:
        """Of all jobs, without looking at their batches."""
        return [row[0] for row in self.sql("SELECT coalesce(outcome, state) FROM jobs ORDER BY id")]

    def batch(self) -> Path:
        return Path(self.sql("SELECT folder FROM batches ORDER BY id DESC")[0][0])

    def spawn_run(self, *words: str, commands: str) -> subprocess.Popen[bytes]:
        (self.work / "commands.txt").write_text(commands)
        words = ("run", "--on", "slurm", *words, "commands.txt")
        return self.spawn(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def lines(self, name: str) -> list[str]:
        """What runs have left in a file, a line each."""
        path = self.work / name
        return path.read_text().split("\n")[:-1] if path.exists() else []


_HAS_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome: Any = yield
    item.stash[_HAS_FAILED] = outcome.get_result().failed


@pytest.fixture
def duckrow(tmp_path: Path, cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[SlurmDuckrow]:
    if not cluster.is_whole():  # the test before has left a part of it dead
        cluster.up()
    work, scratch = tmp_path / "work", tmp_path / "scratch"
    work.mkdir()
    scratch.mkdir()
    program = SlurmDuckrow(tmp_path / "state", work)
    program.env |= {"SLURM_CONF": cluster.conf, "DUCKROW_CONFIG": str(work / "duckrow.toml")}
    program.env |= {"TMPDIR": str(scratch)}  # pilots of a node that crashes leave their folders
    program.settings(SETTINGS)
    yield program
    if request.node.stash.get(_HAS_FAILED, False):
        print(cluster("squeue", ok=False), cluster("sinfo", "--Node", "--long", ok=False))
        for log in sorted(program.work.glob(".duckrow-slurm/*/pilots/*.log")):
            print(log, log.read_text(errors="replace"), sep="\n")
    no_jobs_left(cluster)
    program.kill_everything()


@pytest.fixture
def running(cluster: Cluster) -> Callable[[int], dict[str, str]]:
    """Wait until this many SLURM jobs run; job -> node."""

    def wait(count: int) -> dict[str, str]:
        until(lambda: len(cluster.jobs()) >= count, f"{count} SLURM jobs to run")
        return cluster.jobs()

    return wait
