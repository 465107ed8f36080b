"""A task: a combination of parameters to test, and what runs in its process."""

from __future__ import annotations

import fcntl
import os
import pickle
import sys

from duckrow.api.call import code_of, print_lines_at_once
from duckrow.dropin.gpu_task_scheduler.success_notes import add_success, note_of, successes_in

TYPE_CHECKING = False  # that of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO, Any


class GPUTask:
    """The base class of tasks; `main` is the test."""

    def __init__(self, config: Mapping[str, Any], work_dir: str) -> None:
        self._config = config
        self._work_dir = work_dir

    def required_env(self) -> dict[str, str]:
        """Variables that the task needs in its environment."""
        return {}

    def main(self) -> None:
        """Does nothing unless overridden."""


def imported_by_runs(arguments: list[str]) -> list[str]:
    """For a preloaded Python that forks tasks: the module or script whose libraries they all need."""
    path, _ = arguments
    print_lines_at_once()
    with open(path, "rb") as file:
        sys.path[:] = pickle.load(file)
        home, script = pickle.load(file)
    if script is not None:
        from duckrow.api.calls.script_again import code_of as code_of_script

        code_of_script(script)
    return [home] if home else []


def forked_main(arguments: list[str]) -> int:
    """The main function of a task's process: runs the task at this place of this file; returns the exit code."""
    path, place = arguments
    print_lines_at_once()
    try:
        with open(path, "rb", buffering=0) as file:
            task_class = _read_class(file)
            file.seek(int(place))
            config, work_dir, who = pickle.load(file)
        run_task(task_class, config, work_dir, who)
    except BaseException as error:  # from the task, so it may be any
        code = code_of(error) if isinstance(error, SystemExit) else 1
        if code:
            import traceback

            traceback.print_exc()
        return code
    return 0


def _read_class(file: IO[bytes]) -> type[GPUTask]:
    """Imports its module in the process of each task, as the original tool did."""
    sys.path[:] = pickle.load(file)  # first: what follows may name modules that only the script knew how to find
    _, script = pickle.load(file)
    found: Any = pickle.load(file)
    if script is not None:
        from duckrow.api.calls.script_again import execute

        found = getattr(execute(script, found), found)
    task_class: type[GPUTask] = found
    return task_class


def run_task(task_class: type[GPUTask], config: Mapping[str, Any], work_dir: str, who: str) -> None:
    """Run the task, alone in its folder, and leave a note there if it succeeds. `work_dir` is absolute."""
    noted = note_of(config)  # the task may change it
    _have_alone(work_dir)
    if successes_in(work_dir).get(who) == noted:
        print("This task has succeeded in another run in the meantime. It does not run again.")
        return
    _draw_into_files()
    task = task_class(config, work_dir)
    for name, value in task.required_env().items():
        os.environ[name] = str(value)
    try:
        task.main()
    except SystemExit as exit:
        if exit.code:
            raise
    add_success(work_dir, who, noted)


def _have_alone(folder: str) -> None:
    """Wait while another process works in this folder: a run continues when the script that started it is killed.

    The lock ends with the last process of the task.
    """
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("Another run is working on this task. Waiting until it ends.", flush=True)
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError:
        pass  # a file system without locks


def _draw_into_files() -> None:
    """Make matplotlib draw into files, not on a screen."""
    if os.environ.get("MPLBACKEND") != "Agg":
        os.environ["MPLBACKEND"] = "Agg"
    matplotlib = sys.modules.get("matplotlib")
    if matplotlib is not None:  # too late for the variable
        matplotlib.use("Agg")


if __name__ == "__main__":
    # Imported by name: the class of a task inherits from the GPUTask of that module.
    from duckrow.dropin.gpu_task_scheduler.gpu_task import forked_main as main_by_name

    sys.exit(main_by_name(sys.argv[1:]))
