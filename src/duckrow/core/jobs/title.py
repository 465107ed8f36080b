"""How people see jobs named: what they run, and their index in an array."""

from __future__ import annotations

CALL_MODULE = "duckrow.api.call"
_NOTE = " # "  # to a shell what follows is a comment


def with_call(command: str, call: str) -> str:
    """The command of a job that makes this Python call, with the call noted at its end. `call`: one line."""
    return f"{command}{_NOTE}{call}"


def title_of(command: str) -> str:
    """What a job does: a Python call as `train(lr=0.1, seed=3)`, anything else as the command that it is."""
    return _parts(command)[1] or command


def without_call(command: str) -> str:
    """The command without the note."""
    return _parts(command)[0]


def _parts(command: str) -> tuple[str, str]:
    """(the command, the call that is noted after it, if any)."""
    if f" -m {CALL_MODULE} " not in command:
        return command, ""
    what, _, call = command.partition(_NOTE)
    return what, call


def full_name(name: str, array_index: int | None) -> str:
    """With its index, which distinguishes the jobs of an array: `train[3]`."""
    return name if array_index is None else f"{name}[{array_index}]"


def job_words(job_id: int, array_index: int | None) -> str:
    """`job 12`, or `job 12 (index 3)` of an array."""
    return f"job {job_id}" if array_index is None else f"job {job_id} (index {array_index})"
