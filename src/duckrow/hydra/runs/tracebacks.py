"""Passes the traceback of a run's exception to the launcher, so that Hydra shows it like one of its own.

A traceback cannot be pickled. But its lines can, and frames that look the same can be made from them.
"""

from __future__ import annotations

import traceback
from types import FrameType, TracebackType

_KEPT_AS = "_raised_in_run"


def keep_traceback(error: BaseException) -> None:
    """Keep it in a form that is pickled with the exception."""
    frames = [(each.filename, each.lineno or 0, each.name) for each in traceback.extract_tb(error.__traceback__)]
    try:
        setattr(error, _KEPT_AS, frames)
    except Exception:  # its class allows no attributes; the log has the traceback anyway
        pass


def restore_traceback(error: BaseException) -> bool:
    """Whether a traceback was kept. Its cause then adds something only if there was a chain of exceptions."""
    frames: list[tuple[str, int, str]] = error.__dict__.pop(_KEPT_AS, [])
    made: TracebackType | None = None
    for filename, line, name in reversed(frames):
        made = TracebackType(made, _frame(filename, name), -1, line)
    if made is not None:
        error.__traceback__ = made
        if str(error.__cause__).count("Traceback (most recent call last)") < 2:
            error.__cause__ = None
    return made is not None


def _frame(filename: str, name: str) -> FrameType:
    code = compile("raise RuntimeError", filename, "exec").replace(co_name=name)
    try:
        exec(code, {"__file__": filename})
    except RuntimeError as error:
        inner = error.__traceback__.tb_next if error.__traceback__ else None
        assert inner is not None
        return inner.tb_frame
    raise AssertionError("it raises")
