"""The fixtures of the clock; a test module asks for them by `pytest_plugins = ("tests.fake_clock.plugin",)`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fake_clock import FakeClock, NoCompiler, build


@pytest.fixture(scope="session")
def fake_clock_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A laptop need not have a C compiler; CI must."""
    library = tmp_path_factory.mktemp("fake-clock") / "clock.so"
    try:
        build(library)
    except NoCompiler as error:
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(str(error))
        pytest.skip(str(error))
    return library


@pytest.fixture
def clock(fake_clock_library: Path, tmp_path: Path) -> FakeClock:
    return FakeClock(fake_clock_library, tmp_path / "clock")
