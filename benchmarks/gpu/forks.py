"""`python -m benchmarks.gpu.forks`: forked runs are not copies of each other; needs a GPU, PyTorch and numpy.

Five runs on GPU 0 for each way to start them: the first starts cold, four are forked from a Python that has imported
torch. Each number, made while the project's module is imported or right after, must differ from run to run. Prints one
table, and exits with 1 if a line does not hold. Takes a few minutes.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

FORKED = 4
RUNS = FORKED + 1
MINE = """
import json, os, random, tempfile, uuid
import numpy, torch

HERE = os.path.dirname(os.path.abspath(__file__))
GPUS = os.environ.get("CUDA_VISIBLE_DEVICES")
IMPORTED = {
    "random.random()": random.random(),
    "numpy.random.rand()": float(numpy.random.rand()),
    "numpy.random.default_rng()": float(numpy.random.default_rng().random()),
    "uuid.uuid4()": str(uuid.uuid4()),
    "uuid.uuid1()": str(uuid.uuid1()),
    "tempfile.mktemp()": tempfile.mktemp(),
    "torch.rand(1)": torch.rand(1).item(),
}

def leave():
    on_gpu = torch.rand(1, device="cuda").item()
    torch.manual_seed(1)
    seeded = [torch.rand(1).item(), torch.rand(1, device="cuda").item()]
    command = open("/proc/self/cmdline").read()
    forked = "preloaded_parent.py" in command
    found = {"forked": forked, "GPUs": GPUS, "devices": torch.cuda.device_count(), "seeded": seeded}
    found["numbers"] = {**IMPORTED, "torch.rand(1, device='cuda')": on_gpu}
    with open(f"{HERE}/{uuid.uuid4()}.found", "w") as file:
        file.write(json.dumps(found))
"""
TASK = """
from duckrow.dropin.gpu_task_scheduler import GPUTask
import mine

class Task(GPUTask):
    def main(self):
        mine.leave()
"""
SCHEDULE = f"""
from duckrow.dropin.gpu_task_scheduler import GPUTaskScheduler
from task import Task
config = {{"scheduler_config": {{"gpu": ["0"]}}, "test_config": [{{"x": list(range({RUNS}))}}]}}
GPUTaskScheduler(config, Task).start()
"""
FUNCTIONS = f"""
import duckrow, mine
with duckrow.Executor(preload=["torch", "numpy"]) as executor:
    for future in [executor.submit(mine.leave) for _ in range({RUNS})]:
        future.result()
"""
HYDRA = """
import hydra
import mine

@hydra.main(version_base=None, config_path=None)
def main(cfg):
    mine.leave()

main()
"""


class Project:
    """A folder with a module of its own, and a duckrow of its own over GPU 0."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder, self.python = folder, python
        self.env = {**os.environ, "DUCKROW_HOME": str(folder / "state")}
        self.env.pop("CUDA_VISIBLE_DEVICES", None)
        (folder / "mine.py").write_text(MINE)

    def run(self, *words: str) -> None:
        done = subprocess.run(
            [self.python, *words], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=300
        )
        if done.returncode:
            print(f"`{' '.join(words)}` ended with {done.returncode}:\n{done.stdout}{done.stderr}", flush=True)

    def script(self, source: str, *words: str) -> None:
        (self.folder / "script.py").write_text(source)
        self.run("script.py", *words)

    def found(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in self.folder.glob("*.found")]


def scripts(project: Project) -> None:
    (project.folder / "script.py").write_text("import mine\nmine.leave()\n")
    (project.folder / "commands").write_text(f"{project.python} script.py\n" * RUNS)
    project.run("-m", "duckrow", "run", "--devices", "0", "--preload", "torch,numpy", "commands")


def functions(project: Project) -> None:
    project.run("-m", "duckrow", "up", "--devices", "0")
    project.script(FUNCTIONS)
    project.run("-m", "duckrow", "down")


def tasks(project: Project) -> None:
    (project.folder / "task.py").write_text(TASK)
    project.script(SCHEDULE)


def hydra(project: Project) -> None:
    project.run("-m", "duckrow", "up", "--devices", "0")
    project.script(HYDRA, "--multirun", "hydra/launcher=duckrow_local", f"+x=range({RUNS})", "hydra.sweep.dir=out")
    project.run("-m", "duckrow", "down")


def judge(found: list[dict[str, Any]]) -> dict[str, tuple[bool, str]]:
    """What was looked at -> whether it holds, and how many of the forked runs."""
    forked = [run for run in found if run["forked"]]
    numbers = forked[0]["numbers"] if forked else {}
    lines = {"forked runs": (len(forked) == FORKED and len(found) == RUNS, f"{len(forked)} of {len(found)}")}
    for name in numbers:
        values = len({run["numbers"][name] for run in found})
        lines[name] = (values == len(found), f"{values} values")
    seen = [run["GPUs"] for run in found]
    lines["CUDA_VISIBLE_DEVICES while importing"] = (
        set(seen) == {"0"},
        ", ".join(sorted({str(each) for each in seen})),
    )
    lines["GPUs that torch sees"] = ({run["devices"] for run in found} == {1}, f"{ {run['devices'] for run in found} }")
    seeded = len({tuple(run["seeded"]) for run in found})
    lines["after torch.manual_seed(1), CPU and GPU"] = (seeded == 1, f"{seeded} value{'s' * (seeded != 1)}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default=sys.executable, help="one that has duckrow, PyTorch and numpy")
    options = parser.parse_args()
    ways: dict[str, Callable[[Project], None]] = {"scripts": scripts, "functions": functions, "tasks": tasks}
    if importlib.util.find_spec("hydra"):
        ways["hydra"] = hydra
    results = {}
    for name, way in ways.items():
        with tempfile.TemporaryDirectory(prefix="duckrow-forks-", dir="/tmp") as folder:
            project = Project(Path(folder), options.python)
            way(project)
            results[name] = judge(project.found())
    return show(results)


def show(results: dict[str, dict[str, tuple[bool, str]]]) -> int:
    names = list(dict.fromkeys(line for lines in results.values() for line in lines))
    print(f"{FORKED} forked runs and a cold one on GPU 0".ljust(42), *(way.ljust(14) for way in results))
    failures = 0
    for name in names:
        cells = [lines.get(name, (False, "nothing")) for lines in results.values()]
        failures += sum(not holds for holds, _ in cells)
        told = ((seen if holds else f"FAIL {seen}").ljust(14) for holds, seen in cells)
        print(name.ljust(42), *told)
    print(f"{failures or 'None'} of {len(names) * len(results)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
