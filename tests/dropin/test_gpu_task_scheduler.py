"""GPU Task Scheduler by another name: the example of its document, what it did, and what it did wrong."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from duckrow.dropin.gpu_task_scheduler import GPUTask, GPUTaskScheduler
from tests.conftest import DEADLINE_S, Duckrow, until
from tests.dropin.shell import environment, has_ended_of, lines_of
from tests.fork_server import Script

# The three files of the document, each changed in its import.
CONFIG = """
config = {
    "scheduler_config": {
        "gpu": ["0", "1", "2"]
    },

    "global_config": {
        "num_run": 5,
        "num_epoch": 200,
    },

    "test_config": [
        {
            "method": ["GAN", "ALI"],
            "num_packing": [1],
            "num_zmode": [1]
        },
        {
            "method": ["WGAN"],
            "num_packing": [3],
            "num_zmode": [1, 2]
        }
    ]
}
"""
MY_GPU_TASK = """
import json
import os
from duckrow.dropin.gpu_task_scheduler.gpu_task import GPUTask


class MyGPUTask(GPUTask):
    def required_env(self):
        return {"METHOD": self._config["method"]}

    def main(self):
        print("testing", self._config["method"])
        with open(os.path.join(self._work_dir, "result.json"), "w") as file:
            json.dump([self._config, os.environ["METHOD"], os.environ["CUDA_VISIBLE_DEVICES"]], file)
"""
RUNNING = """
from config import config
from my_gpu_task import MyGPUTask
from duckrow.dropin.gpu_task_scheduler.gpu_task_scheduler import GPUTaskScheduler
scheduler = GPUTaskScheduler(config = config, gpu_task_class = MyGPUTask)
scheduler.start()
"""
# The tasks of most tests here: what they do is a value of the configuration.
TASK = """
import os, signal, sys, time
from duckrow.dropin.gpu_task_scheduler.gpu_task import GPUTask


def wait_for(path):
    deadline = time.monotonic() + 60
    while not os.path.exists(path):
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Task(GPUTask):
    def main(self):
        with open("ran", "a") as file:
            file.write(f"{self._config['x']}@{os.environ['CUDA_VISIBLE_DEVICES']}\\n")
        exec(self._config.get("do", "pass"))
"""
SCRIPT = """
import sys
from duckrow.dropin.gpu_task_scheduler import GPUTaskScheduler
from tasks import Task

scheduler = GPUTaskScheduler(config={config!r}, gpu_task_class=Task)
{start}
"""
GATED = "open(f'begun-{self._config[\"x\"]}', 'w'); wait_for('gate'); print('finished')"


def with_env(body: str) -> str:
    """Those tasks with a `required_env`."""
    return TASK.replace("    def main", f"    def required_env(self):\n        {body}\n\n    def main")


class Project:
    """A folder with tasks and a script that schedules them."""

    def __init__(self, duckrow: Duckrow) -> None:
        self.duckrow = duckrow
        self.folder = duckrow.work
        self.env = environment(duckrow)
        self.write("tasks.py", TASK)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def plan(
        self, *grids: dict[str, list[Any]], start: str = "scheduler.start()", task: str = TASK, **settings: Any
    ) -> None:
        """Write the script. `everywhere`: what all tasks have in common."""
        everywhere = settings.pop("everywhere", {})
        config = {
            "scheduler_config": {"gpu": ["0"], **settings},
            "global_config": everywhere,
            "test_config": list(grids),
        }
        self.write("script.py", SCRIPT.format(config=config, start=start))
        self.write("tasks.py", task)

    def spawn(self, name: str = "script.py", **options: Any) -> subprocess.Popen[bytes]:
        return Script([sys.executable, name], cwd=self.folder, env=self.env, stderr=subprocess.PIPE, **options)

    def run(self, name: str = "script.py", code: int = 0) -> str:
        """What it says on stderr."""
        process = self.spawn(name, stdout=subprocess.DEVNULL)
        said = process.communicate(timeout=DEADLINE_S)[1].decode()
        assert process.returncode == code, f"exit {process.returncode}\n{said}"
        return said

    def ran(self) -> list[str]:
        """Which tasks have been run, where."""
        return lines_of(self.folder / "ran")

    def values(self) -> list[str]:
        return [line.partition("@")[0] for line in self.ran()]

    def log(self, task: str, name: str = "worker.log") -> str:
        return (self.folder / "results" / task / name).read_text()

    def scheduler_log(self, name: str = "scheduler.log") -> list[str]:
        """Its lines, without the times."""
        lines = lines_of(self.folder / name)
        assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO gpu", line) for line in lines), lines
        return [line.partition(" INFO ")[2] for line in lines]

    def folders(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "results").iterdir())

    def leftovers(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "temp").iterdir())


@pytest.fixture
def project(duckrow: Duckrow) -> Project:
    return Project(duckrow)


def say(process: subprocess.Popen[bytes], words: str) -> None:
    """Read what the script says until it has said these words."""
    assert process.stderr
    while line := process.stderr.readline().decode():
        if words in line:
            return
    raise AssertionError(f"it never said: {words}")


def end_of(process: subprocess.Popen[bytes]) -> str:
    return process.communicate(timeout=DEADLINE_S)[1].decode()


# -- the document ---------------------------------------------------------------------------------------------------


def test_the_documents_example_runs_with_its_imports_changed(project: Project) -> None:
    for name, text in (("config.py", CONFIG), ("my_gpu_task.py", MY_GPU_TASK), ("main.py", RUNNING)):
        project.write(name, text)
    project.run("main.py")
    both = {"num_run": 5, "num_epoch": 200}
    results = {path.parent.name: json.loads(path.read_text()) for path in project.folder.glob("results/*/result.json")}
    assert {name: (config, method) for name, (config, method, _) in results.items()} == {
        f"method-{method},num_packing-{packing},num_zmode-{zmode},": (
            {**both, "method": method, "num_packing": packing, "num_zmode": zmode},
            method,
        )
        for method, packing, zmode in (("GAN", 1, 1), ("ALI", 1, 1), ("WGAN", 3, 1), ("WGAN", 3, 2))
    }
    assert {gpu for _, _, gpu in results.values()} <= {"0", "1", "2"}
    assert project.log("method-ALI,num_packing-1,num_zmode-1,") == "testing ALI\n"
    log = project.scheduler_log()
    for name, (_, _, gpu) in results.items():
        assert log.index(f"gpu{gpu} receives task {name}") < log.index(f"gpu{gpu} finishes task {name}")
    assert len(log) == 8
    assert sorted(path.name for path in project.folder.iterdir() if path.is_dir() and path.name != "__pycache__") == [
        "results",
        "temp",
    ]
    assert project.leftovers() == []


def test_the_classes_are_in_the_package_and_in_the_three_old_modules() -> None:
    import duckrow.dropin.gpu_task_scheduler as package
    from duckrow.dropin.gpu_task_scheduler import config_manager, gpu_task, gpu_task_scheduler

    assert package.GPUTask is gpu_task.GPUTask
    assert package.GPUTaskScheduler is gpu_task_scheduler.GPUTaskScheduler
    assert package.ConfigManager is config_manager.ConfigManager
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="has no attribute 'GPUTasks'"):
        package.GPUTasks  # type: ignore[attr-defined]  # noqa: B018


def test_the_module_of_a_task_loads_nothing_heavy() -> None:
    code = "import sys, duckrow.dropin.gpu_task_scheduler.gpu_task; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"subprocess", "cloudpickle", "sqlite3", "dataclasses", "hashlib", "click"}
    assert not heavy & set(done.stdout.split())


# -- what it did ----------------------------------------------------------------------------------------------------


def test_every_setting_is_heeded(project: Project) -> None:
    project.plan(
        {"long_name": ["abcdef"], "x": [1]}, result_root_folder="out/runs", temp_folder="own/temp", log_file="logs/l",
        scheduler_log_file_path="own/s.log", test_config_string_indicator="=", test_config_string_separator=";",
        config_string_value_maxlen=3, everywhere={"do": "print(self._work_dir)"},
    )  # fmt: skip
    project.run()
    folder = project.folder / "out/runs/long_name=abc;x=1;"
    assert (folder / "logs/l").read_text() == f"{folder}\n"
    assert project.scheduler_log("own/s.log")[0] == "gpu0 receives task long_name=abc;x=1;"
    assert list((project.folder / "own/temp").iterdir()) == []
    assert not (project.folder / "temp").exists()
    assert not (project.folder / "results").exists()


@pytest.mark.parametrize(
    ("gpus", "where"),
    [
        (["0", "1"], ["0", "1"]),
        ([["0", "1"], ["2", "3"]], ["0,1", "2,3"]),
        ([["0", "1"], "2"], ["0,1", "2"]),
        (["0", "0"], ["0", "0"]),
        ([["0", "1"]], ["0,1"]),
        (["", ""], ["", ""]),
    ],
)
def test_each_slot_has_its_gpus_and_one_task_at_a_time(project: Project, gpus: list[Any], where: list[str]) -> None:
    slots = len(where)
    together = f"while len(open('ran').readlines()) < {slots}: time.sleep(0.01)"
    project.plan({"x": list(range(2 * slots))}, gpu=gpus, everywhere={"do": together})
    project.run()
    assert sorted(project.values()) == [str(number) for number in range(2 * slots)]
    assert sorted(line.partition("@")[2] for line in project.ran()[:slots]) == where
    log = [line.split() for line in project.scheduler_log()]
    assert {gpu for gpu, *_ in log} == {f"gpu{gpu}" for gpu in where}
    at_once = [sum(1 if verb == "receives" else -1 for _, verb, *_ in log[: end + 1]) for end in range(len(log))]
    assert max(at_once) == slots


def test_a_task_has_its_variables_and_the_scripts_folder(project: Project) -> None:
    task = with_env("return {'OWN': 1, 'PYTHONHASHSEED': '0', 'X': self._config['x']}")
    look = "print(os.environ['OWN'], os.environ['X'], os.environ['KEPT'], os.environ['MPLBACKEND'], os.getcwd())"
    project.env |= {"KEPT": "kept", "MPLBACKEND": "TkAgg", "CUDA_VISIBLE_DEVICES": "9"}
    project.plan(
        {"x": [7, 8]}, task=task, gpu=["3"], everywhere={"do": f"{look}; print(hash('a'), file=open('h', 'a'))"}
    )
    project.run()
    assert project.log("x-7,") == f"1 7 kept Agg {project.folder}\n"
    assert project.log("x-8,") == f"1 8 kept Agg {project.folder}\n"
    assert project.ran() == ["7@3", "8@3"]
    assert len(set(lines_of(project.folder / "h"))) == 1  # a variable that Python reads when it starts


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("raise OSError('no such thing')", "OSError: no such thing"),
        ("sys.exit('gave up')", "SystemExit: gave up"),
        ("return None", "AttributeError"),
        ("return {'A=B': '1'}", "ValueError"),
    ],
)
def test_variables_that_cannot_be_had_are_the_failure_of_their_task(project: Project, body: str, error: str) -> None:
    project.plan({"x": [1]}, task=with_env(body))
    project.run(code=1)
    assert error in project.log("x-1,")


def test_figures_are_drawn_into_files(project: Project) -> None:
    project.write("matplotlib.py", "def use(backend): print('uses', backend)")
    project.plan({"x": [1]}, task=f"import matplotlib\n{TASK}")
    project.run()
    assert project.log("x-1,") == "uses Agg\n"


def test_a_log_grows_while_its_task_runs(project: Project) -> None:
    project.plan({"x": [1]}, everywhere={"do": "print('begun'); wait_for('gate'); print('done', file=sys.stderr)"})
    process = project.spawn()
    log = project.folder / "results/x-1,/worker.log"
    until(lambda: lines_of(log) == ["begun"], "the first line of the log")
    until(lambda: project.scheduler_log() == ["gpu0 receives task x-1,"], "the scheduler's log")
    (project.folder / "gate").touch()
    end_of(process)
    assert lines_of(log) == ["begun", "done"]


def test_the_scheduler_log_tells_things_in_their_order(project: Project) -> None:
    project.plan({"x": list(range(12))})
    project.run()
    order = [f"gpu0 {verb} task x-{number}," for number in range(12) for verb in ("receives", "finishes")]
    assert project.scheduler_log() == order
    times = [line.partition(" INFO ")[0] for line in lines_of(project.folder / "scheduler.log")]
    assert times == sorted(times)


def test_without_parameters_there_is_one_task_in_the_folder_of_all_results(project: Project) -> None:
    project.plan({}, everywhere={"x": "only", "do": "print('here')"})
    project.run()
    assert project.ran() == ["only@0"]
    assert project.log("") == "here\n"


def test_starts_and_ends_are_on_the_console_too(project: Project) -> None:
    project.plan({"x": [1, 2]})
    said = project.run().split("\n")
    assert [line for line in said if " INFO " in line] == lines_of(project.folder / "scheduler.log")
    assert len(project.scheduler_log()) == 4


def test_without_files_for_them_starts_are_on_the_console_and_only_failures_leave_a_log(project: Project) -> None:
    nowhere: dict[str, Any] = {"log_file": None, "scheduler_log_file_path": None}
    project.plan({"x": [1, 2]}, **nowhere, everywhere={"do": "print('hello'); assert self._config['x'] == 1"})
    said = project.run(code=1)
    told = re.findall(r"INFO (gpu0 .*)$", said, re.MULTILINE)
    assert told == [f"gpu0 {verb} task x-{number}," for number in (1, 2) for verb in ("receives", "finishes")]
    assert not (project.folder / "scheduler.log").exists()
    assert [path.name for path in project.folder.glob("results/*/*")] == [".duckrow-succeeded"]
    log = re.search(r"x-2, failed: see (.*)$", said, re.MULTILINE)
    assert log
    assert "AssertionError" in (project.folder / log[1]).read_text()
    project.plan({"x": [1, 2]}, **nowhere)
    project.run()
    assert project.leftovers() == []


def test_the_module_of_a_task_is_imported_where_the_task_runs(project: Project) -> None:
    look = "import os\nSEEN = os.environ.get('CUDA_VISIBLE_DEVICES'), os.environ.get('OWN')\n"
    task = look + with_env("return {'OWN': 'own'}")
    project.plan({"x": [1, 2, 3]}, task=task, gpu=["7"], everywhere={"do": "print(*SEEN)"})
    project.run()
    assert [project.log(f"x-{number},") for number in (1, 2, 3)] == ["7 own\n"] * 3  # the first starts cold


@pytest.mark.parametrize("settings", [None, {}, {"gpu": []}, {"gpu": [0]}])
def test_a_wrong_configuration_is_a_value_error_at_once(settings: dict[str, Any] | None) -> None:
    with pytest.raises(ValueError):
        GPUTaskScheduler({} if settings is None else {"scheduler_config": settings}, GPUTask)


# -- what is done ---------------------------------------------------------------------------------------------------


def test_only_what_has_succeeded_is_skipped_and_that_is_said(project: Project) -> None:
    project.plan({"x": [1, 2, 3]}, everywhere={"do": "assert self._config['x'] != 2 or os.path.exists('mended')"})
    assert "skipped" not in project.run(code=1)
    (project.folder / "mended").touch()
    said = project.run()
    assert "2 tasks skipped (succeeded before). With force_rerun they run again" in said
    assert project.values() == ["1", "2", "3", "2"]
    assert project.scheduler_log()[6:] == [
        "gpu0 skips task x-1,",
        "gpu0 skips task x-3,",
        "gpu0 receives task x-2,",
        "gpu0 finishes task x-2,",
    ]
    assert "AssertionError" in project.log("x-2,", "worker.log.1")
    assert project.log("x-2,") == ""


def test_a_folder_alone_is_no_success_and_an_empty_note_is_one(project: Project) -> None:
    for number in (1, 2):
        (project.folder / f"results/x-{number},").mkdir(parents=True)
    (project.folder / "results/x-2,/.duckrow-succeeded").touch()
    project.plan({"x": [1, 2]})
    assert "1 task skipped (succeeded before). " in project.run()
    assert project.values() == ["1"]


def test_a_script_that_fails_takes_away_no_success_of_another_in_the_same_folder(project: Project) -> None:
    project.plan({"x": [1]})
    project.run()
    project.write("evaluation.py", TASK.replace("class Task", "class Evaluation"))
    project.plan({"x": [1]}, force_rerun=True, everywhere={"do": "sys.exit(os.path.exists('broken'))"})
    script = (
        (project.folder / "script.py").read_text().replace("tasks import Task", "evaluation import Evaluation as Task")
    )
    project.write("evaluate.py", script)
    (project.folder / "broken").touch()
    project.run("evaluate.py", code=1)
    project.plan({"x": [1]})
    assert "1 task skipped" in project.run()
    assert project.values() == ["1", "1"]


def test_that_global_settings_have_changed_is_said_and_force_rerun_runs_all(project: Project) -> None:
    project.plan({"x": [1, 2]}, everywhere={"epochs": 1})
    project.run()
    project.plan({"x": [1, 2]}, everywhere={"epochs": 2})
    assert "2 tasks skipped (succeeded before, 2 of them with other global settings)" in project.run()
    project.plan({"x": [1, 2]}, everywhere={"epochs": 2}, force_rerun=True)
    assert "skipped" not in project.run()
    assert project.values() == ["1", "2", "1", "2"]


def test_values_that_begin_alike_and_values_with_slashes_have_folders_of_their_own(project: Project) -> None:
    values = ["v" * 30 + end for end in "abc"] + ["data/one", "data_one"]
    project.plan({"x": values})
    project.run()
    assert project.values() == values
    assert len(project.folders()) == 5
    assert all(len(list((project.folder / "results" / name).iterdir())) == 2 for name in project.folders())
    project.plan({"x": values})
    assert "5 tasks skipped" in project.run()


def test_a_folder_that_holds_another_combinations_success_is_no_reason_to_skip(project: Project) -> None:
    project.plan({"x": ["v" * 30 + "first"]})
    project.run()
    project.plan({"x": ["v" * 30 + "second"]})
    project.run()
    assert project.values() == ["v" * 30 + "first", "v" * 30 + "second"]


def test_a_combination_that_is_listed_twice_runs_once(project: Project) -> None:
    project.plan({"x": [1, 1]}, {"x": [1, 2]})
    project.run()
    assert project.values() == ["1", "2"]


def test_an_object_may_be_started_again(project: Project) -> None:
    twice = "scheduler.start(check=False)\nopen('mended', 'w')\nscheduler.start()\nprint('end', file=sys.stderr)"
    project.plan(
        {"x": [1, 2]}, start=twice, everywhere={"do": "assert 'x-1' in self._work_dir or os.path.exists('mended')"}
    )
    said = project.run()
    assert said.count("1 of 2 tasks did not succeed") == 1
    assert "1 task skipped" in said
    assert said.endswith("end\n")
    assert project.values() == ["1", "2", "2"]


@pytest.mark.parametrize("grids", [[], [{"x": []}]])
def test_no_tasks_are_no_trouble(project: Project, grids: list[dict[str, list[Any]]]) -> None:
    project.plan(*grids)
    assert project.run() == ""
    assert not project.duckrow.home.exists()


def test_when_all_has_succeeded_nothing_is_started(project: Project) -> None:
    project.plan({"x": [1]})
    project.run()
    jobs = project.duckrow.sql("SELECT count(*) FROM jobs")
    project.run()
    assert project.duckrow.sql("SELECT count(*) FROM jobs") == jobs


# -- failures -------------------------------------------------------------------------------------------------------

WAYS = {
    "raises": "raise ValueError('of the task')",
    "exits": "sys.exit(3)",
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "imports": "import no_such_module",
    "fine": "pass",
}


def test_however_a_task_fails_the_others_go_on_and_the_exit_code_tells(project: Project) -> None:
    project.plan({"x": list(WAYS)}, gpu=["0", "1"], everywhere={"do": f"exec({WAYS}[self._config['x']])"})
    said = project.run(code=1)
    assert sorted(project.values()) == sorted(WAYS)
    assert "4 of 5 tasks did not succeed:" in said
    for name, outcome in (("raises", "failed"), ("exits", "failed"), ("killed", "killed"), ("imports", "failed")):
        assert f"  x-{name}, {outcome}: see results/x-{name},/worker.log\n" in said
    assert "ValueError: of the task" in project.log("x-raises,")
    assert "tasks.py" in project.log("x-raises,")
    assert "SystemExit: 3" in project.log("x-exits,")
    assert "ModuleNotFoundError: No module named 'no_such_module'" in project.log("x-imports,")
    assert sum("finishes" in line for line in project.scheduler_log()) == 5


def test_without_check_a_script_goes_on_after_failures(project: Project) -> None:
    start = "scheduler.start(check=False)\nprint('after', file=sys.stderr)"
    project.plan({"x": [1]}, start=start, everywhere={"do": "sys.exit(1)"})
    said = project.run(code=0)
    assert "1 of 1 task did not succeed:\n  x-1, failed: see results/x-1,/worker.log\n" in said
    assert said.endswith("after\n")


def test_a_task_whose_module_can_no_longer_be_imported_has_failed(project: Project) -> None:
    project.write("helper.py", "")
    project.plan(
        {"x": [1]}, task=f"import helper\n{TASK}", start="import os; os.remove('helper.py')\nscheduler.start()"
    )
    project.env["PYTHONDONTWRITEBYTECODE"] = "1"
    project.run(code=1)
    assert "ModuleNotFoundError: No module named 'helper'" in project.log("x-1,")


@pytest.mark.parametrize("do", ["sys.exit()", "sys.exit(0)"])
def test_a_task_that_exits_with_code_zero_has_succeeded(project: Project, do: str) -> None:
    project.plan({"x": [1]}, everywhere={"do": do})
    project.run()
    assert project.log("x-1,") == ""
    assert "1 task skipped" in project.run()


def test_a_task_without_main_does_nothing_and_has_succeeded(project: Project) -> None:
    task = "from duckrow.dropin.gpu_task_scheduler.gpu_task import GPUTask\n\nclass Task(GPUTask): pass"
    project.plan({"x": [1]}, task=task)
    project.run()
    assert project.log("x-1,") == ""


def test_a_task_that_is_killed_behind_its_last_line_runs_again(project: Project) -> None:
    late = "import atexit; atexit.register(os.kill, os.getpid(), signal.SIGKILL)"
    project.plan({"x": [1]}, everywhere={"do": late})
    project.run(code=1)
    assert "skipped" not in project.run(code=1)


def test_many_failures_are_not_all_listed(project: Project) -> None:
    project.plan({"x": list(range(23))}, gpu=["0", "1"], everywhere={"do": "sys.exit(1)"})
    said = project.run(code=1)
    assert said.count("failed: see results/") == 20
    assert "  and 3 more.\n" in said


def test_what_failed_can_be_run_again_by_duckrow_itself_until_the_next_start(project: Project) -> None:
    project.plan({"x": [1, 2]}, everywhere={"do": "assert self._config['x'] == 1 or os.path.exists('mended')"})
    project.run(code=1)
    assert len(project.leftovers()) == 1
    (project.folder / "mended").touch()
    project.duckrow("rerun", "2")
    project.duckrow.wait_for(2, "succeeded")
    assert project.values() == ["1", "2", "2"]
    project.plan({"x": [1, 2, 3]})
    assert "2 tasks skipped" in project.run()
    assert project.leftovers() == []


def test_a_gpu_that_is_none_is_told_and_raises(project: Project) -> None:
    project.plan({"x": [1]}, gpu=["zero"], start="scheduler.start(check=False)")
    said = project.run(code=1)
    assert "'zero' does not name GPUs" in said
    assert "DuckrowError: The tasks did not finish: duckrow ended with exit code 2." in said


def test_a_value_that_cannot_be_pickled_is_named_before_anything_is_touched(project: Project) -> None:
    project.plan({"x": [1]})
    project.run()
    setting = "scheduler._config_manager._global_config['lock'] = __import__('threading').Lock()\nscheduler.start()"
    project.plan({"x": [1, 2]}, start=setting, force_rerun=True)
    said = project.run(code=1)
    assert "UsageError: The configuration of task x-1, cannot be pickled" in said
    assert "It is 'lock' of the configuration." in said
    assert project.folders() == ["x-1,"]
    assert sorted(path.name for path in (project.folder / "results/x-1,").iterdir()) == [
        ".duckrow-succeeded",
        "worker.log",
    ]
    assert project.leftovers() == []


# -- where tasks come from ------------------------------------------------------------------------------------------


def test_tasks_may_be_classes_of_the_script_itself(project: Project) -> None:
    script = """
from duckrow.dropin.gpu_task_scheduler import GPUTask, GPUTaskScheduler

OFFSET = 10

def shifted(value):
    return value + OFFSET

class Task(GPUTask):
    def main(self):
        print(shifted(self._config["x"]), self._config["function"](2))

config = {"scheduler_config": {"gpu": ["0"]}, "test_config": [{"x": [1, 2, 3], "function": [lambda y: y * 2]}],
          "global_config": {}}
if __name__ == "__main__":
    scheduler = GPUTaskScheduler(config, Task)
    scheduler.start()
"""
    project.write("script.py", script)
    project.run()
    logs = sorted(path.read_text() for path in (project.folder / "results").glob("*/worker.log"))
    assert logs == ["11 4\n", "12 4\n", "13 4\n"]


def test_what_a_configuration_has_of_the_script_is_what_its_tasks_know(project: Project) -> None:
    script = """
from duckrow.dropin.gpu_task_scheduler import GPUTask, GPUTaskScheduler
print("executed")

class Point:
    def __init__(self, x): self.x = x
    def __repr__(self): return f"Point{self.x}"

class Task(GPUTask):
    def main(self):
        print(isinstance(self._config["point"], Point), self._config["point"].x, late())

points = [{"point": [Point(1), Point(2)]}]
scheduler = GPUTaskScheduler({"scheduler_config": {"gpu": ["0"]}, "test_config": points}, Task)
def late(): return "late"
scheduler.start()
print("this is for the script alone")
"""
    project.write("script.py", script)
    project.run()
    assert [project.log(f"point-Point{x},") for x in (1, 2)] == [f"executed\nTrue {x} late\n" for x in (1, 2)]


def test_the_scheduler_never_imports_what_tasks_import(project: Project) -> None:
    heavy = "import os\nopen('imported', 'a').write(f'{os.getpid()} ' + open('/proc/self/cmdline').read() + '\\n')"
    project.write("heavy.py", heavy)
    project.plan({"x": [1, 2, 3, 4]}, task=f"import heavy\n{TASK}")
    project.run()
    by = lines_of(project.folder / "imported")
    assert len({line.split()[0] for line in by}) > 1  # not the script alone
    assert not any("\0run\0" in line for line in by)


def test_the_libraries_of_tasks_are_imported_once_for_all_that_start_warm(project: Project) -> None:
    place = project.folder / "elsewhere" / "site-packages"  # where only the script knows to look
    place.mkdir(parents=True)
    (place / "heavy.py").write_text("import os\nIMPORTED_BY = os.getpid()")
    task = f"import heavy\n{TASK}"
    project.plan({"x": list(range(6))}, task=task, everywhere={"do": "print(heavy.IMPORTED_BY == os.getpid())"})
    script = project.folder / "script.py"
    script.write_text(f"import sys\nsys.path.insert(0, {str(place)!r})\n{script.read_text()}")
    project.run()
    logs = [path.read_text() for path in (project.folder / "results").glob("*/worker.log")]
    assert logs == ["False\n"] * 6


def test_a_task_whose_module_cannot_be_imported_twice_says_so_in_each_log(project: Project) -> None:
    once = "import os\nos.mkdir('once')\n" + TASK
    project.plan({"x": list(range(6))}, task=once)
    assert project.run(code=1).count("failed: see") == 6
    logs = [path.read_text() for path in (project.folder / "results").glob("*/worker.log")]
    assert all("FileExistsError" in log for log in logs)


def test_a_task_may_go_elsewhere_and_find_its_folder_from_there(project: Project) -> None:
    elsewhere = "os.chdir('/'); print('elsewhere'); open(f'{self._work_dir}/result', 'w')"
    project.plan({"x": [1]}, everywhere={"do": elsewhere}, result_root_folder="results")
    project.run()
    assert (project.folder / "results/x-1,/result").exists()
    assert project.log("x-1,") == "elsewhere\n"
    assert "1 task skipped" in project.run()


def test_what_a_task_does_to_its_configuration_is_its_own(project: Project) -> None:
    changing = with_env("self._config['list'].append('r'); return {}")
    project.plan({"x": [1, 2]}, task=changing, everywhere={"list": [], "do": "print(self._config['list'])"})
    project.run()
    assert (project.log("x-1,"), project.log("x-2,")) == ("['r']\n", "['r']\n")


def test_tasks_with_the_same_variables_start_warm_and_others_cold(project: Project) -> None:
    project.plan({"x": [1, 2, 3]})
    project.run()
    project.plan({"x": [4, 5, 6]}, task=with_env("return {'X': self._config['x']}"))
    project.run()
    preloads = [row[0] for row in project.duckrow.sql("SELECT preload FROM jobs ORDER BY id")]
    assert preloads == ["duckrow.dropin.gpu_task_scheduler.gpu_task"] * 3 + [None] * 3


def test_tasks_have_names_by_which_duckrow_shows_them(project: Project) -> None:
    project.plan({"method": ["a b/c"], "x": [1, "ü" * 40]})
    project.run()
    names = [row[0] for row in project.duckrow.sql("SELECT name FROM jobs ORDER BY id")]
    assert names[0].startswith("method-ab_c,x-1,")
    assert all(re.fullmatch(r"[A-Za-z_][\w.+=,@-]{0,99}", name, re.ASCII) for name in names)


def test_a_scheduler_may_be_started_in_a_thread(project: Project) -> None:
    start = "import threading\nthread = threading.Thread(target=scheduler.start)\nthread.start()\nthread.join()"
    project.plan({"x": [1, 2]}, start=start)
    project.run()
    assert project.values() == ["1", "2"]


def test_the_end_of_a_strangers_job_is_none_of_our_business(tmp_path: Path) -> None:
    settings = {"gpu": ["0"], "scheduler_log_file_path": str(tmp_path / "log")}
    scheduler = GPUTaskScheduler({"scheduler_config": settings}, GPUTask)
    for folder in (None, "/elsewhere"):
        scheduler._note({"event": "ended", "at": 1.0, "folder": folder, "devices": ["0"], "outcome": "failed"})
    assert not (tmp_path / "log").exists()


# -- interruptions --------------------------------------------------------------------------------------------------


def begin_gated(project: Project, start: str = "scheduler.start()") -> subprocess.Popen[bytes]:
    """Three tasks on one GPU, of which the first has begun and waits for the gate."""
    project.plan({"x": [1, 2, 3]}, start=start, everywhere={"do": GATED})
    process = project.spawn(start_new_session=True)
    until((project.folder / "begun-1").exists, "the first task")
    until(lambda: project.duckrow.state(1) == "running", "its record")
    return process


@pytest.mark.parametrize("to_all", [True, False])
@pytest.mark.parametrize("start", ["scheduler.start()", "scheduler.start(check=False)\nopen('after', 'w')"])
def test_ctrl_c_lets_the_running_task_finish_and_the_rest_runs_next_time(
    project: Project, to_all: bool, start: str
) -> None:
    process = begin_gated(project, start)
    (os.killpg if to_all else os.kill)(process.pid, signal.SIGINT)  # a terminal tells all, an editor the script alone
    say(process, "starting nothing more; 1 running job may finish")
    (project.folder / "gate").touch()
    said = end_of(process)
    assert process.returncode not in (0, 1)
    assert said.rstrip().endswith("KeyboardInterrupt: 2 of 3 tasks did not succeed")
    assert project.values() == ["1"]
    assert project.log("x-1,") == "finished\n"
    assert not (project.folder / "after").exists()
    assert "1 task skipped" in project.run()
    assert project.values() == ["1", "2", "3"]


def test_ctrl_c_twice_stops_the_running_task(project: Project) -> None:
    process = begin_gated(project)
    os.killpg(process.pid, signal.SIGINT)
    say(process, "starting nothing more")
    until(lambda: has_ended_of(process, signal.SIGINT), "the end of the script")
    end_of(process)
    assert process.returncode not in (0, 1)
    assert project.values() == ["1"]
    until(lambda: not project.duckrow.job_processes(), "the end of all processes")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_script_that_is_asked_to_end_orphans_nothing(project: Project, number: int) -> None:
    process = begin_gated(project)
    process.send_signal(number)
    say(process, "starting nothing more")
    (project.folder / "gate").touch()
    end_of(process)
    assert process.returncode != 0
    assert project.values() == ["1"]
    until(lambda: not project.duckrow.job_processes(), "the end of all processes")


def test_when_the_script_is_killed_its_tasks_go_on_and_none_runs_beside_itself(project: Project) -> None:
    process = begin_gated(project)
    process.kill()
    process.wait()
    assert process.stderr
    process.stderr.close()
    again = project.spawn(start_new_session=True)
    until(lambda: len(project.duckrow.sql("SELECT 1 FROM jobs")) == 6, "the jobs of the second start")
    assert len(project.leftovers()) == 2  # those of the run that goes on are still needed
    (project.folder / "gate").touch()
    end_of(again)
    assert again.returncode == 0
    until(lambda: project.duckrow.sql("SELECT count(*) FROM jobs WHERE outcome = 'succeeded'") == [(6,)], "all ends")
    assert sorted(project.values()) == ["1", "2", "3"]
    logs = "".join(path.read_text() for path in (project.folder / "results").glob("*/worker.log*"))
    assert logs.count("finished") == 3
    assert logs.count("This task has succeeded in another run") == 3


def test_a_task_waits_while_another_process_works_in_its_folder(project: Project) -> None:
    import fcntl

    project.plan({"x": [1]})
    (project.folder / "results/x-1,").mkdir(parents=True)
    held = os.open(project.folder / "results/x-1,", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    process = project.spawn()
    log = project.folder / "results/x-1,/worker.log"
    until(lambda: lines_of(log) == ["Another run is working on this task. Waiting until it ends."], "the message")
    assert project.ran() == []
    os.close(held)
    end_of(process)
    assert (process.returncode, project.values()) == (0, ["1"])


def test_a_log_that_cannot_be_written_ends_the_script_but_orphans_no_task(project: Project) -> None:
    do = "wait_for('scheduler.log'); os.remove('scheduler.log'); os.mkdir('scheduler.log')"
    project.plan({"x": [1, 2]}, everywhere={"do": do})
    assert "IsADirectoryError" in project.run(code=1)
    until(lambda: not project.duckrow.job_processes(), "the end of all processes")
