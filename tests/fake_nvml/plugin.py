"""The fixtures of the fake GPUs; a test module asks for them by `pytest_plugins = ("tests.fake_nvml.plugin",)`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake_nvml import FakeGpus
from tests.fake_nvml.asking import Nvml
from tests.fake_nvml.library import library_or_skip


@pytest.fixture(scope="session")
def fake_nvml_library() -> Path:
    return library_or_skip()


@pytest.fixture
def gpus(fake_nvml_library: Path, tmp_path: Path) -> FakeGpus:
    """A machine that has no GPU yet."""
    return FakeGpus(tmp_path / "fake-gpus")


@pytest.fixture(scope="session")
def _asker(fake_nvml_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nvml]:
    nvml = Nvml(FakeGpus(tmp_path_factory.mktemp("fake-gpus")).env())
    yield nvml
    nvml.process.communicate()


@pytest.fixture
def nvml(gpus: FakeGpus, _asker: Nvml) -> Nvml:
    """What NVML says of these GPUs: `nvml("nvmlDeviceGetName(gpu(0))")`."""
    assert _asker(f"look_at({str(gpus.folder.path)!r})") is None
    return _asker


@pytest.fixture
def display(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is called like one which draws the desktop."""
    program = tmp_path / "gnome-shell"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "600"]) as sleeper:
        yield sleeper
        sleeper.kill()


@pytest.fixture
def holder() -> Iterator[subprocess.Popen[bytes]]:
    """A process of somebody else, who may hold memory."""
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        yield sleeper
        sleeper.kill()
