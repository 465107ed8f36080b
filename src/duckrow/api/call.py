"""Runs in the process of a Python call: reads the call from its folder, makes it, and writes the result there.

The commands of jobs name this module, so it stays where it is: jobs outlive an upgrade.
"""

from __future__ import annotations

import os
import pickle
import sys

from duckrow.api.calls.data import PROTOCOL, with_data
from duckrow.api.calls.old_names import Unpickler

TYPE_CHECKING = False  # that of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import IO, Any

CALL, RESULT = "call.pkl", "result.pkl"

# The head of a result says which kind it is.
RETURNED = "returned"  # the value follows as a pickle of its own
RAISED = "raised"  # the head holds the exception, and its parts as texts
NOT_STORED = "not stored"  # the head says why there is no value


def main(folder: str) -> int:
    """Make the call that is in this folder; returns the exit code of the job."""
    path = f"{folder}/{RESULT}"
    _remove(path)  # of an earlier attempt
    print_lines_at_once()
    try:
        head, (function, args, kwargs) = _read_call(folder)
        value = function(*args, **kwargs)
    except BaseException as error:  # SystemExit too: it must not look like a value
        code = _leave_error(path, error)
    else:
        code = _leave_value(path, value, function, head.get("code"))
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return code


def forked_main(arguments: list[str]) -> int:
    """The same, in a process forked from one that has already imported this module."""
    return main(*arguments)


def each(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Several calls as one job."""
    return [function(*args) for args in calls]


def private(path: str, flags: int) -> int:
    """An opener: the file is for its user alone."""
    return os.open(path, flags, 0o600)


def print_lines_at_once() -> None:
    """Buffer by line, so that the log is up to date and in the same order as what C code prints."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and not stream.line_buffering:
            stream.reconfigure(line_buffering=True)


def _read_call(folder: str) -> tuple[dict[str, Any], tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]:
    with open(f"{folder}/{CALL}", "rb") as file:
        head = read_head(file)
        sys.path[:] = head["path"]  # first: what follows may name modules that only the caller knew how to find
        call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] = Unpickler(with_data(file, folder)).load()
        return head, call


def read_head(file: IO[bytes]) -> dict[str, Any]:
    """What precedes a call: `path`, the caller's sys.path, and `code`, which function it is, where that matters."""
    head = pickle.load(file)
    return head if isinstance(head, dict) else {"path": head}  # a job queued by an earlier version


# -- the result -----------------------------------------------------------------------------------------------------


def _leave_value(path: str, value: Any, function: Callable[..., Any], code: Mapping[str, str] | None) -> int:
    try:
        _write(path, {"kind": RETURNED, "code": code}, value)
    except Exception as error:  # any error of somebody else's object while it is pickled; or the disk is full
        name = getattr(function, "__qualname__", repr(function))
        why = (
            f"{name} returned an object of type {name_of_type(type(value))}, which cannot be stored: "
            f"{words_of(error)}. Return plain data, or write it into a file and return its path."
        )
        print(why, file=sys.stderr)
        _write(path, {"kind": NOT_STORED, "message": why})
        return 1
    return 0


def _leave_error(path: str, error: BaseException) -> int:
    text = _traceback_of(error)
    sys.stderr.write(text)
    is_exit = not isinstance(error, Exception)  # raised again, it would end the caller
    head = {
        "kind": RAISED,
        "exception": None if is_exit else _pickled(error),
        "type": name_of_type(type(error)),
        "message": _message_of(error),
        "traceback": text,
    }
    _write(path, head)
    return code_of(error) or 1 if isinstance(error, SystemExit) else 1


def code_of(exit: SystemExit) -> int:
    """The exit code that Python itself would use: no code is success, a text is a failure."""
    code = exit.code
    return (code or 0) & 0xFF if code is None or isinstance(code, int) else 1


def _traceback_of(error: BaseException) -> str:
    """As Python prints it, without our own frame."""
    import traceback

    own = error.__traceback__
    frames = own.tb_next or own if own else None
    return "".join(traceback.format_exception(type(error), error, frames))


def words_of(error: BaseException) -> str:
    """The message of an error, without a full stop; if it has none, the name of its type."""
    return _message_of(error).rstrip(".") or name_of_type(type(error))


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # from somebody else's __str__
        return ""


def _pickled(error: BaseException) -> bytes | None:
    """None for an exception that cannot be pickled or unpickled."""
    import cloudpickle

    for form in (error, _InParts(error)):
        try:
            data: bytes = cloudpickle.dumps(form, protocol=PROTOCOL)
            pickle.loads(data)
            return data
        except Exception:  # any error of its class
            pass
    return None


class _InParts:
    """Unpickles an exception without `__init__`, as many take other arguments than those that they keep."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __reduce__(self) -> tuple[Any, ...]:
        return put_together, (type(self._error), self._error.args, self._error.__dict__)


def put_together(kind: type[BaseException], args: tuple[Any, ...], attributes: Mapping[str, Any]) -> BaseException:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


def name_of_type(kind: type) -> str:
    return (
        kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    )


# -- files ----------------------------------------------------------------------------------------------------------


def _write(path: str, head: Mapping[str, Any], *values: Any) -> None:
    """Write all or nothing: nobody ever sees half a result."""
    unfinished = f"{path}.{os.getpid()}"
    try:
        with open(unfinished, "wb", opener=private) as file:
            pickle.dump(head, file, protocol=PROTOCOL)
            for value in values:
                dump_value(value, file)
        os.replace(unfinished, path)
    except BaseException:
        _remove(unfinished)
        raise


def dump_value(value: Any, file: IO[bytes]) -> None:
    """Pickle straight into the file. Plain pickle first: loading cloudpickle takes longer than writing most values."""
    begin = file.tell()
    try:
        pickle.dump(value, file, protocol=PROTOCOL)
    except Exception:  # it contains lambdas or classes of the caller's script, or cannot be pickled at all
        from duckrow.api.calls.pickler import CallPickler

        file.seek(begin)
        file.truncate()
        CallPickler(file).dump(value)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


if __name__ == "__main__":
    # Imported by name: what is pickled here must not look as if it came from the caller's `__main__`.
    from duckrow.api.call import main as main_by_name

    sys.exit(main_by_name(sys.argv[1]))
