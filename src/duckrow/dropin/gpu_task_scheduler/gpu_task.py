"""A task: a combination of parameters to test, and what runs in its process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

SUCCESS = ".duckrow-succeeded"
"""The file in a task's folder that says it has succeeded, and with which configuration."""


class GPUTask:
    """To be inherited from; `main` is the test."""

    def __init__(self, config: Mapping[str, Any], work_dir: str) -> None:
        self._config = config
        self._work_dir = work_dir

    def required_env(self) -> dict[str, str]:
        """Variables that the task needs in its environment."""
        return {}

    def main(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no main(). Write the test there.")


def run_task(task_class: type[GPUTask], config: Mapping[str, Any], work_dir: str) -> None:
    """What a task's process does."""
    _draw_into_files()
    task = task_class(config, work_dir)
    os.environ.update({name: str(value) for name, value in task.required_env().items()})
    task.main()
    with open(os.path.join(work_dir, SUCCESS), "w") as file:
        json.dump(note_of(config), file)


def note_of(config: Mapping[str, Any]) -> dict[str, str]:
    """What tells one configuration from another."""
    return {name: repr(value) for name, value in sorted(config.items())}


def _draw_into_files() -> None:
    """Figures are not to be shown on a screen."""
    os.environ["MPLBACKEND"] = "Agg"
    matplotlib = sys.modules.get("matplotlib")
    if matplotlib is not None:  # it is too late for the variable
        matplotlib.use("Agg")
