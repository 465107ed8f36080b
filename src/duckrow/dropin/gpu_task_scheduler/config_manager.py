"""The configuration of GPU Task Scheduler: its keys, their defaults, and the combinations to test."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterable, Mapping
from typing import Any

from duckrow.dropin.gpu_task_scheduler.gpu_task import note_of

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
_LONGEST_NAME_BYTES = 200  # file systems have room for 255


class ConfigManager:
    def __init__(self, config: Mapping[str, Any]) -> None:
        if "scheduler_config" not in config:
            raise ValueError("The configuration has no scheduler_config.")
        self._scheduler_config = {**DEFAULTS, **config["scheduler_config"]}
        self._slots = _slots_of(self._scheduler_config)
        self._global_config = dict(config.get("global_config", {}))
        self._test_config = [point for grid in config.get("test_config", [{}]) for point in _product(grid)]
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
            "config": {**self._global_config, **self._test_config[at]},
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
        owners: dict[str, dict[str, Any]] = {}
        return [self._name(point, owners) for point in self._test_config]

    def _name(self, point: dict[str, Any], owners: dict[str, dict[str, Any]]) -> str:
        plain = self._plain_name(point)
        if _same(owners.setdefault(plain, point), point):
            return plain
        marked = plain + _mark(point)
        further = (f"{marked}-{number}" for number in itertools.count(2))  # such as of objects that all look alike
        return next(name for name in itertools.chain([marked], further) if _same(owners.setdefault(name, point), point))

    def _plain_name(self, point: Mapping[str, Any]) -> str:
        settings = self._scheduler_config
        indicator, separator = settings["test_config_string_indicator"], settings["test_config_string_separator"]
        longest = settings["config_string_value_maxlen"]
        parts = [f"{key}{indicator}{str(point[key])[:longest]}{separator}" for key in sorted(point)]
        name = "".join(parts).replace(" ", "")
        folder = _as_folder(name)
        return name if folder == name else f"{folder}{_mark(point)}"


def _as_folder(name: str) -> str:
    """One folder, never one within another, and with a name that can be had."""
    name = name.replace("/", "_").replace("\0", "_")
    if name in (".", ".."):
        return "_"
    return name.encode("utf-8", "replace")[:_LONGEST_NAME_BYTES].decode("utf-8", "ignore")


def _mark(point: Mapping[str, Any]) -> str:
    whole = repr(sorted(note_of(point).items()))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two combinations are one. Those that cannot be compared, such as of arrays, are two."""
    try:
        return one is other or (bool(one == other) and repr(one) == repr(other))
    except Exception:  # of a foreign __eq__ or __repr__
        return False


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
