"""Forked runs are not copies of each other: what the project's modules do while they are imported, each run does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import DEADLINE_S, Duckrow

pytest.importorskip("numpy", reason="numpy's generators are looked at, and it is not installed")

FORKED = 4
RUNS = FORKED + 1  # one that comes alone has no parent to be forked from

# Installed, as far as anybody can tell: it is in a folder named site-packages.
LIBRARY = """
import os, random
import numpy

IMPORTED_BY = os.getpid()
PYTHON, NEW, OLD = random.Random(), numpy.random.default_rng(), numpy.random.RandomState()
SEEDED = random.Random(1), numpy.random.default_rng(2), numpy.random.RandomState(3)


def own():
    return {"its Random": PYTHON.random(), "its Generator": NEW.random(), "its RandomState": OLD.rand()}


def seeded():
    return [SEEDED[0].random(), SEEDED[1].random(), SEEDED[2].rand()]
"""
# A module of the project.
MINE = """
import os, random, sys, tempfile, uuid
import numpy
import library

GENERATOR, ID, GPUS = numpy.random.default_rng(), uuid.uuid4(), os.environ.get("CUDA_VISIBLE_DEVICES")
SEEN = {"argv": sys.argv[-1], "cwd": os.getcwd(), "job": os.environ.get("DUCKROW_JOB_ID")}
OLD, PYTHON = numpy.random.rand(), random.random()


def values():
    numbers = {
        "Generator": GENERATOR.random(), "uuid4": str(ID), "numpy": OLD, "random": PYTHON,
        "uuid1": str(uuid.uuid1()), "tempfile": tempfile.mktemp(), **library.own(),
    }
    numpy.random.seed(5)
    random.seed(6)
    fixed = [*library.seeded(), numpy.random.rand(), random.random()]
    return {"forked": library.IMPORTED_BY != os.getpid(), "gpus": GPUS, "numbers": numbers, "fixed": fixed, **SEEN}
"""
HERE = "import os\nHERE = os.path.dirname(os.path.abspath(__file__))\n"
LEAVE = (
    HERE
    + "import json, uuid\ndef leave(found):\n    open(f'{HERE}/{uuid.uuid4()}.found', 'w').write(json.dumps(found))\n"
)


class Project:
    """A folder with a module of its own, and a library that is installed."""

    def __init__(self, duckrow: Duckrow) -> None:
        self.duckrow, self.folder = duckrow, duckrow.work
        self.write("site-packages/library.py", LIBRARY)
        self.write("mine.py", MINE)
        self.write("leaving.py", LEAVE)
        more = os.environ.get("PYTHONPATH")
        duckrow.env["PYTHONPATH"] = os.pathsep.join([f"{self.folder}/site-packages", *([more] if more else [])])

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def python(self, *words: str) -> None:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env=self.duckrow.env,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def run(self, preload: str, *commands: str) -> None:
        """One that comes alone, and then the others."""
        for name, some in (("first", commands[:1]), ("others", commands[1:])):
            self.write(name, "".join(f"{command}\n" for command in some))
            self.duckrow("run", "--devices", "3", "--preload", preload, name)

    def found(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in self.folder.glob("*.found")]


@pytest.fixture
def project(duckrow: Duckrow) -> Project:
    return Project(duckrow)


def check(found: list[dict[str, Any]], gpus: str = "3", are_forked: int = FORKED) -> list[dict[str, Any]]:
    """That of the runs each has numbers of its own, and what it sees is its own; those that were forked."""
    assert len(found) == RUNS
    for name in found[0]["numbers"]:
        assert len({run["numbers"][name] for run in found}) == RUNS, name
    assert [run["gpus"] for run in found] == [gpus] * RUNS
    assert len({tuple(run["fixed"]) for run in found}) == 1  # what was seeded is as if nothing had been forked
    forked = [run for run in found if run["forked"]]
    assert len(forked) == are_forked
    return forked


def test_scripts(project: Project) -> None:
    project.write("script.py", "import mine, leaving\nleaving.leave(mine.values())")
    project.run("library", *(f"{sys.executable} script.py {number}" for number in range(RUNS)))
    forked = check(project.found())
    assert len({run["argv"] for run in forked}) == len({run["job"] for run in forked}) == FORKED
    assert {run["cwd"] for run in forked} == {str(project.folder)}


def test_the_seed_of_hashes_is_the_one_that_the_job_has(project: Project) -> None:
    project.duckrow.env["PYTHONHASHSEED"] = "7"
    project.write("script.py", "import sys, leaving\nleaving.leave([hash('a'), 'library' in sys.modules])")
    project.run("library", *[f"{sys.executable} script.py"] * RUNS)
    hashes, forked = zip(*project.found(), strict=True)
    assert len(set(hashes)) == 1
    assert forked.count(True) == FORKED


def test_functions(project: Project) -> None:
    project.duckrow.up("--devices", "3")
    project.write(
        "script.py",
        "import duckrow, leaving, mine\n"
        "def submit(): return duckrow.submit(mine.values, preload=['library'])\n"
        "leaving.leave(submit().result())\n"
        f"for job in [submit() for _ in range({FORKED})]:\n    leaving.leave(job.result())\n",
    )
    project.python("script.py")
    check(project.found())


def test_a_generator_that_would_be_copied_into_each_call_is_told(project: Project) -> None:
    project.write(
        "script.py",
        "import duckrow, numpy, random, warnings\n"
        "RNG, OTHER, UNUSED = numpy.random.default_rng(), random.Random(), random.Random()\n"
        "def draw(): return OTHER.random()\n"
        "def train(): return [RNG.random() for _ in range(2)], draw()\n"
        "def harmless(): return numpy.random.default_rng().random()\n"
        "with warnings.catch_warnings(record=True) as told:\n"
        "    for function in (harmless, train): duckrow.submit(function)\n"
        "assert [str(each.message).partition('. ')[0] for each in told] == [\n"
        "    'train uses the random generator OTHER and RNG of your script'], told\n",
    )
    project.python("script.py")


def test_a_module_of_the_project_that_is_named_gives_its_libraries_and_is_not_imported_itself(project: Project) -> None:
    project.write("script.py", "import mine, leaving\nleaving.leave(mine.values())")
    project.run("mine", *[f"{sys.executable} script.py"] * RUNS)
    check(project.found())


TORCH = """
import os, sys, torch, leaving
own = torch.rand(1).item()
torch.manual_seed(4)
leaving.leave({"parent": "library" in sys.modules, "CPU": own, "fixed": torch.rand(1).item()})
"""


def test_scripts_with_torch(project: Project) -> None:
    pytest.importorskip("torch", reason="torch's generators are looked at, and it is not installed")
    project.write("script.py", TORCH)
    project.run("library,torch", *[f"{sys.executable} script.py"] * RUNS)
    found = project.found()
    assert len({run["CPU"] for run in found}) == RUNS
    assert len({run["fixed"] for run in found}) == 1
    assert [run["parent"] for run in found].count(True) == FORKED


TASK = """
from duckrow.dropin.gpu_task_scheduler import GPUTask
import leaving, mine

class Task(GPUTask):
    def main(self):
        leaving.leave(mine.values())
"""
SCHEDULE = f"""
from duckrow.dropin.gpu_task_scheduler import GPUTaskScheduler
config = {{"scheduler_config": {{"gpu": ["3"]}}, "test_config": [{{"x": list(range({RUNS}))}}]}}
GPUTaskScheduler(config, Task).start()
"""


def test_tasks_of_gpu_task_scheduler(project: Project) -> None:
    project.write("task.py", TASK)
    project.write("script.py", f"from task import Task\n{SCHEDULE}")
    project.python("script.py")
    check(project.found(), are_forked=RUNS)


def test_tasks_whose_class_stands_in_the_script(project: Project) -> None:
    project.write("script.py", MINE + TASK.replace(", mine", "").replace("mine.", "") + SCHEDULE)
    project.python("script.py")
    check(project.found(), are_forked=RUNS)


HYDRA = """
import hydra
@hydra.main(version_base=None, config_path=None)
def main(cfg):
    leaving.leave({values}())

{call}
"""
GUARDED = "if __name__ == '__main__':\n    main()"
SWEEP = ("--multirun", "hydra/launcher=duckrow_local", f"+x=range({RUNS})", "hydra.sweep.dir=out")


@pytest.mark.parametrize(("source", "call"), [("import leaving, mine", "main()"), (f"import leaving\n{MINE}", GUARDED)])
def test_runs_of_hydra(project: Project, source: str, call: str) -> None:
    pytest.importorskip("hydra", reason="the extra `hydra` is not installed")
    project.duckrow.up("--devices", "3")
    values = "values" if "GENERATOR" in source else "mine.values"
    project.write("script.py", source + HYDRA.format(values=values, call=call))
    project.python("script.py", *SWEEP)
    check(project.found(), are_forked=RUNS)  # a multirun knows that more runs follow the first one
