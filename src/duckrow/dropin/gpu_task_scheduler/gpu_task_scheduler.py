"""The scheduler: each combination of the configuration as a task, one per slot at a time."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from typing import Any

from duckrow.api.foreground import Event, run_jobs
from duckrow.api.functions import Call, store_call, warm_modules
from duckrow.dropin.gpu_task_scheduler.config_manager import ConfigManager
from duckrow.dropin.gpu_task_scheduler.gpu_task import SUCCESS, GPUTask, note_of, run_task

_WARM = GPUTask.__module__  # what each task's process has imported when it begins


class GPUTaskScheduler:
    def __init__(self, config: Mapping[str, Any], gpu_task_class: type[GPUTask]) -> None:
        self._config_manager = ConfigManager(config)
        self._gpu_task_class = gpu_task_class
        self._settings = self._config_manager.get_all_scheduler_config()
        self._tasks: list[str] = []  # the name of each task that is run, by its place in the list
        self._outcomes: Counter[str] = Counter()

    def start(self, check: bool = True) -> None:
        """Run all tasks that have not succeeded. With `check`, failures end the program with exit code 1."""
        calls = os.path.join(self._settings["temp_folder"], f"duckrow-{uuid.uuid4().hex[:8]}")
        os.makedirs(calls)
        try:
            jobs = self._prepare(calls)
            if jobs:
                run_jobs(jobs, os.path.join(calls, "jobs.jsonl"), self._gpus(), self._note)
        finally:
            shutil.rmtree(calls, ignore_errors=True)
        failed = len(self._tasks) - self._outcomes["succeeded"]
        if failed and check:
            raise SystemExit(
                f"{failed} of {len(self._tasks)} tasks did not succeed; what each has printed stands in the "
                f"{self._settings['log_file']} of its folder. They run again when this is started again."
            )

    def _gpus(self) -> list[str]:
        return [env["CUDA_VISIBLE_DEVICES"].replace(",", "+") for env in self._config_manager.get_gpu_envs()]

    # -- before -----------------------------------------------------------------------------------------------

    def _prepare(self, calls: str) -> list[dict[str, Any]]:
        """A job for each task that is to be run."""
        jobs: list[dict[str, Any]] = []
        seen: set[str] = set()
        skipped = other_settings = 0
        while (item := self._config_manager.get_next_config())["config"] is not None:
            name, work_dir = item["test_config_string"], item["work_dir"]
            if name in seen:
                continue  # the very same combination, listed twice
            seen.add(name)
            done = None if self._settings["force_rerun"] else _success_of(work_dir)
            if done is not None:
                skipped += 1
                other_settings += done != note_of(item["config"])
                self._log("skips", name, None, time.time())
                continue
            jobs.append(self._job(item["config"], work_dir, os.path.join(calls, str(len(jobs)))))
            self._tasks.append(name)
        if skipped:
            differs = f" ({other_settings} of them with other global settings)" if other_settings else ""
            print(f"{skipped} tasks are skipped, since they have succeeded before{differs}.", file=sys.stderr)
        return jobs

    def _job(self, config: Mapping[str, Any], work_dir: str, folder: str) -> dict[str, Any]:
        os.makedirs(work_dir, exist_ok=True)
        log = os.path.join(work_dir, self._settings["log_file"])
        _keep_old(log)
        _remove(os.path.join(work_dir, SUCCESS))
        call = Call(run_task, (self._gpu_task_class, config, work_dir), {}, "task")
        return {
            "command": store_call(call, os.path.abspath(folder)),
            "name": f"task-{len(self._tasks)}",
            "folder": os.path.abspath(folder),
            "outfile": log,
            "preload": warm_modules(_WARM),
            "env": self._environment(config, work_dir),
        }

    def _environment(self, config: Mapping[str, Any], work_dir: str) -> dict[str, str]:
        """What the task requires, before its process exists: some variables are read when Python starts."""
        try:
            required = self._gpu_task_class(config, work_dir).required_env()
            return {"MPLBACKEND": "Agg", **{name: str(value) for name, value in required.items()}}
        except Exception:  # of the user's code: it fails again in the task's own process, where its log shows it
            return {"MPLBACKEND": "Agg"}

    # -- meanwhile --------------------------------------------------------------------------------------------

    def _note(self, event: Event) -> None:
        name = self._tasks[int(event["name"].removeprefix("task-"))]
        if event["event"] == "starting":
            self._log("receives", name, event["devices"], event["at"])
        elif not event["again"]:
            self._outcomes[event["outcome"]] += 1
            self._log("finishes", name, event["devices"], event["at"])
            if event["outcome"] != "succeeded":
                print(f"Task {name} {event['outcome']}: see its {self._settings['log_file']}.", file=sys.stderr)

    def _log(self, verb: str, name: str, devices: list[str] | None, at: float) -> None:
        gpu = ",".join(devices) if devices else self._gpus()[0].replace("+", ",")
        moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) + f",{int(at % 1 * 1000):03}"
        with open(self._settings["scheduler_log_file_path"], "a") as file:
            file.write(f"{moment} INFO gpu{gpu} {verb} task {name}\n")


def _success_of(work_dir: str) -> dict[str, str] | None:
    """The configuration with which the task of this folder has succeeded, if it has."""
    try:
        with open(os.path.join(work_dir, SUCCESS)) as file:
            text = file.read()
    except OSError:
        return None
    try:
        noted: dict[str, str] = json.loads(text or "{}")
        return noted
    except ValueError:
        return {}


def _keep_old(log: str) -> None:
    """The log of an earlier try is kept beside the new one."""
    if not os.path.exists(log):
        return
    number = 1
    while os.path.exists(f"{log}.{number}"):
        number += 1
    os.rename(log, f"{log}.{number}")


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
