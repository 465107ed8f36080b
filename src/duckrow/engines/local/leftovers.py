"""What a job leaves behind when it has ended."""

from __future__ import annotations

import os
from collections.abc import Sequence

from duckrow.core.life.states import left_behind
from duckrow.engines.local.processes.processes import describe
from duckrow.kernel.process import Process


def say_what_is_left(log: str, remaining: Sequence[Process]) -> None:
    """Write it into the log, for people who expect a background process to continue."""
    if not log:
        return
    sentence = left_behind([describe(process) for process in remaining])
    try:
        file = os.open(log, os.O_WRONLY | os.O_APPEND)
    except OSError:
        return  # somebody has moved it away
    try:
        os.write(file, f"duckrow: the job has ended, but {sentence}.\n".encode("utf-8", "surrogateescape"))
    except OSError:
        pass  # the disk is full; the job's history says it too
    finally:
        os.close(file)
