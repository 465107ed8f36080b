"""A process that is not certainly ours is never signalled, and one that is ours is never taken for dead."""

from __future__ import annotations

import pytest

from tests.conftest import DEADLINE_S, Duckrow, until
from tests.system.namespaces import container, needs_namespaces, play

SCENES = "tests.system.scenes"


@needs_namespaces
@pytest.mark.parametrize(
    "scene",
    [
        "a_stranger_gets_the_pid_after_down",
        "a_stranger_gets_the_pid_after_the_daemon_was_killed",
        "a_stranger_gets_the_pid_after_daemon_and_keeper_were_killed",
        "a_stranger_gets_the_pid_within_the_grace",
    ],
)
def test_whoever_gets_the_pid_of_a_job_is_left_alone(duckrow: Duckrow, scene: str) -> None:
    play(f"{SCENES}:{scene}", duckrow)


@needs_namespaces
def test_two_containers_on_one_folder_leave_each_others_processes_alone(duckrow: Duckrow) -> None:
    with container(f"{SCENES}:one_container", duckrow.home, duckrow.work) as one:
        try:
            until(lambda: (duckrow.work / "ready").exists() or one.poll() is not None, "the first container")
            play(f"{SCENES}:the_other_container", duckrow)
        finally:
            (duckrow.work / "kill").touch()
            (duckrow.work / "over").touch()
            said, _ = one.communicate(timeout=DEADLINE_S)
    assert one.returncode == 0, said
