"""Python functions as jobs: writes the call into a folder, and reads the result from it."""

from __future__ import annotations

import functools
import io
import os
import pickle
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from typing import IO, Any

import cloudpickle

from duckrow.api.call import (
    CALL,
    NOT_STORED,
    RAISED,
    RESULT,
    RETURNED,
    name_of_type,
    private,
    read_head,
    words_of,
)
from duckrow.api.calls.copied_generators import warn_of_copied_generators
from duckrow.api.calls.data import PROTOCOL, CallWriter, forget_data
from duckrow.api.calls.old_names import Unpickler
from duckrow.api.calls.pickler import CallPickler
from duckrow.api.calls.words import call_words
from duckrow.api.queue.attendance import warn
from duckrow.api.queue.views import JobView
from duckrow.core.errors import DuckrowError, UsageError
from duckrow.core.jobs.title import CALL_MODULE, with_call
from duckrow.core.named_tuple import NamedTuple

_MUCH_DATA = 100_000_000  # bytes
_RUNNER = f"-m {CALL_MODULE}"


class JobFailed(DuckrowError):
    """A job did not come to a good end, so it has no result."""

    view: JobView | None = None  # of the job: its outcome, exit code, signal, log


class RemoteError(JobFailed):
    """Stands for an exception of a function that cannot be brought back as it was, such as `sys.exit`."""

    type_name: str = ""
    message: str = ""
    traceback_text: str = ""


class RemoteTraceback(Exception):
    """The cause of an exception that comes from a job: where in the job it was raised."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class Call(NamedTuple):
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    name: str  # what the job is called
    code: Mapping[str, str] | None = None  # the function's code, for sweeps, which skip what has succeeded
    words: str = ""  # how it is shown; empty: as a call


def name_of(function: Callable[..., Any]) -> str:
    """The function's name as a job name: letters, digits and a few signs, and nothing that looks like an id."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    cleaned = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:40]
    return cleaned if cleaned.strip("0123456789-") not in ("", "last") else f"call-{cleaned}".rstrip("-")


def pattern_of(function: Callable[..., Any]) -> str:
    """Identifies the function among jobs: the module or the script, and the name."""
    module = function.__module__
    if module == "__main__":  # each script has one
        module = os.path.abspath(getattr(sys.modules[module], "__file__", None) or "notebook")
    return f"call {module}:{getattr(function, '__qualname__', name_of(function))}"


# -- before ---------------------------------------------------------------------------------------------------------


def store_call(call: Call, folder: str) -> str:
    """Write the call into its folder, which is created if needed; returns the command that makes the call."""
    warn_of_copied_generators(call.function)
    is_new = not os.path.isdir(folder)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    try:
        forget_data(folder)
        with open(f"{folder}/{CALL}", "wb", opener=private) as file:
            head = {"path": [os.path.abspath(place) for place in sys.path], "code": call.code}
            pickle.dump(head, file, protocol=PROTOCOL)
            writer = CallWriter(file, folder)
            _dump_call(call, writer)
            _tell_of_data(call, writer.new_bytes)
    except BaseException:
        if is_new:  # otherwise it has results of earlier attempts
            forget_call(folder)
        raise
    command = f"exec {shlex.quote(sys.executable)} {_RUNNER} {shlex.quote(folder)}"
    return with_call(command, call.words or call_words(call.function, call.args, call.kwargs))


def warm_modules(preload: str | None, function: Callable[..., Any] | None = None) -> str | None:
    """What a warm start imports for a call: the given modules, and the one that makes the call.

    `function`: with "auto", the large libraries that its file imports.
    """
    if preload == "auto":
        from duckrow.api.adding.libraries import libraries_of

        code = getattr(function, "__code__", None)
        preload = ",".join(libraries_of(code.co_filename)) if code is not None else ""
    return None if preload is None else ",".join(filter(None, [preload, CALL_MODULE]))


def forget_call(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _tell_of_data(call: Call, size: int) -> None:
    if size >= _MUCH_DATA:
        warn(
            f"A call of {call.name} sends {size / 1e6:.0f} MB of data. Calls with the same data share one copy "
            f"of it on disk, and each reads it. If it is in a file anyway, let {call.name} read that."
        )


def _dump_call(call: Call, writer: CallWriter) -> None:
    try:
        CallPickler(writer).dump((call.function, tuple(call.args), dict(call.kwargs)))
        writer.finish(PROTOCOL)
    except OSError as error:
        raise DuckrowError(f"The call of {call.name} cannot be written: {error.strerror}.") from None
    except Exception as error:  # any error of somebody else's object while it is pickled
        raise UsageError(
            f"{_unpicklable_part(call)} cannot be pickled: {words_of(error)}. Nothing was submitted."
        ) from error


def _unpicklable_part(call: Call) -> str:
    """Which part cannot be pickled."""
    numbered = [(f"Argument {number} of {call.name}", value) for number, value in enumerate(call.args, start=1)]
    named = [(f"The argument '{key}' of {call.name}", value) for key, value in call.kwargs.items()]
    for what, value in numbered + named:
        try:
            cloudpickle.dumps(value, protocol=PROTOCOL)
        except Exception:  # as above
            return f"{what} (of type {name_of_type(type(value))})"
    return f"The function {call.name}, or something that it uses,"


# -- after ----------------------------------------------------------------------------------------------------------


def is_call(command: str) -> bool:
    return f" {_RUNNER} " in command


def value_of(folder: str, who: str) -> Any:
    """What the function returned. `who`: the job, as errors name it."""
    path = f"{folder}/{RESULT}"
    if not os.path.exists(path):
        raise JobFailed(f"{who} left no result in {folder}.")
    with open(path, "rb") as file:
        if pickle.load(file)["kind"] != RETURNED:
            raise JobFailed(f"{who} left an error in {folder}, but exited with code 0.")
        try:
            return read_value(file)
        except (Exception, SystemExit) as error:  # a missing module, or any error of somebody else's class
            raise JobFailed(f"{who} has a result, but it cannot be read here: {words_of(error)}.") from error


def read_value(file: IO[bytes]) -> Any:
    """What `dump_value` has written."""
    return _Reader(file).load()


def code_of_call(folder: str) -> Mapping[str, str] | None:
    """Which function the call in this folder makes; None if unknown."""
    return _read_quietly(f"{folder}/{CALL}").get("code")


def code_of_result(folder: str) -> Mapping[str, str] | None:
    """Which function returned the result in this folder; None if unknown."""
    return _read_quietly(f"{folder}/{RESULT}").get("code")


def _read_quietly(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return read_head(file)
    except (OSError, EOFError, pickle.UnpicklingError):  # removed, or incomplete
        return {}


def exception_of(folder: str, who: str) -> BaseException | None:
    """What the function raised, with the traceback from the job as its cause; None if nothing was raised."""
    try:
        with open(f"{folder}/{RESULT}", "rb") as file:
            head = pickle.load(file)
    except FileNotFoundError:
        return None
    if head["kind"] == NOT_STORED:
        return JobFailed(f"{who}: {head['message']}")
    if head["kind"] != RAISED:
        return None
    error = _unpickled(head["exception"]) if head["exception"] is not None else None
    if error is None:
        error = _substitute(head, who)
    error.__cause__ = RemoteTraceback(head["traceback"])
    return error


def _unpickled(data: bytes) -> BaseException | None:
    try:
        error = _Reader(io.BytesIO(data)).load()
    except Exception:  # its class is missing or cannot be rebuilt here
        return None
    return error if isinstance(error, BaseException) else None


def _substitute(head: Mapping[str, Any], who: str) -> RemoteError:
    error = RemoteError(": ".join(filter(None, [who, head["type"], head["message"]])))
    error.type_name, error.message, error.traceback_text = head["type"], head["message"], head["traceback"]
    return error


class _Reader(Unpickler):
    """Leaves the caller's own classes as they are.

    A class of `__main__` is pickled with its objects. When a result is read, cloudpickle would replace the methods and
    attributes of the original class by the job's copies, which do not see the script's globals.
    """

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        if module.startswith("cloudpickle") and name == "_class_setstate":
            return lambda kind, state: kind if _is_at_home(kind) else found(kind, state)
        return found


def _is_at_home(kind: type) -> bool:
    """Whether the class is the one that its module has under this name."""
    found: Any = sys.modules.get(kind.__module__)
    for word in kind.__qualname__.split("."):
        found = getattr(found, word, None)
    return found is kind
