"""The scheduler: each combination of the configuration as a task, one per slot at a time."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from duckrow.api.calls.script_again import executes_script, stop_if_there
from duckrow.api.python.foreground import Event, run_jobs
from duckrow.core.devices.device import Device
from duckrow.core.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, DuckrowError
from duckrow.core.units import plural
from duckrow.dropin.gpu_task_scheduler.config_manager import ConfigManager
from duckrow.dropin.gpu_task_scheduler.gpu_task import GPUTask
from duckrow.dropin.gpu_task_scheduler.success_notes import SUCCESS, Note, forget_success, note_of, successes_in
from duckrow.dropin.gpu_task_scheduler.task_jobs import Task, jobs_of, name_of_class
from duckrow.dropin.gpu_task_scheduler.temporary import TaskCalls

_NAMED = 20  # failed tasks that are listed
# Whatever the settings say for other runs: here the slots come from the configuration, and tasks have logs. Tasks that
# have not run will run when the script is started again.
_ONE_EACH = ["--jobs-per-gpu=1"]
_OPTIONS = ["--no-follow", "--no-table", "--once", "--share-gpus"]


class GPUTaskScheduler:
    def __init__(self, config: Mapping[str, Any], gpu_task_class: type[GPUTask]) -> None:
        if executes_script():  # the process of a task does, because its class is in the script
            return
        self._config_manager = ConfigManager(config)
        self._gpu_task_class = gpu_task_class
        self._settings = self._config_manager.get_all_scheduler_config()
        self._gpus: list[str] = self._settings["gpu"]
        self._by_folder: dict[str, Task] = {}  # running tasks, by the folder of their job
        self._outcomes: dict[str, str] = {}  # of ended tasks
        self._log_file: int | None = None  # during `start`, if there is one

    def start(self, check: bool = True) -> None:
        """Run all tasks that have not succeeded. With `check`, failures end the program with exit code 1."""
        stop_if_there()
        if executes_script():
            return
        self._log_file = _open_log(self._settings["scheduler_log_file_path"])
        calls = TaskCalls(self._settings["temp_folder"])
        try:
            tasks = self._tasks(calls)
            code = self._run(tasks, calls) if tasks else EXIT_OK
        finally:
            if self._log_file is not None:
                os.close(self._log_file)
        failed = [task for task in tasks if self._outcomes.get(task.name) != "succeeded"]
        if code == EXIT_INTERRUPTED:
            raise KeyboardInterrupt(f"{len(failed)} of {plural(len(tasks), 'task')} did not succeed")
        if code not in (EXIT_OK, EXIT_FAILED):
            raise DuckrowError(f"The tasks did not finish: duckrow ended with exit code {code}.")
        if failed and check:
            raise SystemExit(self._report(failed, len(tasks)))
        if failed:
            print(self._report(failed, len(tasks)), file=sys.stderr)

    def _tasks(self, calls: TaskCalls) -> list[Task]:
        """The tasks to run; the others are reported as skipped."""
        found: dict[str, Task] = {}  # by name: the same combination may be listed twice
        skipped: dict[str, bool] = {}  # whether its global settings were different
        who = name_of_class(self._gpu_task_class)
        items = self._config_manager.all_configs()
        for point, item in zip(self._config_manager.get_all_test_config(), items, strict=True):
            name, config, work_dir = item["test_config_string"], item["config"], os.path.abspath(item["work_dir"])
            noted = None if self._settings["force_rerun"] else _success_of(work_dir, who, point)
            if noted is None:
                found[name] = Task(name, config, work_dir, self._log_of(work_dir, calls, len(found)), who)
            else:
                skipped[name] = bool(noted) and noted != note_of(config)
        self._tell_skipped(skipped)
        return list(found.values())

    def _log_of(self, work_dir: str, calls: TaskCalls, number: int) -> str:
        """Without a log_file, logs are stored with the calls, which are removed if all tasks succeed."""
        if self._settings["log_file"] is None:
            return os.path.join(calls.folder, f"{number}.log")
        return os.path.join(work_dir, self._settings["log_file"])

    def _run(self, tasks: Sequence[Task], calls: TaskCalls) -> int:
        """The exit code of `duckrow run`."""
        self._outcomes = {}
        with calls:
            jobs = jobs_of(tasks, self._gpu_task_class, calls.folder, len(self._gpus))
            self._by_folder = {job["folder"]: task for job, task in zip(jobs, tasks, strict=True)}
            for task in tasks:
                _make_ready(task)
            calls.needed = True
            code = run_jobs(
                jobs,
                calls.list_file,
                [gpus.replace(",", "+") for gpus in self._gpus],
                self._note,
                [*(_ONE_EACH if any(self._gpus) else ()), *_OPTIONS],
            )
            calls.needed = code != EXIT_OK
        return code

    # -- reporting --------------------------------------------------------------------------------------------

    def _note(self, event: Event) -> None:
        task = self._by_folder.get(event["folder"])
        if task is None:
            return  # a job of a killed run, which our run watched to its end
        gpus = ",".join(name for name in event["devices"] if Device(name).is_gpu)
        if event["event"] == "starting":
            self._log("receives", task.name, gpus, event["at"])
        else:
            self._outcomes[task.name] = event["outcome"]
            self._log("finishes", task.name, gpus, event["at"])
            if event["outcome"] != "succeeded":
                forget_success(task.work_dir, task.who)  # it may have been killed after its last line

    def _log(self, verb: str, name: str, gpus: str, at: float) -> None:
        moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) + f",{int(at % 1 * 1000):03}"
        line = f"{moment} INFO gpu{gpus} {verb} task {name}\n".encode("utf-8", "replace")
        if self._log_file is not None:
            os.write(self._log_file, line)
        _tell(line)

    def _tell_skipped(self, skipped: Mapping[str, bool]) -> None:
        for name in skipped:
            self._log("skips", name, self._gpus[0], time.time())
        if skipped:
            others = sum(skipped.values())
            differs = f", {others} of them with other global settings" if others else ""
            print(
                f"{plural(len(skipped), 'task')} skipped (succeeded before{differs}). With force_rerun they run "
                f"again; so does one without the {SUCCESS} in its folder.",
                file=sys.stderr,
            )

    def _report(self, failed: Sequence[Task], total: int) -> str:
        lines = [f"{len(failed)} of {plural(total, 'task')} did not succeed:"]
        lines += [
            f"  {task.name} {self._outcomes.get(task.name, 'was not run')}: see {os.path.relpath(task.log)}"
            for task in failed[:_NAMED]
        ]
        if len(failed) > _NAMED:
            lines.append(f"  and {len(failed) - _NAMED} more.")
        return "\n".join([*lines, "They run again when this is started again."])


def _open_log(path: str | None) -> int | None:
    if path is None:
        return None
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)


def _tell(line: bytes) -> None:
    """On the console, as the original did."""
    try:
        print(line.decode().rstrip("\n"), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass  # nobody is reading any more; the tasks keep running


def _success_of(work_dir: str, who: str, point: Mapping[str, Any]) -> Note | None:
    """The configuration with which this combination succeeded in its folder, preferably by this script."""
    noted = successes_in(work_dir)
    ours_first = [noted[name] for name in sorted(noted, key=lambda name: name != who)]
    return next((note for note in ours_first if not _is_of_another(note, point)), None)


def _is_of_another(noted: Note, point: Mapping[str, Any]) -> bool:
    """Whether this note is about another combination, which once had the same name."""
    return bool(noted) and any(noted.get(name) != value for name, value in note_of(point).items())


def _make_ready(task: Task) -> None:
    """Create the task's folder; keep the log of an earlier attempt beside the new one."""
    for folder in {task.work_dir, os.path.dirname(task.log)}:
        os.makedirs(folder, exist_ok=True)
    if os.path.exists(task.log):
        number = 1
        while os.path.exists(f"{task.log}.{number}"):
            number += 1
        os.rename(task.log, f"{task.log}.{number}")
    forget_success(task.work_dir, task.who)
