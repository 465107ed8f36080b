"""The configuration of GPU Task Scheduler: its keys, their defaults, and the combinations to test."""

from __future__ import annotations

import copy
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from duckrow.dropin.gpu_task_scheduler.folder_names import FolderNames

DEFAULTS: dict[str, Any] = {
    "force_rerun": False,
    "test_config_string_indicator": "-",
    "test_config_string_separator": ",",
    "test_config_string_inst_separator": "+",
    "log_file": "worker.log",
    "scheduler_log_file_path": "scheduler.log",
    "config_string_value_maxlen": 30,
}
_FOLDERS = {"result_root_folder": "results", "temp_folder": "temp"}


class ConfigManager:
    def __init__(self, config: Mapping[str, Any]) -> None:
        if "scheduler_config" not in config:
            raise ValueError("The configuration has no scheduler_config.")
        self._slots = _slots_of(config["scheduler_config"])
        self._scheduler_config = _settings_of(config["scheduler_config"], self._slots)
        self._global_config = dict(config.get("global_config", {}))
        self._test_config = [point for grid in config.get("test_config", [{}]) for point in _product(grid)]
        names = FolderNames(
            self._scheduler_config["test_config_string_indicator"],
            self._scheduler_config["test_config_string_separator"],
            self._scheduler_config["config_string_value_maxlen"],
        )
        self._strings = names.of_all(self._test_config)
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

    def get_next_config(self, create_dir: bool = False) -> dict[str, Any]:
        """A copy of the next combination, its name and its folder; `{"config": None}` when there is none left.

        `create_dir`: make the folder.
        """
        if self._next == len(self._test_config):
            return {"config": None}
        at, self._next = self._next, self._next + 1
        item = self._item(at)
        if create_dir:
            os.makedirs(item["work_dir"], exist_ok=True)
        return {**item, "config": _copy_of(item["config"])}

    def all_configs(self) -> Iterator[dict[str, Any]]:
        """What `get_next_config` would give from the beginning, without a copy of each."""
        return map(self._item, range(len(self._test_config)))

    def _item(self, at: int) -> dict[str, Any]:
        return {
            "config": {**self._global_config, **self._test_config[at]},
            "test_config_string": self._strings[at],
            "work_dir": os.path.join(self._scheduler_config["result_root_folder"], self._strings[at]),
        }

    def get_num_left_config(self) -> int:
        return len(self._test_config) - self._next

    def get_gpu_envs(self) -> list[dict[str, Any]]:
        slots = self._scheduler_config["gpu"]
        return [{"name": f"gpu{slot}", "env": {"CUDA_VISIBLE_DEVICES": slot}} for slot in slots]

    def get_num_gpu(self) -> int:
        return len(self._slots)


def _settings_of(given: Mapping[str, Any], slots: Sequence[Sequence[str]]) -> dict[str, Any]:
    """All settings. Default folders are absolute, because a task may change its folder."""
    here = {name: os.path.abspath(folder) for name, folder in _FOLDERS.items()}
    return {**DEFAULTS, **here, **given, "gpu": [",".join(slot) for slot in slots]}


def _copy_of(config: dict[str, Any]) -> dict[str, Any]:
    """Values that cannot be copied, such as a lock, are shared."""
    return {name: _copy_of_value(value) for name, value in config.items()}


def _copy_of_value(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # any error of somebody else's object while it is copied
        return value


def _product(grid: Any) -> list[dict[str, Any]]:
    if not isinstance(grid, Mapping):
        raise ValueError("test_config must be a list of dictionaries, such as [{'method': ['GAN', 'ALI']}].")
    for key, values in grid.items():
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise ValueError(f"test_config: {key} needs a list of the values to test, such as [{values!r}].")
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
        return tuple(gpu.strip() for gpu in item.split(","))
    if isinstance(item, list | tuple) and item and all(isinstance(gpu, str) for gpu in item):
        return tuple(gpu.strip() for gpu in item)
    raise ValueError(f"scheduler_config: gpu {item!r} is neither a string nor a list of strings.")
