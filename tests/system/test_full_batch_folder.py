"""The disk with the batches is really full: no traceback, nothing lost, and work continues when there is room again."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import until
from tests.system.mount_namespace import NamespacedDuckrow, mount_namespace
from tests.system.pretend_slurm import PretendSlurm

GATED = "echo $DUCKROW_JOB_ID >> began; until test -e {0}; do sleep 0.05; done; echo {0} >> done"
LEASE_S = 6
SMALL = "size=1m,nr_inodes=2000,mode=700"


class OnFullDisk:
    def __init__(self, duckrow: NamespacedDuckrow, slurm: PretendSlurm, disk: Path) -> None:
        self.duckrow, self.slurm = duckrow, slurm
        self._disk = disk

    def fill(self) -> None:
        """To the last byte, and the last name."""
        self.duckrow.namespace.sh(f"cat /dev/zero > {self._disk}/filler 2>/dev/null || true")
        self.duckrow.namespace.sh(f"(n=0; while : > {self._disk}/filler.$n; do n=$((n+1)); done) 2>/dev/null || true")

    def make_room(self) -> None:
        self.duckrow.namespace.sh(f"rm -f {self._disk}/filler*")

    def lines(self, name: str) -> list[str]:
        path = self.duckrow.work / name
        return path.read_text().split() if path.exists() else []


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[OnFullDisk]:
    with mount_namespace() as namespace:
        home, work, disk = (tmp_path / name for name in ("state", "work", "disk"))
        for folder in (home, work, disk):
            folder.mkdir()
        namespace.sh(f"mount -t tmpfs -o {SMALL} duckrow-test {disk}")
        duckrow, slurm = NamespacedDuckrow(namespace, home, work), PretendSlurm(tmp_path / "slurm")
        settings = work / "duckrow.toml"
        settings.write_text(f'[engines.slurm]\nfolder = "{disk}"\nlease = "{LEASE_S}s"\n')
        duckrow.env |= {"PATH": slurm.path, "DUCKROW_CONFIG": str(settings)}
        yield OnFullDisk(duckrow, slurm, disk)


def until_the_lease_would_be_over() -> None:
    end = time.monotonic() + 1.5 * LEASE_S
    until(lambda: time.monotonic() > end, "the end of a lease that nobody could renew")


def test_a_pilot_keeps_its_runs_and_their_results_until_there_is_room(disk: OnFullDisk) -> None:
    duckrow = disk.duckrow
    commands = [GATED.format(name) for name in ("first", "second", "third")]
    options = ["--on", "slurm", "--max-jobs", "1", "--parallel-runs", "1"]
    duckrow("submit", *options, "--file", "-", stdin="".join(f"{command}\n" for command in commands))
    until(lambda: disk.lines("began") == ["1"], "the first run to begin")
    disk.fill()
    until_the_lease_would_be_over()
    (duckrow.work / "first").touch()
    until(lambda: "cannot be written" in disk.slurm.logs(), "the pilot to tell")
    disk.make_room()
    for name in ("second", "third"):
        (duckrow.work / name).touch()
    duckrow("wait", "1-3")
    assert disk.lines("began") == ["1", "2", "3"]
    assert disk.lines("done") == ["first", "second", "third"]
    assert "Traceback" not in disk.slurm.logs()


def test_every_command_says_that_the_disk_is_full_and_works_when_there_is_room(disk: OnFullDisk) -> None:
    duckrow = disk.duckrow
    options = ["--on", "slurm", "--max-jobs", "1", "--parallel-runs", "1"]
    commands = "".join(f"{GATED.format(name)}\n" for name in ("first", "second", "third", "fourth"))
    duckrow("submit", *options, "--file", "-", stdin=commands)
    until(lambda: disk.lines("began") == ["1"], "the first run to begin")
    disk.fill()
    for words in (["ls"], ["batches"], ["why", "2"]):
        assert "Traceback" not in duckrow(*words).stderr
    writing = (["kill", "1"], ["kill", "3"], ["hold", "2"], ["priority", "50", "2"], ["submit", *options, "--", "true"])
    for words in writing:
        refused = duckrow(*words, ok=False)
        assert refused.returncode in (1, 2), words
        assert "No space left on device" in refused.stderr, words
        assert "Traceback" not in refused.stderr, words
    disk.make_room()
    duckrow("kill", "3")
    for name in ("first", "second", "fourth"):
        (duckrow.work / name).touch()
    duckrow("wait", "1-4", ok=False)
    assert sorted(disk.lines("done")) == ["first", "fourth", "second"]
    assert [job["outcome"] for job in json.loads(duckrow("ls", "--all", "--json").stdout)] == [
        *("succeeded", "succeeded", "killed", "succeeded")
    ]


def test_a_pilot_that_starts_on_a_full_disk_waits_for_room(disk: OnFullDisk) -> None:
    duckrow = disk.duckrow
    with (duckrow.work / "duckrow.toml").open("a") as settings:
        settings.write(f'setup = ["until test -e {duckrow.work}/start; do sleep 0.05; done"]\n')
    duckrow("submit", "--on", "slurm", "--", "echo ran >> done")
    disk.fill()
    (duckrow.work / "start").touch()
    until(lambda: "No space left on device. It is retried." in disk.slurm.logs(), "the pilot to tell")
    disk.make_room()
    duckrow("wait", "1")
    assert disk.lines("done") == ["ran"]
    assert "Traceback" not in disk.slurm.logs()
