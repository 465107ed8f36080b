"""NVIDIA's MPS for jobs that share a GPU: who gets it, and what is done where it fails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from duckrow.core.clock import Now
from duckrow.core.devices.device import Device, reservations
from duckrow.core.devices.inventory import WHOLE, parse_gpus
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Needs
from duckrow.core.devices.policy import Policy
from duckrow.core.jobs.attempt import Exit, LiveAttempt
from duckrow.core.life.states import Outcome
from duckrow.core.ports import Gpu
from duckrow.scheduler.devices.mps_sharing import MOST_CLIENTS, MpsSharing
from duckrow.scheduler.memory.more_memory import MemoryRetries
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.hosts import DAEMON
from tests.core.language import job
from tests.scheduler.language import Told

PACKED = Needs(gpu_mem_mb=1000).as_text()
VARIABLES = {b"CUDA_MPS_PIPE_DIRECTORY": b"/pipes"}


class Server:
    """Instead of NVIDIA's control daemon."""

    refusal = ""
    started: list[Sequence[Device]] = []
    ended = 0

    def __init__(self, root: str) -> None:
        self.variables = VARIABLES

    def start(self, gpus: Sequence[Device]) -> str:
        self.started.append(gpus)
        return self.refusal

    def end(self) -> None:
        type(self).ended += 1


@pytest.fixture
def server() -> type[Server]:
    return type("FreshServer", (Server,), {"started": [], "ended": 0})


class Scene:
    def __init__(self, server: type[Server] | None, mode: str = "auto", knows_gpus: bool = True) -> None:
        self.state = HostState(DAEMON, parse_gpus(["0", "1"]), Machine(policy=Policy(mps=mode)))
        self.told = Told()
        if knows_gpus:
            self.state.gpus.meet([Gpu("0", "RTX", "GPU-a", 24_000)])
        self.sharing = MpsSharing(self.state, "/root-folder", self.told, server)

    def start(self, number: int, device: str = "0", needs: str | None = PACKED) -> LiveAttempt:
        now = Now(0.0, 0.0, 0.0)
        attempt = LiveAttempt(
            1, job(id=number, needs=needs), "k", reservations([(device, WHOLE // 100)]), now, "", DAEMON
        )
        self.state.start(attempt)
        return attempt

    def variables(self, number: int, **more: Any) -> dict[bytes, bytes]:
        return self.sharing.variables(self.start(number, **more))


@pytest.mark.parametrize(
    ("mode", "needs", "device", "has_it"),
    [
        ("auto", PACKED, "0", True),
        ("auto", None, "0", False),  # it has its GPU to itself
        ("on", None, "0", True),
        ("off", PACKED, "0", False),
        ("on", PACKED, "cpu:0", False),
    ],
)
def test_who_gets_mps(server: type[Server], mode: str, needs: str | None, device: str, has_it: bool) -> None:
    scene = Scene(server, mode)
    assert scene.variables(1, device=device, needs=needs) == (VARIABLES if has_it else {})
    assert server.started == ([["0", "1"]] if has_it else [])


def test_one_server_serves_all_and_ends_with_the_host(server: type[Server]) -> None:
    scene = Scene(server)
    assert [scene.variables(number) for number in (1, 2)] == [VARIABLES] * 2
    assert len(server.started) == 1
    scene.sharing.close()
    assert server.ended == 1


def test_a_host_that_never_needed_it_has_nothing_to_end(server: type[Server]) -> None:
    Scene(server).sharing.close()
    assert server.ended == 0


def test_where_there_is_no_mps_nobody_gets_it_and_nobody_is_told() -> None:
    scene = Scene(None, "on")
    assert scene.variables(1) == {}
    assert not scene.told.sentences


def test_where_it_cannot_be_started_jobs_share_without_it_and_that_is_said_once(server: type[Server]) -> None:
    server.refusal = "There is no nvidia-cuda-mps-control."
    scene = Scene(server)
    assert [scene.variables(number) for number in (1, 2)] == [{}, {}]
    assert len(server.started) == 1
    (sentence,) = scene.told.sentences
    assert "nvidia-cuda-mps-control" in sentence
    assert "--mps off" in sentence


@pytest.mark.parametrize(("mode", "is_told"), [("auto", False), ("on", True)])
def test_who_has_no_gpu_that_the_library_knows_hears_of_it_only_if_they_asked(
    server: type[Server], mode: str, is_told: bool
) -> None:
    server.refusal = "There is no nvidia-cuda-mps-control."
    scene = Scene(server, mode, knows_gpus=False)
    assert scene.variables(1) == {}
    assert bool(scene.told.sentences) == is_told


def test_a_gpu_takes_so_many_clients_and_the_next_job_shares_it_without(server: type[Server]) -> None:
    scene = Scene(server)
    given = [scene.variables(number) for number in range(1, MOST_CLIENTS + 3)]
    assert given == [VARIABLES] * MOST_CLIENTS + [{}] * 2
    assert len([told for told in scene.told.sentences if f"GPU 0 has {MOST_CLIENTS}" in told]) == 1
    assert scene.variables(100, device="1") == VARIABLES


def test_a_job_that_failed_by_mps_is_run_without_it_and_others_keep_it(server: type[Server]) -> None:
    scene = Scene(server)
    attempt = scene.start(1)
    assert scene.sharing.variables(attempt) == VARIABLES
    assert scene.sharing.failed(attempt, "its MPS server failed")
    assert scene.sharing.variables(attempt) == {}
    assert scene.variables(2) == VARIABLES


def test_a_job_that_had_no_mps_did_not_fail_by_it(server: type[Server]) -> None:
    scene = Scene(server)
    assert not scene.sharing.failed(scene.start(1), "its MPS server failed")
    scene.variables(2)
    assert not scene.sharing.failed(scene.start(3, needs=None), "its MPS server failed")


def test_after_three_failures_in_a_row_nobody_gets_it(server: type[Server]) -> None:
    scene = Scene(server)
    for number in (1, 2, 3):
        attempt = scene.start(number)
        assert scene.sharing.variables(attempt) == VARIABLES
        scene.sharing.failed(attempt, "its MPS server failed")
    assert scene.variables(4) == {}
    assert any("its MPS server failed" in told for told in scene.told.sentences)


def test_a_success_in_between_begins_the_count_anew(server: type[Server]) -> None:
    scene = Scene(server)
    for number in (1, 2, 3, 4):
        attempt = scene.start(number)
        assert scene.sharing.variables(attempt) == VARIABLES
        if number == 3:
            scene.sharing.succeeded(attempt)
        else:
            scene.sharing.failed(attempt, "its MPS server failed")
    assert scene.variables(5) == VARIABLES


@pytest.mark.parametrize("had_mps", [True, False])
def test_who_failed_by_mps_is_tried_again_and_uses_up_no_retry(tmp_path: Path, had_mps: bool) -> None:
    log = tmp_path / "log"
    log.write_text("RuntimeError: CUDA error: CUDA_ERROR_MPS_SERVER_NOT_READY\n")
    attempt = LiveAttempt(1, job(id=1), "k", reservations([("0", WHOLE)]), Now(0.0, 0.0, 0.0), str(log), DAEMON)
    attempt.note_exit(Exit(1, None, 5.0))
    others: Any = SimpleNamespace(failed=lambda *_: had_mps)
    verdict = MemoryRetries(others, others, others, others, others).after(attempt, Outcome.FAILED, None)
    assert (verdict is not None and verdict.again and not verdict.uses_retry) == had_mps
