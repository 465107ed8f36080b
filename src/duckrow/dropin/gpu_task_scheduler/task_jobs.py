"""Tasks as jobs of duckrow: the call that each makes in its process, its variables, its warm start."""

from __future__ import annotations

import copy
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from duckrow.api.call import CALL
from duckrow.api.functions import Call, store_call, warm_modules
from duckrow.core.errors import UsageError
from duckrow.dropin.gpu_task_scheduler.gpu_task import GPUTask, run_task

_WARM = GPUTask.__module__  # what a task's process has imported when it begins


class Task(NamedTuple):
    """A combination that is to be run."""

    name: str
    config: dict[str, Any]
    work_dir: str
    log: str


def jobs_of(tasks: Sequence[Task], task_class: type[GPUTask], calls: str, slots: int) -> list[dict[str, Any]]:
    """A line of `duckrow run --format json` for each, whose call lies in a folder of its own below `calls`."""
    jobs = [_job(task, task_class, os.path.join(calls, f"{number}-{task.name}")) for number, task in enumerate(tasks)]
    warm = warm_modules(f"{_WARM},cloudpickle" if _carries_code(jobs[0]["folder"]) else _WARM)
    alike = Counter(repr(job["env"]) for job in jobs)
    for job in jobs:
        if alike[repr(job["env"])] > slots:  # the first ones start while the warm Python is made
            job["preload"] = warm
    return jobs


def _job(task: Task, task_class: type[GPUTask], folder: str) -> dict[str, Any]:
    call = Call(run_task, (task_class, task.config, task.work_dir), {}, f"task {task.name}")
    try:
        command = store_call(call, folder)
    except UsageError as error:
        raise UsageError(f"{error}{_culprits(task.config)}") from error
    variables = _variables(task, task_class)
    return {"command": command, "name": _job_name(task.name), "folder": folder, "outfile": task.log, "env": variables}


def _variables(task: Task, task_class: type[GPUTask]) -> dict[str, str]:
    """What the task requires, before its process exists: some variables are read when Python starts."""
    plain = {"MPLBACKEND": "Agg"}
    if task_class.required_env is GPUTask.required_env:
        return plain
    try:
        # A copy: the task may change what it is given, and other tasks have the same values.
        required = task_class(copy.deepcopy(task.config), task.work_dir).required_env()
        variables = {str(name): str(value) for name, value in required.items()}
    except (Exception, SystemExit):  # of the user's code: it is raised again in the task's process, and in its log
        return plain
    possible = all(name and "=" not in name and "\0" not in name + value for name, value in variables.items())
    return {**plain, **variables} if possible else plain


def _carries_code(folder: str) -> bool:
    """Whether the call brings its own code, such as a class of the script, which only cloudpickle can read."""
    with open(os.path.join(folder, CALL), "rb") as file:
        return b"cloudpickle" in file.read()


def _culprits(config: Mapping[str, Any]) -> str:
    names = [f"'{name}'" for name, value in config.items() if not _can_be_pickled(value)]
    return f" It is {', '.join(names)} of the configuration." if names else ""


def _can_be_pickled(value: Any) -> bool:
    import cloudpickle

    try:
        return bool(cloudpickle.dumps(value))
    except Exception:  # whatever a foreign object does while it is pickled
        return False


def _job_name(name: str) -> str:
    """The name of a task as that of a job."""
    cleaned = re.sub(r"[^A-Za-z0-9._+=,@-]+", "_", name).strip(",")[:80]
    return cleaned if re.match(r"[A-Za-z_]", cleaned) and cleaned != "last" else f"task-{cleaned}".rstrip("-")
