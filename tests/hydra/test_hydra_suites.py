"""Hydra's own tests of launchers, for each of ours."""

from __future__ import annotations

import pytest
from hydra.core.plugins import Plugins
from hydra.plugins.launcher import Launcher
from hydra.test_utils.launcher_common_tests import (
    BatchedSweeperTestSuite,
    IntegrationTestSuite,
    LauncherTestSuite,
)

from hydra_plugins.duckrow_launcher.launcher import ClusterduckLocal, DuckrowLocal
from tests.conftest import Duckrow

LOCAL = [("duckrow_local", []), ("clusterduck_local", ["hydra.launcher.wait_for_completion=true"])]


@pytest.fixture(autouse=True)
def _its_duckrow(shared_duckrow: Duckrow, no_real_home: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUCKROW_HOME", str(shared_duckrow.home))


@pytest.mark.parametrize("launcher", [DuckrowLocal, ClusterduckLocal])
def test_hydra_finds_the_launchers(launcher: type[Launcher]) -> None:
    names = [kind.__name__ for kind in Plugins.instance().discover(Launcher)]
    assert launcher.__name__ in names


@pytest.mark.parametrize(("launcher_name", "overrides"), LOCAL)
class TestLaunchers(LauncherTestSuite):
    pass


@pytest.mark.parametrize(
    ("launcher_name", "overrides"),
    [(name, ["hydra/sweeper=basic", "hydra.sweeper.max_batch_size=2", *more]) for name, more in LOCAL],
)
class TestBatches(BatchedSweeperTestSuite):
    pass


@pytest.mark.parametrize(
    ("task_launcher_cfg", "extra_flags"),
    [({}, ["-m", f"hydra/launcher={name}", *more]) for name, more in LOCAL],
)
class TestIntegration(IntegrationTestSuite):
    pass
