"""Hydra's own tests of launchers, for each of ours."""

from __future__ import annotations

import os
import subprocess

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
from tests.fork_server import HydraScript

OLD_NAME = ("clusterduck_local", ["hydra.launcher.wait_for_completion=true"])  # other keys, and a run of its own
LOCAL = [("duckrow_local", []), *([OLD_NAME] if os.environ.get("DUCKROW_SOAK") else [])]

pytestmark = pytest.mark.no_cover  # if measured, Hydra takes twice as long


@pytest.fixture(autouse=True)
def _its_duckrow(shared_duckrow: Duckrow, no_real_home: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUCKROW_HOME", str(shared_duckrow.home))
    monkeypatch.setattr(subprocess, "Popen", HydraScript)  # the applications that these tests start


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


@pytest.mark.usefixtures("hydra_restore_singletons")
@pytest.mark.parametrize(("launcher_name", "overrides"), [OLD_NAME])
class TestOldName:
    get_task_function = LauncherTestSuite.get_task_function
    test_sweep_2_jobs = LauncherTestSuite.test_sweep_2_jobs
    test_sweep_with_custom_resolver = LauncherTestSuite.test_sweep_with_custom_resolver
