"""hydra/launcher=duckrow_local: real applications, a real daemon, real faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from omegaconf import DictConfig, OmegaConf

from tests.conftest import DEADLINE_S, Duckrow, until
from tests.hydra.conftest import Application

# -- results ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def home(shared_duckrow: Duckrow, no_real_home: None, monkeypatch: pytest.MonkeyPatch) -> Duckrow:
    monkeypatch.setenv("DUCKROW_HOME", str(shared_duckrow.home))
    shared_duckrow.up("--slots", "3")
    return shared_duckrow


def _late_first(cfg: DictConfig) -> Any:
    """The first run ends last, and all return more than a pipe holds."""
    import time

    marks = Path(cfg.marks)
    if cfg.x == 0:
        deadline = time.monotonic() + 60
        while len(list(marks.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)  # in time: a run has no `until`
    else:
        (marks / str(cfg.x)).touch()
    return cfg.x, bytes(300_000)


@pytest.mark.usefixtures("hydra_restore_singletons", "home")
def test_results_come_in_the_order_of_the_overrides_whatever_their_size(
    hydra_sweep_runner: Any, tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    sweep = hydra_sweep_runner(
        calling_file=None,
        calling_module="hydra.test_utils.a_module",
        task_function=_late_first,
        config_path=None,
        config_name=None,
        overrides=["hydra/launcher=duckrow_local", f"+marks={marks}", "+x=0,1,2"],
        temp_dir=tmp_path / "out",
    )
    with sweep:
        assert [returned.return_value[0] for returned in sweep.returns[0]] == [0, 1, 2]
        assert all(len(returned.return_value[1]) == 300_000 for returned in sweep.returns[0])


def test_an_exception_reaches_the_user_with_its_traceback_and_the_other_runs_are_done(app: Application) -> None:
    app.write("note(cfg.x)\nif cfg.x == 2:\n    raise ValueError('unlucky')")
    said = app("x=1,2,3", ok=False)
    assert "Error executing job with overrides: ['x=2']" in said.stderr
    assert "ValueError: unlucky" in said.stderr
    assert [line.split(", in ")[-1] for line in said.stderr.splitlines() if "File " in line] == [
        "main"
    ]  # no other frame
    assert sorted(app.said()) == ["1", "2", "3"]
    assert [row["state"] for row in app.results()] == ["succeeded", "failed", "succeeded"]
    assert "unlucky" in app.duckrow("logs", "2").stdout


def test_the_exceptions_behind_an_exception_are_told_too(app: Application) -> None:
    app.write("try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise ValueError('no step') from error")
    said = app("x=1,2", ok=False)
    assert "ZeroDivisionError: division by zero" in said.stderr
    assert "ValueError: no step" in said.stderr


def test_a_run_that_is_killed_touches_no_other(app: Application) -> None:
    app.write("note(cfg.x)\nif cfg.x == 1:\n    os.kill(os.getpid(), signal.SIGTERM)")
    said = app("x=1,2,3", "hydra.launcher.parallel_runs=1", ok=False)
    assert "SIGTERM" in said.stderr
    assert "Traceback" not in said.stderr
    assert app.said() == ["1", "2", "3"]


def test_runs_are_a_sweep_with_their_overrides_as_parameters(app: Application) -> None:
    app.write("print('trained', cfg.x)\nimport duckrow\nduckrow.report(loss=cfg.x / 10)")
    app("x=1,2", "model=convnet,transformer")
    rows = app.results()
    assert [(row["x"], row["model"], row["loss"]) for row in rows] == [
        (1, "convnet", 0.1),
        (1, "transformer", 0.1),
        (2, "convnet", 0.2),
        (2, "transformer", 0.2),
    ]
    assert [Path(row["folder"]) for row in rows] == [app.out(str(number)) for number in range(4)]
    assert "model=convnet,x=1" in app.duckrow("ls", "--all").stdout
    assert OmegaConf.load(app.out("3", ".hydra", "overrides.yaml")) == ["x=2", "model=transformer"]
    assert app.out("multirun.yaml").exists()
    assert "trained 2" in app.duckrow("logs", "4").stdout


def test_a_folder_may_be_named_after_what_the_config_says(app: Application) -> None:
    app.write("return 1")
    app("model=convnet,transformer", "hydra.sweep.subdir=${model.name}-${hydra.job.num}")
    assert [Path(row["folder"]).name for row in app.results()] == ["convnet-0", "transformer-1"]
    assert app.out("transformer-1", ".hydra", "config.yaml").exists()


def test_runs_that_have_one_folder_in_common_do_not_take_each_others_results(app: Application) -> None:
    app.write("note(cfg.x)")
    app("x=1,2,3", "hydra.sweep.subdir=same")
    assert sorted(app.said()) == ["1", "2", "3"]
    assert len({row["folder"] for row in app.results()}) == 3


def test_a_config_that_cannot_be_composed_is_told_before_anything_is_submitted(app: Application) -> None:
    app.write("note(cfg.x)")
    said = app("x=1,2", "no_such_key=3", ok=False)
    assert "no_such_key" in said.stderr
    assert not app.said()
    assert not (app.duckrow.home / "duckrow.db").exists() or not app.duckrow.sql("SELECT * FROM jobs")


def test_a_wrong_key_of_the_launcher_is_told_in_a_sentence(app: Application) -> None:
    app.write("note(cfg.x)")
    said = app("x=1,2", "hydra.launcher.gpu_mem=lots", ok=False)
    assert "lots" in said.stderr
    assert "Traceback" not in said.stderr
    assert not app.said()


def test_callbacks_run_where_hydra_runs_them(app: Application) -> None:
    app.write("note(cfg.x)")
    (app.folder / "notes.py").write_text(
        "import os\nfrom hydra.experimental.callback import Callback\n"
        "class Notes(Callback):\n"
        "    def __init__(self, path): self.path = path\n"
        "    def note(self, what): open(self.path, 'a').write(f'{what}\\n')\n"
        "    def on_multirun_start(self, config, **kwargs): self.note('multirun')\n"
        "    def on_job_start(self, config, **kwargs): self.note(f'start-{config.hydra.job.num}')\n"
        "    def on_job_end(self, config, job_return, **kwargs): self.note(f'end-{job_return.status.name}')\n"
    )
    callback = f"+hydra.callbacks.notes={{_target_: notes.Notes, path: {app.folder}/called}}"
    app("x=1,2", callback, env={"PYTHONPATH": str(app.folder)})
    assert sorted(app.said("called")) == ["end-COMPLETED", "end-COMPLETED", "multirun", "start-0", "start-1"]


# -- devices ----------------------------------------------------------------------------------------------------------


def test_each_run_gets_a_gpu_of_its_own(app: Application) -> None:
    app.duckrow.up("--devices", "0,1,2")
    app.write("cfg.x = int(os.environ['CUDA_VISIBLE_DEVICES'])\nnote(cfg.x)\nawait_go()")
    process = app.spawn("x=1,2,3", "hydra.launcher.gpus=1")
    until(lambda: len(app.said()) == 3, "three runs at the same time")
    app.go()
    assert process.wait(DEADLINE_S) == 0
    assert sorted(app.said()) == ["0", "1", "2"]


def test_so_many_run_at_a_time_as_the_launcher_says(app: Application) -> None:
    app.duckrow.up("--slots", "4")
    app.write(
        "count = os.path.join(hydra.utils.get_original_cwd(), 'running')\n"
        "os.open(count, os.O_CREAT | os.O_EXCL)  # fails if another run is there\n"
        "os.unlink(count)"
    )
    app("x=range(6)", "hydra.launcher.parallel_runs=1")


def test_several_runs_share_a_gpu_when_asked_to(app: Application) -> None:
    app.write("note(cfg.x)\nawait_go()")
    words = ["x=1,2,3,4", "hydra.launcher.jobs_per_gpu=2", "+hydra.launcher.resources_config={cuda: {gpus: [0, 1]}}"]
    process = app.spawn(*words)
    until(lambda: len(app.said()) == 4, "four runs at the same time")
    devices = [json.loads(row[0])[0][0] for row in app.duckrow.sql("SELECT holds FROM attempts")]
    app.go()
    assert process.wait(DEADLINE_S) == 0
    assert sorted(devices) == ["0", "0", "1", "1"]


def test_runs_are_forked_from_a_process_that_has_imported_their_libraries(app: Application) -> None:
    app.write("heavy\nmine\nnote(cfg.x)")
    script = (app.folder / "app.py").read_text()
    (app.folder / "app.py").write_text("import heavy\nimport mine\n" + script)
    (app.folder / "site-packages").mkdir()
    for path in ("site-packages/heavy", "mine"):
        (app.folder / f"{path}.py").write_text("open(f'{__name__}.imports', 'a').write('.')\n")
    app("x=range(12)", "hydra.launcher.parallel_runs=1", env={"PYTHONPATH": str(app.folder / "site-packages")})
    assert len(app.said()) == 12
    imports = len((app.folder / "heavy.imports").read_text())
    assert imports == 2  # by the script, and by the warm process for all runs
    assert len((app.folder / "mine.imports").read_text()) == 13  # by the script, and by each run


STRUCTURED = """
from dataclasses import dataclass
import hydra
from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

@dataclass
class Config:
    x: int = 1
    y: str = "${twice:${x}}"

OmegaConf.register_new_resolver("twice", lambda value: 2 * int(value))
ConfigStore.instance().store(name="structured", node=Config)

@hydra.main(version_base=None, config_path=None, config_name="structured")
def main(cfg):
    found = OmegaConf.to_object(cfg)
    assert isinstance(found, Config), type(found)
    open("found", "w").write(f"{found.x} {found.y} {WORD}")

if __name__ == "__main__":
    WORD = "known"
    main()
    print("this is for the script alone")
"""


def test_the_classes_and_resolvers_of_a_script_are_those_of_its_runs(app: Application) -> None:
    (app.folder / "app.py").write_text(STRUCTURED)
    app("x=1,2,3", "hydra.job.chdir=true", "hydra.launcher.parallel_runs=1")
    assert [app.out(str(number), "found").read_text() for number in range(3)] == ["1 2 known", "2 4 known", "3 6 known"]
    assert "for the script alone" not in app.duckrow("logs", "last").stdout


# -- submit and exit --------------------------------------------------------------------------------------------------


def test_a_launcher_that_does_not_wait_is_gone_while_its_runs_go_on(app: Application) -> None:
    app.write("await_go()\nnote(cfg.x)")
    said = app("x=1,2,3", "hydra.launcher.wait_for_completion=false")
    assert "duckrow results app" in said.stdout
    assert not app.said()
    app.go()
    app.duckrow("wait", "1-3")
    assert sorted(app.said()) == ["1", "2", "3"]
    assert [row["state"] for row in app.results()] == ["succeeded"] * 3


def test_a_sweeper_that_needs_results_is_refused_before_anything_is_submitted(app: Application) -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
    app.write("note(cfg.x)")
    said = app("x=1,2", "hydra/sweeper=optuna", "hydra.launcher.wait_for_completion=false", ok=False)
    assert "needs the results of its runs" in said.stderr
    assert "wait_for_completion=true" in said.stderr
    assert "Traceback" not in said.stderr
    assert not app.said()
    assert not app.out(".duckrow").exists()


SWEEPER = """
from dataclasses import dataclass
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper

@dataclass
class Conf:
    _target_: str = "hydra_plugins.halving.Halving"

ConfigStore.instance().store(group="hydra/sweeper", name="halving", node=Conf)

class Halving(Sweeper):
    '''Asks for three runs, and then for three around the best of them.'''
    def setup(self, *, hydra_context, task_function, config):
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config)

    def sweep(self, arguments):
        best, told = 5, []
        for step in (4, 1):
            xs = [best - step, best, best + step]
            returns = self.launcher.launch([[f"x={x}"] for x in xs], initial_job_idx=len(told))
            told += zip(xs, [returned.return_value for returned in returns])
            best = min(told, key=lambda pair: pair[1])[0]
        print("told", told)
"""


def test_a_sweeper_that_learns_gets_the_value_of_each_run_in_several_launches(app: Application) -> None:
    (app.folder / "hydra_plugins").mkdir()
    (app.folder / "hydra_plugins" / "halving.py").write_text(SWEEPER)
    app.duckrow.up("--slots", "3")
    app.write("return (cfg.x - 8) ** 2")
    said = app("hydra/sweeper=halving", env={"PYTHONPATH": str(app.folder)})
    assert "told [(1, 49), (5, 9), (9, 1), (8, 0), (9, 1), (10, 4)]" in said.stdout
    assert [Path(row["folder"]).name for row in app.results()] == ["0", "1", "2", "3", "4", "5"]


def test_each_trial_of_optuna_gets_the_value_of_its_own_run(app: Application) -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
    app.duckrow.up("--slots", "4")
    # The smaller the value, the later a run ends.
    app.write(
        "here = hydra.utils.get_original_cwd()\n"
        "open(f'{here}/began-{cfg.x}', 'w')\n"
        "while cfg.x < 4 and not os.path.exists(f'{here}/ended-{cfg.x + 1}'): time.sleep(0.01)\n"
        "open(f'{here}/ended-{cfg.x}', 'w')\n"
        "return (cfg.x - 2) ** 2 + cfg.x / 10"
    )
    grid = "hydra/sweeper/sampler=grid"
    app("x=1,2,3,4", "hydra/sweeper=optuna", grid, "hydra.sweeper.n_jobs=4", "hydra.sweeper.n_trials=4")
    found = OmegaConf.load(app.out("optimization_results.yaml"))
    assert (found.best_params.x, found.best_value) == (2, pytest.approx(0.2))


def test_runs_outlive_a_launcher_that_is_killed_and_are_found_by_resume(app: Application) -> None:
    app.write("note(cfg.x)\nawait_go()")
    process = app.spawn("x=1,2,3")
    until(lambda: app.said(), "a run")
    process.kill()
    process.wait()
    app.go()
    app("x=1,2,3", "hydra.launcher.resume=true")
    assert sorted(app.said()) == ["1", "2", "3"]


def test_ctrl_c_stops_the_runs_and_says_how_to_go_on(app: Application) -> None:
    app.write("note(cfg.x)\nawait_go()")
    process = app.spawn("x=range(8)", stderr=subprocess.PIPE)
    until(lambda: app.said(), "a run")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "hydra.launcher.resume=true" in said
    until(lambda: all(app.duckrow.state(job_id) == "killed" for job_id in range(1, 9)), "the end of all")


# -- failing, and going on --------------------------------------------------------------------------------------------


def test_nothing_more_is_started_after_so_many_failures(app: Application) -> None:
    app.duckrow.up("--slots", "2")
    app.write("note(cfg.x)\nif cfg.x < 3:\n    raise ValueError('broken')\nawait_go()")
    words = ["x=1,2,3,4,5,6", "hydra.launcher.parallel_runs=1", "hydra.launcher.max_failures=2"]
    process = app.spawn(*words, stderr=subprocess.PIPE)
    until(lambda: app.duckrow.state(6) == "killed", "the last one to be called off")
    app.go()
    _, said = process.communicate(timeout=DEADLINE_S)
    assert process.returncode != 0
    assert "ValueError: broken" in said
    assert app.said()[:2] == ["1", "2"]
    assert len(app.said()) <= 3


def test_so_it_is_if_nobody_waits_for_them(app: Application) -> None:
    app.write("note(cfg.x)\nraise ValueError('broken')")
    words = ["hydra.launcher.max_failures=2", "hydra.launcher.parallel_runs=1"]
    app("x=range(5)", *words, "hydra.launcher.wait_for_completion=false")
    app.duckrow("wait", "1-5", ok=False)
    assert app.said() == ["0", "1"]
    assert "2 others have failed" in app.duckrow("logs", "5").stdout


def test_a_run_that_fails_is_tried_again_as_often_as_the_launcher_says(app: Application) -> None:
    app.write("note(cfg.x)\nif os.environ['DUCKROW_ATTEMPT'] == '1':\n    raise ValueError('once')")
    env = {"DUCKROW__JOB__BACKOFF": "0"}
    app("x=1,2", "hydra.launcher.retries=1", env=env)
    assert sorted(app.said()) == ["1", "1", "2", "2"]


FAILS_ONCE = """
note(cfg.x)
if cfg.x == 2 and not may_go():
    raise ValueError('no data')
"""


def test_a_resumed_multirun_runs_what_has_failed_in_the_same_folders(app: Application) -> None:
    app.write(FAILS_ONCE)
    app("x=1,2,3", ok=False)
    app.go()
    said = app("x=1,2,3", "hydra.launcher.resume=true")
    assert "2 of 3 runs had already succeeded" in said.stdout
    assert sorted(app.said()) == ["1", "2", "2", "3"]
    assert [
        (row["x"], row["state"], Path(row["folder"]).name) for row in sorted(app.results(), key=lambda r: r["x"])
    ] == [
        (1, "succeeded", "0"),
        (2, "succeeded", "1"),
        (3, "succeeded", "2"),
    ]
    assert "no data" in app.out("1", "attempt-1.log.1").read_text()


def test_a_resumed_multirun_runs_the_script_as_it_is_now(app: Application) -> None:
    app.write("raise ValueError('a mistake')")
    app("x=1,2,3,4", ok=False)
    app.write("note(cfg.x)")
    app("x=1,2,3,4", "hydra.launcher.resume=true")
    assert sorted(app.said()) == ["1", "2", "3", "4"]


def test_a_resumed_multirun_without_anything_to_do_has_its_results_all_the_same(app: Application) -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
    app.write("note(cfg.x)\nreturn cfg.x")
    grid = "hydra/sweeper/sampler=grid"
    words = ["x=3,1,2", "hydra/sweeper=optuna", grid, "hydra.sweeper.n_jobs=3", "hydra.sweeper.n_trials=3"]
    app("x=3,1,2")
    app(*words, "hydra.launcher.resume=true")
    assert sorted(app.said()) == ["1", "2", "3"]
    assert OmegaConf.load(app.out("optimization_results.yaml")).best_value == 1


def test_a_resumed_multirun_may_have_grown_and_its_runs_keep_their_numbers(app: Application) -> None:
    app.write("note(cfg.x)")
    app("x=1,2")
    app("x=0,1,2", "hydra.launcher.resume=true")
    assert sorted(app.said()) == ["0", "1", "2"]
    assert {row["x"]: os.path.basename(row["folder"]) for row in app.results()} == {1: "0", 2: "1", 0: "2"}


def test_what_duckrow_has_forgotten_is_resumed_from_the_folder_wherever_that_is_now(app: Application) -> None:
    app.write(FAILS_ONCE)
    app("x=1,2,3", ok=False)
    app.go()
    app.duckrow("down")
    app.out().rename(app.folder / "elsewhere")
    other = {"DUCKROW_HOME": str(app.duckrow.home) + "-2"}
    try:
        app("x=1,2,3", "hydra.launcher.resume=true", "hydra.sweep.dir=elsewhere", env=other)
    finally:
        Duckrow(Path(other["DUCKROW_HOME"]), app.folder).kill_everything()
    assert sorted(app.said()) == ["1", "2", "2", "3"]


def test_a_multirun_that_is_begun_again_without_resume_runs_everything(app: Application) -> None:
    app.write("note(cfg.x)")
    app("x=1,2")
    app("x=1,2")
    assert sorted(app.said()) == ["1", "1", "2", "2"]
