"""Python calls without a daemon: what is written before, what runs in the process, what is read after."""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import duckrow
from duckrow.api.adding.job_values import parse_notice
from duckrow.api.adding.options import Options, read_options, with_recipe
from duckrow.api.calls.functions import (
    Call,
    JobFailed,
    RemoteError,
    exception_of,
    name_of,
    store_call,
    value_of,
    warm_modules,
)
from duckrow.cli.commands.submit import command as submit_command
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import JobSpec, check_name
from duckrow.core.jobs.title import CALL_MODULE
from duckrow.core.life.dependencies import Dependency

LIGHT_MAKES_NO = {"sqlite3", "click", "cloudpickle", "concurrent.futures", "subprocess", "typing", "duckrow.api.client"}


def make_call(
    folder: Path, function: Callable[..., Any], *args: Any, **kwargs: Any
) -> subprocess.CompletedProcess[str]:
    """Write a call into a folder and run its command, as a job would."""
    command = store_call(Call(function, args, kwargs, name_of(function)), str(folder))
    return subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, cwd="/")


# -- what a call may be ---------------------------------------------------------------------------------------------


def test_a_value_comes_back_and_the_files_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "project" / "name" / "call"
    done = make_call(folder, divmod, 17, 5)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert value_of(str(folder), "Job 1") == (3, 2)
    assert exception_of(str(folder), "Job 1") is None
    assert sorted(os.listdir(folder)) == ["call.pkl", "result.pkl"]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_lambdas_partials_and_keyword_arguments_are_calls_too(tmp_path: Path) -> None:
    factor = 3
    make_call(tmp_path / "1", lambda x, plus: factor * x + plus, 2, plus=1)
    make_call(tmp_path / "2", functools.partial(max, 1), 5)
    assert (value_of(f"{tmp_path}/1", ""), value_of(f"{tmp_path}/2", "")) == (7, 5)


def test_a_new_attempt_removes_the_result_of_an_earlier_one(tmp_path: Path) -> None:
    def fail_at_the_second_time(marker: str) -> str:
        with open(marker, "x"):
            return "first"

    folder = tmp_path / "call"
    marker = f"{tmp_path}/marker"
    assert make_call(folder, fail_at_the_second_time, marker).returncode == 0
    again = subprocess.run([sys.executable, "-m", "duckrow.api.call", str(folder)], capture_output=True)
    assert again.returncode == 1
    assert isinstance(exception_of(str(folder), ""), FileExistsError)
    with pytest.raises(JobFailed, match=r"Job 1 left an error in .*, but exited with code 0"):
        value_of(str(folder), "Job 1")
    os.unlink(folder / "result.pkl")
    with pytest.raises(JobFailed, match=r"Job 1 left no result"):
        value_of(str(folder), "Job 1")


class Picky(Exception):
    """Keeps other arguments than it is made from, so a plain pickle of it cannot be read."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


def raise_picky() -> None:
    raise Picky(7, "no disk")


def test_an_exception_comes_back_whole_with_its_traceback(tmp_path: Path) -> None:
    folder = tmp_path / "call"
    done = make_call(folder, raise_picky)
    assert done.returncode == 1
    assert "in raise_picky" in done.stderr
    error = exception_of(str(folder), "Job 1")
    assert isinstance(error, Picky)
    assert (str(error), error.code) == ("7: no disk", 7)
    assert 'raise Picky(7, "no disk")' in str(error.__cause__)
    assert "duckrow/api/call.py" not in str(error.__cause__), "our own frames say nothing"


def raise_with_a_lock() -> None:
    error = ValueError("locked")
    error.lock = threading.Lock()  # type: ignore[attr-defined]
    raise error


def test_an_exception_that_cannot_be_pickled_has_a_substitute(tmp_path: Path) -> None:
    folder = tmp_path / "call"
    assert make_call(folder, raise_with_a_lock).returncode == 1
    error = exception_of(str(folder), "Job 1 (raise_with_a_lock)")
    assert isinstance(error, RemoteError)
    assert str(error) == "Job 1 (raise_with_a_lock): ValueError: locked"
    assert (error.type_name, error.message) == ("ValueError", "locked")
    assert "in raise_with_a_lock" in error.traceback_text
    assert "in raise_with_a_lock" in str(error.__cause__)


@pytest.mark.parametrize(("given", "code"), [(3, 3), (0, 1), (None, 1), ("text", 1), (75, 75), (256, 1)])
def test_an_exit_is_a_failure_and_keeps_its_code(tmp_path: Path, given: Any, code: int) -> None:
    assert make_call(tmp_path / "call", sys.exit, given).returncode == code
    error = exception_of(f"{tmp_path}/call", "Job 1")
    assert isinstance(error, RemoteError)
    assert error.type_name == "SystemExit"


def test_a_result_that_cannot_be_pickled_is_told_with_function_and_type(tmp_path: Path) -> None:
    done = make_call(tmp_path / "call", threading.Lock)
    assert done.returncode == 1
    assert "object of type _thread.lock, which cannot be stored: cannot pickle" in done.stderr
    error = exception_of(f"{tmp_path}/call", "Job 1 (lock)")
    assert isinstance(error, JobFailed)
    assert str(error) == f"Job 1 (lock): {done.stderr.strip()}"
    assert sorted(os.listdir(tmp_path / "call")) == ["call.pkl", "result.pkl"]


class Wordless:
    """Whatever is done to it raises an error that has no text."""

    def __reduce__(self) -> Any:
        raise ValueError


class WordlessWhenRead:
    def __reduce__(self) -> Any:
        return next, (iter(()),)


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


def raise_mute() -> None:
    raise Mute(threading.Lock())


def test_an_error_without_a_text_is_called_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Argument 1 of fit .* cannot be pickled: ValueError\. Nothing"):
        store_call(Call(print, (Wordless(),), {}, "fit"), f"{tmp_path}/1")
    assert "which cannot be stored: ValueError. Return" in make_call(tmp_path / "2", Wordless).stderr
    make_call(tmp_path / "3", WordlessWhenRead)
    with pytest.raises(JobFailed, match=r"cannot be read here: StopIteration\."):
        value_of(f"{tmp_path}/3", "Job 1")
    make_call(tmp_path / "4", sys.exit)
    assert str(exception_of(f"{tmp_path}/4", "Job 1")) == "Job 1: SystemExit"
    make_call(tmp_path / "5", raise_mute)
    assert str(exception_of(f"{tmp_path}/5", "Job 1")) == "Job 1: tests.api.calls.test_functions.Mute"


def test_a_module_that_is_missing_is_an_exception_of_the_call(tmp_path: Path) -> None:
    folder = tmp_path / "call"
    folder.mkdir()
    with open(folder / "call.pkl", "wb") as file:
        pickle.dump(sys.path, file)
        file.write(b"\x80\x04cno_such_module\nfit\n.")
    assert subprocess.run([sys.executable, "-m", "duckrow.api.call", str(folder)], capture_output=True).returncode == 1
    assert isinstance(exception_of(str(folder), ""), ModuleNotFoundError)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (Call(print, (1, threading.Lock()), {}, "fit"), "Argument 2 of fit (of type _thread.lock) cannot be pickled: "),
        (Call(print, (), {"log": threading.Lock()}, "fit"), "The argument 'log' of fit (of type _thread.lock) cannot"),
        (Call(threading.Lock().acquire, (), {}, "fit"), "The function fit, or something that it uses, cannot be"),
    ],
)
def test_what_cannot_be_pickled_is_named(tmp_path: Path, call: Call, told: str) -> None:
    with pytest.raises(UsageError) as error:
        store_call(call, f"{tmp_path}/call")
    assert str(error.value).startswith(told)
    assert not os.listdir(tmp_path)


def test_a_call_that_cannot_be_stored_leaves_what_is_in_the_folder_already(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").touch()
    with pytest.raises(UsageError):
        store_call(Call(print, (threading.Lock(),), {}, "fit"), str(tmp_path))
    assert (tmp_path / "checkpoint").exists()


def test_the_process_of_a_call_loads_little(tmp_path: Path) -> None:
    make_call(tmp_path / "call", sum, [1, 2])
    code = f"import sys; from duckrow.api.call import main; main('{tmp_path}/call'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not LIGHT_MAKES_NO & set(loaded)


@pytest.mark.parametrize(
    ("given", "name"),
    [("fit", "fit"), ("<lambda>", "lambda"), ("last", "call-last"), ("12", "call-12"), ("größe", "gr-e"), ("", "call")],
)
def test_a_job_is_called_like_its_function(given: str, name: str) -> None:
    def function() -> None: ...

    function.__name__ = given
    assert name_of(function) == name_of(functools.partial(function)) == name
    check_name("name", name)


# -- what a job may need --------------------------------------------------------------------------------------------


def spec_of(**options: Any) -> JobSpec:
    request = read_options(options)
    return request.spec(command="true", name=request.name)


def test_options_are_those_of_the_command_line(tmp_path: Path) -> None:
    spec = spec_of(
        gpus=2, project="thesis", retries=3, backoff="1m", timeout="2h", signal="TERM@5m", grace=4, shell="sh",
        cwd=tmp_path, priority=50, if_broken="wait", begin=datetime(2030, 1, 1), hold=True, outfile="out.txt",
        max_log="10M", preload=["json", "re"],
    )  # fmt: skip
    assert (spec.gpus, spec.project, spec.retries, spec.backoff_s, spec.timeout_s) == (2, "thesis", 3, 60, 7200)
    assert (spec.notice_signal, spec.notice_s, spec.grace_s, spec.cwd) == (15, 300, 4, str(tmp_path))
    assert (spec.priority, spec.if_broken, spec.held, spec.preload) == (50, "wait", True, "json,re")
    assert spec.not_before == datetime(2030, 1, 1).timestamp()
    assert (spec.outfile, spec.max_log_bytes) == (os.path.abspath("out.txt"), 10 << 20)
    assert os.path.isabs(spec.shell)


OTHERWISE_IN_PYTHON = {
    "variables": "env",
    "notice": "signal",
    "without_gpu": "gpus",  # gpus=0
    "pack": "gpu_mem",  # gpu_mem="auto"
    "dependency": "after",
}
"""Options of the command line that Python calls otherwise."""

ONLY_TYPED = {
    *("words", "file", "delimiter", "form", "wrap", "error", "array", "root", "snapshot", "waits", "as_json"),
    "help_all",
    *(name.replace("-", "_") for name in ("partition", "account", "qos", "gres", "time", "nodes", "cpus-per-task")),
    *("runs_per_job", "parallel_runs", "fixed_chunks", "max_jobs", "sbatch"),  # these are in slurm={...}
}
"""How jobs are written on a command line, what is printed, and the request to a cluster."""


def test_python_has_every_option_of_a_job_that_the_command_line_has() -> None:
    typed = {str(option.name) for option in submit_command.params} - ONLY_TYPED
    assert {OTHERWISE_IN_PYTHON.get(name, name) for name in typed} == Options.__annotations__.keys() - {"slurm"}


def test_what_decides_the_memory_is_named_in_python_too(tmp_path: Path) -> None:
    for names in ("size, model", ["size", "model"]):
        request = read_options({"gpu_mem": "auto", "memory_params": names, "cwd": tmp_path})
        spec = with_recipe(request.spec(command="python train.py --size 3 --model big --lr 1"), None)
        assert spec.needs.deciding == "size,model"
    spec = read_options({"gpu_mem": "auto", "memory_params": ["depth"]}).spec(command="python train.py --size 3")
    with pytest.raises(UsageError, match="'depth', which decides the memory"):
        with_recipe(spec, None)


def test_what_is_preloaded_is_left_to_duckrow_in_python_too(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import numpy, json\n")
    spec = read_options({"preload": "auto", "cwd": tmp_path}).spec(command="python train.py")
    assert with_recipe(spec, None).preload == "numpy"
    assert warm_modules("auto", test_what_is_preloaded_is_left_to_duckrow_in_python_too) == CALL_MODULE
    assert warm_modules("auto", eval("lambda: 0")) == CALL_MODULE  # it has no file


def test_what_is_not_given_is_as_the_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    assert spec_of() == JobSpec(command="true", cwd=os.getcwd())
    monkeypatch.setenv("DUCKROW__JOB__PROJECT", "thesis")
    monkeypatch.setenv("DUCKROW__PROJECTS__thesis__TIMEOUT", "1h")
    monkeypatch.setenv("DUCKROW__JOB__SIGNAL", "none")
    spec = spec_of()
    assert (spec.project, spec.timeout_s, spec.notice_signal) == ("thesis", 3600, None)
    assert spec_of(timeout="none").timeout_s is None
    assert spec_of(project="other").timeout_s is None


def test_no_modules_to_preload_are_not_the_same_as_a_cold_start() -> None:
    assert (spec_of().preload, spec_of(preload=[]).preload) == (None, "")


def test_jobs_to_wait_for_are_ids_handles_or_texts() -> None:
    handle: duckrow.Job[Any] = duckrow.Job(7, "fit", "/home")
    wanted = [Dependency("12", "ok"), Dependency("7", "ok"), Dependency("3", "any"), Dependency("4", "any")]
    assert read_options({"after": [12, handle, "any:3,4"]}).after == wanted
    assert read_options({"after": handle}).after == [Dependency("7", "ok")]
    assert read_options({"after": 12}).after == read_options({"after": "12"}).after == [Dependency("12", "ok")]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"gpu": 1}, "There is no option gpu=. Did you mean gpus?"),
        ({"epochs": 3}, "There is no option epochs=. Choose from gpus, name, project"),
        ({"gpus": "1"}, "gpus='1' must be a whole number."),
        ({"gpus": True}, "gpus=True must be a whole number."),
        ({"gpus": -1}, "A job cannot have -1 GPUs."),
        ({"name": 3}, "name=3 must be a string."),
        ({"name": "a/b"}, "'a/b' cannot be a name."),
        ({"project": "a b"}, "project='a b': 'a b' cannot be a project."),
        ({"retries": -1}, "retries=-1 is not a whole number of 0 or more."),
        ({"timeout": "soon"}, "timeout='soon': 'soon' is not a time."),
        ({"timeout": []}, "timeout=[] is neither a string in quotes nor a number."),
        ({"max_log": "10X"}, "'10X' is not a size."),
        ({"signal": "NOPE@3s"}, "'NOPE' is not a signal."),
        ({"env": {"A": 1}}, "env: 1 is not a string."),
        ({"env": {"A=B": "1"}}, "a variable has a name"),
        ({"env": ["A"]}, "env=['A'] must be a dict of strings."),
        ({"cwd": "/no/such"}, "The folder /no/such does not exist."),
        ({"shell": "no-such-shell"}, "There is no shell 'no-such-shell' here."),
        ({"if_broken": "go"}, "if_broken='go' must be 'skip' or 'wait'."),
        ({"after": 1.5}, "after=1.5 must be ids, jobs, or a string like 'any:12'."),
        ({"begin": 5}, "begin=5 must be a string or a datetime."),
        ({"preload": 3}, "preload=3 must be 'auto', or a list of the names of modules."),
        ({"memory_params": 3}, "memory_params=3 must be a list of the names of parameters."),
        ({"preload": ["a b"]}, "'a b' cannot be a module."),
    ],
)
def test_a_wrong_option_is_told_in_a_sentence(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as error:
        spec_of(**options)
    assert told in str(error.value)


def test_every_option_is_named_where_people_look_for_it() -> None:
    assert duckrow.submit.__doc__ is not None
    listed = duckrow.submit.__doc__.split("Options, as of `duckrow submit`: ")[1].split(".")[0]
    assert [word.strip() for word in listed.replace("\n", " ").split(",")] == list(Options.__annotations__)


@pytest.mark.parametrize("text", ["USR2@30s", "@30", "SIGUSR2", "12"])
def test_a_warning_is_written_as_on_the_command_line(text: str) -> None:
    assert parse_notice(text) == (12, 30.0)


@pytest.mark.parametrize(
    ("task", "args", "told"),
    [
        (42, (), "42 cannot be a job. Submit a string, a list of words, or a function."),
        ("echo", (1,), "Arguments are for functions."),
        ("  ", (), "The command is empty."),
    ],
)
def test_what_cannot_be_a_job_is_told_before_anything_is_started(task: Any, args: tuple[Any, ...], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        duckrow.submit(task, *args)


@pytest.mark.parametrize(
    ("max_workers", "options", "told"),
    [
        (0, {}, "max_workers=0: max_workers must be greater than 0, and a whole number."),
        ("2", {}, "max_workers='2': max_workers must be"),
        (None, {"hold": True}, "hold= is for one job, so an executor does not have it."),
        (None, {"gpu": 1}, "Did you mean gpus?"),
    ],
)
def test_a_wrong_executor_is_told_in_a_sentence(max_workers: Any, options: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told.replace("?", r"\?")):
        duckrow.Executor(max_workers, **options)


# -- the package ----------------------------------------------------------------------------------------------------


def test_importing_duckrow_loads_nothing_before_it_is_used() -> None:
    code = "import sys; before = set(sys.modules); import duckrow; print(*set(sys.modules) - before)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) <= {"duckrow", "__future__"}


def test_every_name_of_the_package_is_there_and_listed() -> None:
    assert set(duckrow.__all__) <= set(dir(duckrow))
    assert all(getattr(duckrow, name) is not None for name in duckrow.__all__)
    with pytest.raises(AttributeError, match="module 'duckrow' has no attribute 'submitt'"):
        duckrow.submitt  # type: ignore[attr-defined]  # noqa: B018
