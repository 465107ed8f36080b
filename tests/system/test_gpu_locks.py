"""Two users on one machine: their duckrows never take the same memory, and neither can keep the other away."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.conftest import Duckrow, until
from tests.fake_clock import FakeClock
from tests.fake_nvml import FakeGpus
from tests.other_users import NOBODY, as_user, needs_other_users, python_as

pytest_plugins = ("tests.fake_nvml.plugin", "tests.fake_clock.plugin")
pytestmark = needs_other_users

WAITS_FOR = "{}'s duckrow has just started a job on GPU 0"


class OthersDuckrow(Duckrow):
    """The same program, run by another user."""

    def command(self, *words: str) -> list[str]:
        return [*as_user(NOBODY), *super().command(*words)]


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    """As /dev/shm is: root's, everybody's, and sticky."""
    folder = tmp_path / "locks"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def duckrow(duckrow: Duckrow, gpus: FakeGpus, locks: Path) -> Duckrow:
    """Ours, on a machine with one GPU."""
    gpus.add("NVIDIA H200", 20_000)
    _open_to_all(gpus)
    duckrow.env |= {**gpus.env(), "DUCKROW_GPU_LOCKS": str(locks)}
    return duckrow


def _open_to_all(gpus: FakeGpus) -> None:
    """Every user may hold memory of the fake GPUs."""
    folder = gpus.folder.path
    (folder / "lock").touch()
    for path in (folder, folder / "allocations"):
        path.chmod(0o777)
    for path in (folder / "lock", folder / "history", folder / "gpus"):
        path.chmod(0o666)


@pytest.fixture
def others(duckrow: Duckrow, tmp_path: Path) -> Iterator[Duckrow]:
    """A colleague's, on the same machine."""
    home, work = tmp_path / "others", tmp_path / "others-work"
    for folder in (home, work):
        folder.mkdir(0o700)
        os.chown(folder, NOBODY, NOBODY)
    other = OthersDuckrow(home, work)
    other.env = {**duckrow.env, "DUCKROW_HOME": str(home), "HOME": str(work)}
    yield other
    other.kill_everything()


def bring_up(duckrow: Duckrow, log: IO[bytes] | int = subprocess.DEVNULL) -> None:
    """In the foreground: one in the background drops DUCKROW_FAKE_NVML."""
    ready, told = os.pipe()
    duckrow.spawn(
        *("up", "--foreground", "--ready-fd", str(told)), pass_fds=(told,), stdin=subprocess.DEVNULL, stderr=log
    )
    os.close(told)
    assert os.read(ready, 5) == b"ready"
    os.close(ready)


def lock_for_ever(locks: Path, gpus: FakeGpus) -> None:
    """What a hostile colleague does."""
    code = (
        "import sys, time; from duckrow.devices.locks import lock_file; "
        "lock_file.make(sys.argv[1], sys.argv[2], 'x', time.monotonic())"
    )
    python_as(NOBODY, code, str(locks), gpus.uuid(0))


@pytest.mark.parametrize("wanted", [("--gpu-mem", "15G"), ()], ids=["by memory", "whole"])
def test_of_two_users_who_want_the_same_gpu_one_starts_and_the_other_is_told_for_whom_it_waits(
    duckrow: Duckrow, others: Duckrow, wanted: tuple[str, ...]
) -> None:
    for each in (duckrow, others):
        bring_up(each)
    words = ("submit", *wanted, "--", "exec sleep 600")  # takes no memory that could be seen
    for submit in [each.spawn(*words, stdout=subprocess.DEVNULL) for each in (duckrow, others)]:
        assert submit.wait() == 0

    def started() -> str:
        found = [user for user, each in (("root", duckrow), ("nobody", others)) if each.state(1) == "running"]
        assert len(found) < 2
        return "".join(found)

    first = until(started, "a start")
    winner, loser = (duckrow, others) if first == "root" else (others, duckrow)
    until(lambda: WAITS_FOR.format(first) in loser("why", "1").stdout, "the reason")
    assert loser.state(1) == "queued"

    winner("kill", "1")
    loser.wait_for(1, "running")


def test_a_user_who_never_lets_go_of_a_lock_is_waited_for_two_minutes_and_that_is_told(
    duckrow: Duckrow, gpus: FakeGpus, clock: FakeClock, locks: Path, tmp_path: Path
) -> None:
    duckrow.env |= clock.env()
    lock_for_ever(locks, gpus)
    with open(tmp_path / "log", "wb") as log:
        bring_up(duckrow, log)
    job = duckrow.submit("--gpu-mem", "15G", "--", "true")
    until(lambda: WAITS_FOR.format("nobody") in duckrow("why", str(job)).stdout, "the reason")
    assert duckrow.state(job) == "queued"
    clock.go_on(121)
    duckrow.wait_for(job, "succeeded")
    assert (tmp_path / "log").read_text().count("nobody's duckrow has locked GPU 0 for 2 minutes") == 1


def test_a_held_lock_that_was_tidied_away_is_there_again(duckrow: Duckrow, others: Duckrow, locks: Path) -> None:
    bring_up(duckrow)
    job = duckrow.submit("--gpu-mem", "15G", "--", "exec sleep 600")
    duckrow.wait_for(job, "running")
    (held,) = until(lambda: os.listdir(locks), "its lock")
    (locks / held).unlink()
    until(lambda: os.listdir(locks), "its lock to be there again")
    bring_up(others)
    theirs = others.submit("--gpu-mem", "15G", "--", "true")
    until(lambda: WAITS_FOR.format("root") in others("why", str(theirs)).stdout, "the reason")
    assert others.state(theirs) == "queued"


def test_in_a_folder_of_somebody_else_nothing_is_locked_and_that_is_told(
    duckrow: Duckrow, gpus: FakeGpus, locks: Path
) -> None:
    os.chown(locks, NOBODY, NOBODY)
    lock_for_ever(locks, gpus)
    run = duckrow("run", "--gpu-mem", "15G", stdin="true")
    told = f"{locks} belongs to nobody, who could remove what others leave there"
    assert f"No GPU can be locked, so other users may take the same memory: {told}." in run.stderr
    assert len(os.listdir(locks)) == 1
    doctor = " ".join(duckrow("doctor", ok=False).stdout.split())
    assert f"{told}: GPUs cannot be locked for other users" in doctor
