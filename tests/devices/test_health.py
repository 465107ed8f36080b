"""What is read of the faults of GPUs, through the real nvidia-ml-py and the fake library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from duckrow.core.ports import Health
from tests.fake_nvml import FakeGpus

pytest_plugins = ("tests.fake_nvml.plugin",)

READER = """
import json, sys
from duckrow.devices.nvml import NvmlSource
source = NvmlSource()
for line in sys.stdin:
    print(json.dumps([reading.health for reading in source.read(json.loads(line))]), flush=True)
"""

Read = Callable[..., list[Health | None]]


@pytest.fixture
def read(gpus: FakeGpus) -> Iterator[Read]:
    """Reads GPUs again and again, as a host does."""
    with subprocess.Popen(
        [sys.executable, "-c", READER],
        env={**os.environ, **gpus.env()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def ask(*names: str) -> list[Health | None]:
            assert process.stdin
            assert process.stdout
            process.stdin.write(json.dumps(names) + "\n")
            process.stdin.flush()
            told: list[Any] = json.loads(process.stdout.readline())
            return [None if each is None else Health(*each)._replace(xids=tuple(each[1])) for each in told]

        yield ask
        process.communicate()


def test_a_healthy_gpu_has_nothing_to_tell(gpus: FakeGpus, read: Read) -> None:
    gpus.add(uncorrected=2)
    gpus.add(no_ecc=True, fail="nvmlDeviceGetFieldValues:3,nvmlDeviceRegisterEvents:3")
    assert read("0", "1") == [Health(uncorrected=2), Health()]


def test_each_xid_is_told_once_and_none_from_before(gpus: FakeGpus, read: Read) -> None:
    gpus.add(xids="48")
    gpus.add()
    assert read("0", "1") == [Health(0), Health(0)]
    gpus.change(1, xids="31,79")
    assert read("0", "1", gpus.uuid(1)) == [Health(0), Health(0, (31, 79)), Health(0, (31, 79))]
    assert read("0", "1") == [Health(0), Health(0)]


def test_the_driver_says_what_must_be_done(gpus: FakeGpus, read: Read) -> None:
    for action in range(8):
        gpus.add(recovery=action)
    cures = [health.cure.split(" (")[0] for health in read(*"01234567") if health is not None]
    reset, restart = "it must be reset", "the machine must be restarted"
    assert cures == ["", reset, restart, "", reset, "", reset, restart]


def test_a_gpu_that_needs_a_reset_may_refuse_every_question(gpus: FakeGpus, read: Read) -> None:
    gpus.add(fail="nvmlDeviceGetTotalEccErrors:16")
    (health,) = read("0")
    assert health is not None
    assert health.cure.startswith("it must be reset")


def test_a_lost_gpu_is_told_from_a_silent_one_and_from_a_silent_driver(gpus: FakeGpus, read: Read) -> None:
    for _ in range(3):
        gpus.add()
    read("0", "1", "2")
    gpus.change(1, lost=True)
    for _ in range(2):  # by the handle that is there, and after a new beginning
        assert read("0", "1") == [Health(0), Health(is_lost=True)]
    gpus.change(2, gone=True)
    assert read("2", gpus.uuid(2)) == [Health(is_silent=True), Health(is_silent=True)]
    gpus.driver("missing")
    read("0")
    assert read("0", "1", "2") == [None, None, None]


def test_instances_share_the_faults_of_their_gpu(gpus: FakeGpus, read: Read) -> None:
    gpus.add(mig=[10_000, 10_000], uncorrected=1)
    first, second = gpus.uuid(0, 0), gpus.uuid(0, 1)
    assert read(first, second) == [Health(1), Health(1)]
    gpus.change(0, xids="95")
    assert read(first, second) == [Health(1, (95,)), Health(1, (95,))]
