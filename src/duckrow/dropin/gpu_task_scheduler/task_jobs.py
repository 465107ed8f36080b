"""Tasks as jobs of duckrow: the call that each makes in its process, its variables, its warm start."""

from __future__ import annotations

import copy
import os
import pickle
import re
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from duckrow.api.call import private
from duckrow.api.calls.data import PROTOCOL
from duckrow.api.calls.script_again import script_of
from duckrow.core.errors import UsageError
from duckrow.core.named_tuple import NamedTuple
from duckrow.dropin.gpu_task_scheduler.gpu_task import GPUTask

_MODULE = GPUTask.__module__  # what a task's process runs; a warm start has already imported it
_FILE = "tasks.pkl"


class Task(NamedTuple):
    """A combination to run."""

    name: str
    config: dict[str, Any]
    work_dir: str  # absolute: a task may change its folder
    log: str
    who: str  # tells it from other scripts that work in the same folder


def name_of_class(task_class: type[GPUTask]) -> str:
    """The same at each start of a script, and in every process."""
    module = task_class.__module__
    if module == "__main__":
        script = script_of(task_class)
        module = os.path.basename(script[0]) if script else module
    return f"{module}.{task_class.__qualname__}"


def jobs_of(tasks: Sequence[Task], task_class: type[GPUTask], calls: str, slots: int) -> list[dict[str, Any]]:
    """A line of `duckrow run --format json` for each task; their calls are in one file of the folder `calls`."""
    path = os.path.join(calls, _FILE)
    places, carries_code = _store(tasks, task_class, path)
    jobs = [_job(task, task_class, path, place) for task, place in zip(tasks, places, strict=True)]
    warm = f"{_MODULE},cloudpickle" if carries_code else _MODULE
    alike = Counter(repr(job["env"]) for job in jobs)
    for job in jobs:
        if alike[repr(job["env"])] > slots:  # with as many slots as jobs, a preloaded Python gains nothing
            job["preload"] = warm
    return jobs


def _store(tasks: Sequence[Task], task_class: type[GPUTask], path: str) -> tuple[list[int], bool]:
    """(the place of each task in the file, whether the class is pickled with its code, as in a notebook)."""
    import cloudpickle

    from duckrow.api.calls.pickled_by_name import ByName

    places = []
    script = script_of(task_class)
    home = (script[1] or script[0]) if script else task_class.__module__ if task_class.__module__ != "__main__" else ""
    carried = pickle.dumps(task_class.__qualname__) if script else cloudpickle.dumps(task_class, protocol=PROTOCOL)
    with open(path, "wb", opener=private) as file:
        pickle.dump([os.path.abspath(place) for place in sys.path], file, protocol=PROTOCOL)
        pickle.dump((home, script), file, protocol=PROTOCOL)
        file.write(carried)
        for task in tasks:
            places.append(file.tell())
            try:
                (ByName if script else cloudpickle.Pickler)(file).dump((task.config, task.work_dir, task.who))
            except Exception as error:  # any error of somebody else's object while it is pickled
                what = f"The configuration of task {task.name} cannot be pickled: {error}."
                raise UsageError(f"{what}{_culprits(task.config)} Nothing was run.") from error
    return places, b"cloudpickle" in carried


def _job(task: Task, task_class: type[GPUTask], path: str, place: int) -> dict[str, Any]:
    return {
        "command": f"exec {shlex.quote(sys.executable)} -m {_MODULE} {shlex.quote(path)} {place}",
        "name": _job_name(task.name),
        "folder": task.work_dir,
        "outfile": task.log,
        "env": _variables(task, task_class),
    }


def _variables(task: Task, task_class: type[GPUTask]) -> dict[str, str]:
    """The variables that the task requires, found before its process exists: Python reads some of them at its start."""
    plain = {"MPLBACKEND": "Agg"}
    if task_class.required_env is GPUTask.required_env:
        return plain
    try:
        # A copy: the task may change its values, and other tasks share them.
        required = task_class(copy.deepcopy(task.config), task.work_dir).required_env()
        variables = {str(name): str(value) for name, value in required.items()}
    except (Exception, SystemExit):  # from the user's code: the task's process raises it again, into its log
        return plain
    possible = all(name and "=" not in name and "\0" not in name + value for name, value in variables.items())
    return {**plain, **variables} if possible else plain


def _culprits(config: Mapping[str, Any]) -> str:
    names = [f"'{name}'" for name, value in config.items() if not _can_be_pickled(value)]
    return f" It is {', '.join(names)} of the configuration." if names else ""


def _can_be_pickled(value: Any) -> bool:
    import cloudpickle

    try:
        return bool(cloudpickle.dumps(value))
    except Exception:  # any error of somebody else's object while it is pickled
        return False


def _job_name(name: str) -> str:
    """The name of a task as a job name."""
    cleaned = re.sub(r"[^A-Za-z0-9._+=,@-]+", "_", name).strip(",")[:80]
    return cleaned if re.match(r"[A-Za-z_]", cleaned) and cleaned != "last" else f"task-{cleaned}".rstrip("-")
