"""Calls apply functions, and stores them for use after their program has ended."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable, Sequence

from duckrow.core.named_tuple import NamedTuple
from duckrow.dropin.quackpack.apply_functions import take_claims

ApplyFunction = Callable[[str, dict[str, str]], str]

_FUNCTIONS = "functions.pkl"


class Answer(NamedTuple):
    """What an attempt runs: the command, and the changes to its environment (None: removed); or why nothing runs."""

    command: str = ""
    changes: dict[str, str | None] = {}
    failure: str = ""
    claims: list[int] = []  # files for the command to inherit, which hold its ports


def call_all(functions: Sequence[ApplyFunction], command: str, env: dict[str, str]) -> Answer:
    before = dict(env)
    name = ""
    take_claims()
    try:
        for function in functions:
            name = getattr(function, "__name__", repr(function))
            command = _checked(function(command, env))
    except BaseException as error:  # SystemExit too: it is not a command
        # Without our own frame.
        told = traceback.format_exception(type(error), error, error.__traceback__ and error.__traceback__.tb_next)
        why = f"The apply functions failed ({name}), so this job's command was not run."
        return Answer(failure="".join([*told, why]), claims=take_claims())
    changes: dict[str, str | None] = {str(key): str(value) for key, value in env.items() if before.get(key) != value}
    return Answer(command, changes | dict.fromkeys(before.keys() - env.keys()), claims=take_claims())


def _checked(cmd: object) -> str:
    if not isinstance(cmd, str):
        raise TypeError(f"an apply function returns the command, not {cmd!r}")
    return cmd


def store_functions(functions: Sequence[ApplyFunction], folder: str) -> None:
    """Store them for use after this program has ended. Functions that cannot be pickled cannot be called then."""
    import cloudpickle

    from duckrow.api.call import private
    from duckrow.api.calls.data import PROTOCOL

    try:
        pickled = cloudpickle.dumps(list(functions), protocol=PROTOCOL)
    except Exception:  # any error of somebody else's object while it is pickled
        return
    with open(os.path.join(folder, _FUNCTIONS), "wb", opener=private) as file:
        pickle.dump([os.path.abspath(place) for place in sys.path], file, protocol=PROTOCOL)
        file.write(pickled)


def call_stored(folder: str, command: str, env: dict[str, str]) -> Answer:
    path = os.path.join(folder, _FUNCTIONS)
    if not os.path.exists(path):
        return Answer(
            failure="The program that has this job's apply functions has ended, and they cannot be called without it. "
            "Start it again."
        )
    try:
        with open(path, "rb") as file:
            sys.path[:] = pickle.load(file)  # first: what follows may name modules that only the caller could find
            functions = pickle.load(file)
    except BaseException:  # a missing module, or any error of somebody else's object
        return Answer(failure=f"{traceback.format_exc()}The apply functions cannot be read, so nothing was run.")
    return call_all(functions, command, env)
