"""Errors that users see: each message says what happened and what to do."""

from __future__ import annotations

# The exit codes of the commands; docs/cli.md lists them.
EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_TIMED_OUT = 124
EXIT_INTERRUPTED = 130

# A job that ends with this code has saved its work and asks to be put back into the queue (EX_TEMPFAIL).
EXIT_REQUEUE = 75


class DuckrowError(Exception):
    """An error of the user or the machine, shown as a message and never with a traceback."""

    exit_code = EXIT_FAILED


class UsageError(DuckrowError):
    """The request itself is wrong: a bad flag, an unknown id, more GPUs than exist."""

    exit_code = EXIT_USAGE


class BadValue(UsageError, ValueError):
    """The same, for code that catches what Python's own interfaces raise."""


class WrongCall(UsageError, TypeError):
    """A function cannot be called as asked; Python itself would raise a TypeError."""


class NotFoundError(UsageError):
    """What was named does not exist: a job, an attempt, a sweep."""


class JobGone(NotFoundError):
    """A job was there a moment ago, but somebody has removed it."""

    def __init__(self, job_id: int) -> None:
        super().__init__(f"There is no job {job_id} any more: it was removed.")


class ConflictError(UsageError):
    """The request is valid, but there is nothing to do: not in the current state of the job, or of the queue."""

    exit_code = EXIT_FAILED


class StateError(DuckrowError):
    """The state folder or its database cannot be used."""


class IllegalTransition(DuckrowError):
    """A job was about to make a move that the table of states does not have: a bug in duckrow itself."""

    def __init__(self, job_id: int, sentence: str) -> None:
        super().__init__(sentence)
        self.job_id = job_id
