"""The Hydra launchers on a real SLURM: Hydra's own tests of launchers, and what ours promise."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hydra.test_utils.launcher_common_tests import BatchedSweeperTestSuite, IntegrationTestSuite, LauncherTestSuite

from tests.conftest import DEADLINE_S, until
from tests.fork_server import HydraScript
from tests.hydra.conftest import Application
from tests.slurm.conftest import SETTINGS, Cluster, SlurmDuckrow

OLD_NAME = ("clusterduck_slurm", ["hydra.launcher.wait_for_completion=true"])  # the same with other keys
SLURM = [("duckrow_slurm", []), *([OLD_NAME] if os.environ.get("DUCKROW_SOAK") else [])]


@pytest.fixture(scope="module")
def login_node(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmDuckrow]:
    """One for all of Hydra's own tests."""
    place = tmp_path_factory.mktemp("login")
    program = SlurmDuckrow(place / "state", place)
    program.settings(SETTINGS)
    yield program
    program.kill_everything()


@pytest.fixture
def _on_login_node(login_node: SlurmDuckrow, cluster: Cluster, no_real_home: None, monkeypatch: Any) -> None:
    monkeypatch.setenv("DUCKROW_HOME", str(login_node.home))
    monkeypatch.setenv("DUCKROW_CONFIG", str(login_node.work / "duckrow.toml"))
    monkeypatch.setenv("SLURM_CONF", cluster.conf)
    monkeypatch.setattr(subprocess, "Popen", HydraScript)  # the applications that these tests start


@pytest.mark.usefixtures("_on_login_node")
@pytest.mark.parametrize(("launcher_name", "overrides"), SLURM)
class TestLaunchers(LauncherTestSuite):
    pass


@pytest.mark.usefixtures("_on_login_node")
@pytest.mark.parametrize(
    ("launcher_name", "overrides"),
    [(name, ["hydra/sweeper=basic", "hydra.sweeper.max_batch_size=2", *more]) for name, more in SLURM],
)
class TestBatches(BatchedSweeperTestSuite):
    pass


@pytest.mark.usefixtures("_on_login_node")
@pytest.mark.parametrize(
    ("task_launcher_cfg", "extra_flags"),
    [({}, ["-m", f"hydra/launcher={name}", *more]) for name, more in SLURM],
)
class TestIntegration:
    """What depends on where a run stands. Its name and folder are made alike for all launchers: see tests/hydra."""

    get_test_app_working_dir = IntegrationTestSuite.get_test_app_working_dir
    get_test_scratch_dir = IntegrationTestSuite.get_test_scratch_dir
    generate_custom_cmd = IntegrationTestSuite.generate_custom_cmd
    test_get_orig_dir_multirun = IntegrationTestSuite.test_get_orig_dir_multirun
    test_to_absolute_path_multirun = IntegrationTestSuite.test_to_absolute_path_multirun


@pytest.mark.usefixtures("_on_login_node", "hydra_restore_singletons")
@pytest.mark.parametrize(("launcher_name", "overrides"), [OLD_NAME])
class TestOldName:
    get_task_function = LauncherTestSuite.get_task_function
    test_sweep_2_jobs = LauncherTestSuite.test_sweep_2_jobs


# -- ours -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def app(duckrow: SlurmDuckrow) -> Application:
    return Application(duckrow)


def multirun(app: Application, *words: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
    return app(*words, launcher="duckrow_slurm", ok=ok)


def test_runs_are_packed_into_slurm_jobs_and_are_a_sweep(app: Application, cluster: Cluster) -> None:
    app.write("note(cfg.x)\nnote(os.environ['SLURM_JOB_ID'], 'jobs')")
    multirun(app, "x=range(8)", "hydra.launcher.runs_per_job=4", "hydra.launcher.parallel_runs=2")
    assert sorted(app.said()) == [str(number) for number in range(8)]
    assert len(set(app.said("jobs"))) == 2
    assert [(row["x"], row["state"]) for row in app.results()] == [(number, "succeeded") for number in range(8)]
    assert [Path(row["folder"]) for row in app.results()] == [app.out(str(number)) for number in range(8)]


def test_a_launcher_that_does_not_wait_is_gone_while_its_runs_go_on(app: Application) -> None:
    app.write("await_go()\nnote(cfg.x)")
    multirun(app, "x=1,2,3", "hydra.launcher.wait_for_completion=false", "hydra.launcher.parallel_runs=3")
    assert not app.said()
    app.go()
    app.duckrow("wait", "1-3")
    assert sorted(app.said()) == ["1", "2", "3"]


def test_an_exception_reaches_the_user_and_a_killed_run_touches_no_other(app: Application) -> None:
    app.write(
        "note(cfg.x)\nif cfg.x == 1:\n    os.kill(os.getpid(), 9)\nif cfg.x == 2:\n    raise ValueError('unlucky')"
    )
    said = multirun(app, "x=2,1,3,4", "hydra.launcher.runs_per_job=4", ok=False)
    assert "ValueError: unlucky" in said.stderr
    assert sorted(app.said()) == ["1", "2", "3", "4"]


def test_each_run_gets_its_share_of_the_gpus(app: Application) -> None:
    app.write("cfg.x = int(os.environ['CUDA_VISIBLE_DEVICES'])\nnote(cfg.x)\nawait_go()")
    words = ["x=1,2", "hydra.launcher.gres='gpu:2'", "hydra.launcher.wait_for_completion=false"]
    multirun(app, *words)
    until(lambda: len(app.said()) == 2, "two runs at the same time")
    app.go()
    assert sorted(app.said()) == ["0", "1"]


def test_a_multirun_whose_slurm_jobs_were_cancelled_is_resumed(app: Application, cluster: Cluster) -> None:
    app.write("note(cfg.x)\nif cfg.x == 2:\n    await_go()")
    words = ["x=1,2,3", "hydra.launcher.parallel_runs=1", "hydra.launcher.runs_per_job=3"]
    process = app.spawn(*words, launcher="duckrow_slurm")
    until(lambda: app.said() == ["1", "2"], "the second run")
    cluster("scancel", f"--user={os.getuid()}")
    assert process.wait(DEADLINE_S) != 0  # it says so, and does not wait for ever
    app.go()
    multirun(app, *words, "hydra.launcher.resume=true")
    assert app.said().count("1") == 1
    assert app.said()[-2:] == ["2", "3"]
    assert [row["state"] for row in sorted(app.results(), key=lambda row: row["x"])] == ["succeeded"] * 3


def test_what_sbatch_refuses_is_told_as_slurm_said_it(app: Application) -> None:
    app.write("note(cfg.x)")
    said = multirun(app, "x=1,2", "hydra.launcher.partition=nowhere", ok=False)
    assert "invalid partition" in said.stderr
    assert "nowhere" in said.stderr
    assert "Traceback" not in said.stderr
    assert app.duckrow.sql("SELECT name FROM sweeps UNION ALL SELECT name FROM jobs") == []
    assert sorted(os.listdir(app.out())) == ["multirun.yaml"]  # which is Hydra's own


def test_the_full_configuration_of_clusterducks_document_works(app: Application) -> None:
    (app.folder / "conf" / "platform").mkdir()
    (app.folder / "conf" / "platform" / "cluster.yaml").write_text(
        "# @package _global_\n"
        "hydra:\n  launcher:\n    timeout_min: 5\n    partition: main\n    gres: gpu:2\n    cpus_per_task: 2\n"
        "    parallel_runs_per_node: 2\n    total_runs_per_node: 4\n    wait_for_completion: False\n"
        "    additional_parameters: {hint: nomultithread}\n    setup: ['export FROM_SETUP=yes']\n"
        "    resources_config:\n      cpu:\n      cuda:\n        gpus: [0, 1]\n      stagger:\n        delay: 0.1\n"
    )
    app.write("assert os.environ['FROM_SETUP'] == 'yes'\ncfg.x = int(os.environ['CUDA_VISIBLE_DEVICES'])\nnote(cfg.x)")
    app("x=range(8)", "+platform=cluster", launcher="clusterduck_slurm")
    app.duckrow("wait", "1-8")
    assert set(app.said()) == {"0", "1"}
    assert len(app.said()) == 8
    batch = json.loads((app.duckrow.batch() / "batch.json").read_text())  # type: ignore[attr-defined]
    assert "hint=nomultithread" in json.dumps(batch)
