"""The configuration of GPU Task Scheduler: its keys, their defaults, and the combinations to test."""

from __future__ import annotations

import copy
import hashlib
import itertools
import os
from collections.abc import Mapping
from typing import Any

DEFAULTS: dict[str, Any] = {
    "result_root_folder": "results/",
    "force_rerun": False,
    "test_config_string_indicator": "-",
    "test_config_string_separator": ",",
    "test_config_string_inst_separator": "+",
    "temp_folder": "temp/",
    "log_file": "worker.log",
    "scheduler_log_file_path": "scheduler.log",
    "config_string_value_maxlen": 30,
}


class ConfigManager:
    def __init__(self, config: Mapping[str, Any]) -> None:
        if "scheduler_config" not in config:
            raise ValueError("The configuration has no scheduler_config.")
        self._scheduler_config = {**DEFAULTS, **copy.deepcopy(dict(config["scheduler_config"]))}
        self._slots = _slots_of(self._scheduler_config)
        self._global_config = copy.deepcopy(dict(config.get("global_config", {})))
        grids = config.get("test_config", [{}])
        self._test_config = [copy.deepcopy(point) for grid in grids for point in _product(grid)]
        self._strings = self._names()
        self._next = 0

    def get_all_scheduler_config(self) -> dict[str, Any]:
        return self._scheduler_config

    def get_all_global_config(self) -> dict[str, Any]:
        return self._global_config

    def get_all_test_config(self) -> list[dict[str, Any]]:
        return self._test_config

    def get_all_test_config_in_string(self) -> str:
        separator: str = self._scheduler_config["test_config_string_inst_separator"]
        return separator.join(self._strings)

    def get_next_config(self) -> dict[str, Any]:
        """The next combination with its name and its folder; `{"config": None}` when there is none left."""
        if self._next == len(self._test_config):
            return {"config": None}
        at, self._next = self._next, self._next + 1
        return {
            "config": copy.deepcopy({**self._global_config, **self._test_config[at]}),
            "test_config_string": self._strings[at],
            "work_dir": os.path.join(self._scheduler_config["result_root_folder"], self._strings[at]),
        }

    def get_num_left_config(self) -> int:
        return len(self._test_config) - self._next

    def get_gpu_envs(self) -> list[dict[str, str]]:
        return [{"CUDA_VISIBLE_DEVICES": ",".join(slot)} for slot in self._slots]

    def get_num_gpu(self) -> int:
        return len(self._slots)

    # -- names ------------------------------------------------------------------------------------------------

    def _names(self) -> list[str]:
        """Each combination's own: where two would have the same, all but the first get a mark behind it."""
        taken: dict[str, dict[str, Any]] = {}
        names = []
        for point in self._test_config:
            name = self._plain_name(point)
            if taken.setdefault(name, point) != point:
                name = f"{name}{_mark(point)}"
                taken[name] = point
            names.append(name)
        return names

    def _plain_name(self, point: Mapping[str, Any]) -> str:
        settings = self._scheduler_config
        indicator, separator = settings["test_config_string_indicator"], settings["test_config_string_separator"]
        longest = settings["config_string_value_maxlen"]
        parts = [f"{key}{indicator}{str(point[key])[:longest]}{separator}" for key in sorted(point)]
        name = "".join(parts).replace(" ", "")
        if "/" not in name and "\0" not in name and name not in (".", ".."):
            return name
        return f"{name.replace('/', '_').replace(chr(0), '_')}{_mark(point)}"  # never a folder within a folder


def _mark(point: Mapping[str, Any]) -> str:
    whole = repr(sorted((key, repr(value)) for key, value in point.items()))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _product(grid: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def _slots_of(scheduler_config: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The GPUs of each slot."""
    if "gpu" not in scheduler_config:
        raise ValueError("scheduler_config has no gpu. Write a list, such as ['0', '1'].")
    listed = scheduler_config["gpu"]
    if not isinstance(listed, list | tuple) or not listed:
        raise ValueError("scheduler_config: gpu must be a list of at least one GPU, such as ['0', '1'].")
    return [_slot_of(item) for item in listed]


def _slot_of(item: Any) -> tuple[str, ...]:
    if isinstance(item, str):
        return tuple(item.split(","))
    if isinstance(item, list | tuple) and item and all(isinstance(gpu, str) for gpu in item):
        return tuple(item)
    raise ValueError(f"scheduler_config: gpu {item!r} is neither a string nor a list of strings.")
