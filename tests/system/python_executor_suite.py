"""Runs Python's own tests of executors with `duckrow.Executor`: `python -m tests.system.python_executor_suite GROUP`.

They come with Python (Debian: libpython3.X-testsuite); nothing of them is kept here. Which ones do not apply, and why,
stands in `NOT_APPLICABLE`.
"""

from __future__ import annotations

import importlib
import sys
import unittest
from typing import Any

import cloudpickle

import duckrow
from duckrow.api.python.executor import JobFuture

_PACKAGE = "test.test_concurrent_futures"

# Where each class is in Pythons that have a package of them; before that it was one module.
GROUPS = {
    "ExecutorTest": "executor",
    "WaitTests": "test_wait",
    "AsCompletedTests": "test_as_completed",
    "ExecutorShutdownTest": "test_shutdown",
    "FutureTests": "test_future",
    "ProcessPoolExecutorTest": "test_process_pool",
}

_TIMED = "it counts on processes that start within half a second or two, whatever else the machine does"
_OUTPUT = "it reads what a call prints, which here goes into the log of the job"
_WORKERS = "there are no workers that outlive a call"

NOT_APPLICABLE = {
    "ExecutorTest.test_map_timeout": f"{_TIMED}; test_python.py has it with a job that never starts",
    "WaitTests.test_first_completed": _TIMED,
    "WaitTests.test_first_exception": _TIMED,
    "WaitTests.test_first_exception_some_already_complete": _TIMED,
    "WaitTests.test_timeout": _TIMED,
    "AsCompletedTests.test_future_times_out": _TIMED,
    "ExecutorShutdownTest.test_cancel_futures": f"{_TIMED}; test_python.py has it with jobs that surely run",
    "ExecutorShutdownTest.test_interpreter_shutdown": _OUTPUT,
    "ExecutorShutdownTest.test_hang_gh83386": _OUTPUT,
    "ExecutorShutdownTest.test_hang_gh94440": _WORKERS,
    "ExecutorShutdownTest.test_submit_after_interpreter_shutdown": "a submit at exit works, and the job runs",
    "FutureTests.test_cancel": "it looks at a private state, which a job does not have",
    "FutureTests.test_repr": "it is called JobFuture",
    "FutureTests.test_multiple_set_result": "the text says JobFuture; InvalidStateError is raised",
    "FutureTests.test_multiple_set_exception": "the text says JobFuture; InvalidStateError is raised",
    "ProcessPoolExecutorTest.test_max_workers_too_large": "a limit of Windows",
    "ProcessPoolExecutorTest.test_killed_child": "it is the JobFailed of its job alone",
    "ProcessPoolExecutorTest.test_traceback": "the cause is a RemoteTraceback of duckrow's",
    "ProcessPoolExecutorTest.test_ressources_gced_in_workers": _WORKERS,
    "ProcessPoolExecutorTest.test_saturation": _WORKERS,
    "ProcessPoolExecutorTest.test_idle_process_reuse_one": _WORKERS,
    "ProcessPoolExecutorTest.test_idle_process_reuse_multiple": _WORKERS,
    "ProcessPoolExecutorTest.test_max_tasks_per_child": _WORKERS,
    "ProcessPoolExecutorTest.test_max_tasks_per_child_defaults_to_spawn_context": _WORKERS,
    "ProcessPoolExecutorTest.test_max_tasks_early_shutdown": _WORKERS,
    "ProcessPoolExecutorTest.test_python_finalization_error": _WORKERS,
    "ProcessPoolExecutorTest.test_force_shutdown_workers": _WORKERS,
}  # fmt: skip


def find_module(name: str) -> Any:
    """The module of a group; this Python's own, or that of the system's Python of the same version."""
    try:
        tests: Any = importlib.import_module("test")
        of_the_system = "/usr/lib/python{}.{}/test".format(*sys.version_info)
        if of_the_system not in tests.__path__:
            tests.__path__.append(of_the_system)
        package = importlib.import_module(_PACKAGE)
        return importlib.import_module(f"{_PACKAGE}.{name}") if hasattr(package, "__path__") else package
    except ModuleNotFoundError:
        return None


def case_of(group: str) -> type[unittest.TestCase]:
    """The tests of this class that apply, with our executor."""
    module = find_module(GROUPS[group])
    util = find_module("util")
    for each in {module, util, find_module("executor")}:
        cloudpickle.register_pickle_by_value(each)  # a job need not find it
    theirs = getattr(module, group)
    if group == "FutureTests":
        module.Future = util.Future = new_future
        bases: tuple[type, ...] = (theirs,)
    else:
        bases = (theirs, util.ExecutorMixin, util.BaseTestCase)
    options = {"executor_type": duckrow.Executor, "executor_kwargs": {"preload": []}}
    names = [name for name in dir(theirs) if name.startswith("test_")]
    if group == "ProcessPoolExecutorTest":  # which has all of the other, once more
        names = [name for name in names if name in vars(theirs)]
    left_out = {name: None for name in dir(theirs) if name.startswith("test_") and not applies(group, name, names)}
    return type(group, bases, {**options, **left_out})


def applies(group: str, name: str, names: list[str]) -> bool:
    return name in names and f"{group}.{name}" not in NOT_APPLICABLE


def new_future() -> JobFuture[Any]:
    return JobFuture(duckrow.submit("true", hold=True))


if __name__ == "__main__":
    from tests.system import python_executor_suite as by_name

    suite = unittest.defaultTestLoader.loadTestsFromTestCase(by_name.case_of(sys.argv[1]))
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(suite)
    sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)
