"""clusterduck's names and keys, on one machine: its slots, and what they divide."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.conftest import DEADLINE_S, until
from tests.hydra.conftest import Application

SEES = "cfg.x = os.environ.get('CUDA_VISIBLE_DEVICES', 'all').replace(',', '+') or 'none'"
WAIT = "hydra.launcher.wait_for_completion=true"


def multirun(app: Application, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return app(*words, launcher="clusterduck_local", env=env)


def test_by_default_it_submits_and_exits_and_runs_one_at_a_time(app: Application) -> None:
    app.write("note(cfg.x)\nawait_go()")
    multirun(app, "x=1,2,3")
    until(lambda: app.said() == ["1"], "the first run")
    app.go()
    until(lambda: app.said() == ["1", "2", "3"], "the others")
    until(lambda: [row["state"] for row in app.results()] == ["succeeded"] * 3, "their ends")


def test_the_full_configuration_of_its_document_works(app: Application) -> None:
    (app.folder / "conf" / "platform").mkdir()
    (app.folder / "conf" / "platform" / "debug.yaml").write_text(
        "# @package _global_\n"
        "hydra:\n  launcher:\n    timeout_min: 5\n    parallel_runs_per_node: 4\n    total_runs_per_node: 8\n"
        "    wait_for_completion: False\n    resources_config:\n      cpu:\n      cuda:\n        gpus: [0, 1, 2, 3]\n"
        "      stagger:\n        delay: 0.01\n"
    )
    app.write(f"{SEES}\nnote(cfg.x)\nawait_go()")
    multirun(app, "x=1,2,3,4", "+platform=debug")
    until(lambda: len(app.said()) == 4, "four runs at the same time")
    app.go()
    assert sorted(app.said()) == ["0", "1", "2", "3"]


@pytest.mark.parametrize(("visible", "seen"), [("4,GPU-8d3b9a9c", ["4", "GPU-8d3b9a9c"]), ("", ["none"] * 2)])
def test_gpus_that_are_not_named_are_those_that_are_visible(app: Application, visible: str, seen: list[str]) -> None:
    app.write(f"{SEES}\nnote(cfg.x)\nawait_go()")
    words = ["x=1,2", WAIT, "hydra.launcher.parallel_runs_per_node=2", "+hydra.launcher.resources_config.cuda=null"]
    process = app.spawn(*words, launcher="clusterduck_local", env={"CUDA_VISIBLE_DEVICES": visible})
    until(lambda: len(app.said()) == 2, "two runs at the same time")
    app.go()
    assert process.wait(DEADLINE_S) == 0
    assert sorted(app.said()) == seen


@pytest.mark.parametrize(
    ("number", "visible", "seen"), [("null", "4,5", "none"), ("2", None, "0+1"), ("2", "4,5,6", "4+5")]
)
def test_gpus_that_are_not_to_be_divided_are_seen_by_all_runs_as_many_as_they_name(
    app: Application, number: str, visible: str | None, seen: str
) -> None:
    app.write(f"{SEES}\nnote(cfg.x)")
    words = [f"hydra.launcher.gpus_per_node={number}", "hydra.launcher.parallel_runs_per_node=2"]
    multirun(app, "x=1,2", WAIT, *words, env={} if visible is None else {"CUDA_VISIBLE_DEVICES": visible})
    assert app.said() == [seen, seen]


def test_four_runs_over_two_gpus_fill_one_after_the_other_and_say_so_in_their_own_logs(app: Application) -> None:
    app.write("note(cfg.x)\nawait_go()")
    words = ["hydra.launcher.parallel_runs_per_node=4", "+hydra.launcher.resources_config.cuda.gpus=[0,1]"]
    core = max(os.sched_getaffinity(0))
    words += ["hydra.launcher.verbose=true", f"+hydra.launcher.resources_config.cpu.cpus=[{core}]"]
    process = app.spawn("x=range(4)", WAIT, *words, launcher="clusterduck_local")
    until(lambda: len(app.said()) == 4, "four runs at the same time")
    app.go()
    assert process.wait(DEADLINE_S) == 0
    logs = [app.out(str(run), "app.log").read_text() for run in range(4)]
    assert [log.rpartition("CUDA_VISIBLE_DEVICES=")[2] for log in logs] == ["0\n", "0\n", "1\n", "1\n"]
    assert all("[duckrow][INFO] - slot " in log and f"of 4, cores {core}\n" in log for log in logs)


def test_cores_are_divided_and_told_of(app: Application) -> None:
    core = max(os.sched_getaffinity(0))
    app.write("cfg.x = ','.join(map(str, os.sched_getaffinity(0)))\nnote(cfg.x)")
    multirun(app, "x=1,2", WAIT, f"+hydra.launcher.resources_config.cpu.cpus=[{core}]", "hydra.launcher.verbose=true")
    assert app.said() == [str(core)] * 2
    assert f"slot 0 of 1, cores {core}" in app.duckrow("logs", "1").stdout


def test_nothing_more_is_started_after_so_many_failures_without_anybody_waiting(app: Application) -> None:
    app.write("note(cfg.x)\nraise ValueError('broken')")
    multirun(app, "x=range(5)", "hydra.launcher.max_failures=2")
    until(lambda: [row["state"] for row in app.results()][:2] == ["failed", "failed"], "two failures")
    until(lambda: app.duckrow.sql("SELECT ended_at FROM hosts WHERE kind = 'run'")[0][0], "the end of the run")
    assert app.said() == ["0", "1"]


def test_what_was_not_started_is_run_when_it_is_resumed(app: Application) -> None:
    app.write("note(cfg.x)\nraise ValueError('broken')")
    said = app("x=range(4)", WAIT, "hydra.launcher.max_failures=1", launcher="clusterduck_local", ok=False)
    assert "ValueError: broken" in said.stderr
    assert app.said() == ["0"]
    app.write("note(cfg.x)")
    multirun(app, "x=range(4)", WAIT, "hydra.launcher.resume=true")
    assert app.said() == ["0", "0", "1", "2", "3"]
    assert [row["state"] for row in app.results()] == ["succeeded"] * 4
