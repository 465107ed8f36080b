"""How CUDA numbers GPUs that differ, and what people are told of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from duckrow.core.ports import Gpu
from duckrow.devices.cuda_order import as_cuda_numbers, may_differ, overridden
from tests.conftest import Duckrow
from tests.fake_nvml import FakeGpus

pytest_plugins = ("tests.fake_nvml.plugin",)

ALIKE = [Gpu(str(number), "H200", f"GPU-{number}", 141_000) for number in range(2)]
UNLIKE = [ALIKE[0]._replace(model="GTX 1080"), ALIKE[1]]
DIVIDED = [UNLIKE[0], UNLIKE[1]._replace(part_of=("1", "GPU-1"))]


@pytest.mark.parametrize("devices", [ALIKE, DIVIDED, UNLIKE[:1], []])
def test_alike_gpus_have_one_order(devices: list[Gpu]) -> None:
    assert not may_differ(devices, {})
    assert as_cuda_numbers(devices, {}) is devices


def test_by_the_bus_there_is_one_order() -> None:
    assert may_differ(UNLIKE, {})
    assert may_differ(UNLIKE, {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"})
    assert not may_differ(UNLIKE, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})


def test_only_a_choice_of_the_users_is_overridden() -> None:
    assert overridden(UNLIKE, {}) == ""
    assert overridden(ALIKE, {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}) == ""
    assert overridden(UNLIKE, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}) == ""
    assert overridden(UNLIKE, {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}) == (
        "CUDA_DEVICE_ORDER=FASTEST_FIRST does not apply to jobs: they get PCI_BUS_ID, so that GPU 0 is GPU 0 of"
        " nvidia-smi."
    )


# -- with a libcuda ---------------------------------------------------------------------------------------------------


@pytest.fixture
def unlike(gpus: FakeGpus) -> FakeGpus:
    gpus.add("GTX 1080")
    gpus.add("H200", speed=2)
    return gpus


JOB = "echo $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER > got"


def test_a_choice_of_the_users_is_read_in_their_own_order(duckrow: Duckrow, unlike: FakeGpus, tmp_path: Path) -> None:
    env = {**unlike.cuda_env(tmp_path, order=[1, 0]), "CUDA_VISIBLE_DEVICES": "0"}
    run = duckrow("run", stdin=JOB, env=env)
    assert "each job: 1 GPU, out of GPU 1 (CUDA_VISIBLE_DEVICES).\n" in run.stderr
    assert (duckrow.work / "got").read_text() == "1 PCI_BUS_ID\n"


def test_where_cuda_does_not_tell_people_are_told(duckrow: Duckrow, unlike: FakeGpus) -> None:
    run = duckrow("run", stdin=JOB, env={**unlike.env(), "CUDA_VISIBLE_DEVICES": "0"})
    assert "CUDA_VISIBLE_DEVICES=0 was read in the order of nvidia-smi: your GPUs differ" in run.stderr
    assert (duckrow.work / "got").read_text() == "0 PCI_BUS_ID\n"


def test_that_their_order_does_not_hold_is_said_once(duckrow: Duckrow, unlike: FakeGpus) -> None:
    env = {**unlike.env(), "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}
    run = duckrow("run", "--devices", "1", stdin=f"{JOB}\n{JOB}", env=env)
    assert run.stderr.count("CUDA_DEVICE_ORDER=FASTEST_FIRST does not apply to jobs") == 1
    assert (duckrow.work / "got").read_text() == "1 PCI_BUS_ID\n"


def test_the_daemon_is_limited_and_says_so(duckrow: Duckrow, unlike: FakeGpus) -> None:
    env = {**unlike.env(), "CUDA_VISIBLE_DEVICES": unlike.uuid(1), "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}
    said = duckrow("up", env=env).stderr
    assert f"using only the GPUs in CUDA_VISIBLE_DEVICES={unlike.uuid(1)}" in said
    assert "CUDA_DEVICE_ORDER=FASTEST_FIRST does not apply" in said
