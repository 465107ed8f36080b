"""Errors that users see: each message says what happened and what to do."""

from __future__ import annotations

from collections.abc import Callable

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


_FIELDS = ("gpus", "gpu_mem", "total_gpu_mem", "cpus", "mem", "mem_limit", "preload")


def as_option(field: str) -> str:
    """How a person writes a field of a job on the command line."""
    return f"--{field.replace('_', '-')}"


def as_key(field: str) -> str:
    """In a line of JSON."""
    return f'"{field}"'


def as_argument(field: str) -> str:
    """In Python."""
    return f"{field}="


def as_template(field: str) -> str:
    """In the template of a FieldError, until it is known who reads it."""
    return f"{{{field}}}"


class FieldError(UsageError):
    """Fields of a job contradict each other, or ask for too much. Each caller writes the fields in its own way.

    `template`: the sentence, with `{gpu_mem}` for a field. `number`: which of several jobs, from 0.
    """

    def __init__(self, template: str, number: int | None = None) -> None:
        super().__init__(_written(template, as_option))
        self.template = template
        self.number = number

    def written(self, how: Callable[[str], str]) -> UsageError:
        return UsageError(_written(self.template, how))


def _written(template: str, how: Callable[[str], str]) -> str:
    for field in _FIELDS:
        template = template.replace(as_template(field), how(field))
    return template


class naming:
    """Within, errors name the fields of jobs in this way."""

    def __init__(self, how: Callable[[str], str]) -> None:
        self._how = how

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, FieldError):
            raise error.written(self._how) from None


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
