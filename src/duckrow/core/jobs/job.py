"""A job: what a person asks for, and what its start needs while it is queued."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from duckrow.core.devices.needs import NO_NEEDS, Needs, check_needs
from duckrow.core.errors import FieldError, UsageError
from duckrow.core.jobs.title import full_name, job_words, title_of
from duckrow.core.late_pattern import late_pattern
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.quick_dataclass import dataclass

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

DEFAULT_PROJECT = "default"
DEFAULT_PRIORITY = 30
SKIP, WAIT = "skip", "wait"  # what becomes of a job if one before it ends in the wrong way
DEFAULT_GRACE_S = 10.0
DEFAULT_BACKOFF_S = 10.0
DEFAULT_NOTICE_SIGNAL = 12  # SIGUSR2: SIGUSR1 belongs to NCCL
DEFAULT_NOTICE_S = 30.0
DEFAULT_NOTICE = f"USR2@{DEFAULT_NOTICE_S:g}s"
DEFAULT_SHELL = "/bin/sh"

# Made once: a hundred thousand jobs may come at a time.
_INTERPRETER = late_pattern(
    r"(exec|python[\d.]*|bash|sh|zsh|Rscript|julia|perl|node|uv|run|torchrun|accelerate|launch)"
)
_NAME = late_pattern(r"[A-Za-z0-9_][A-Za-z0-9._+=,@-]{0,99}")
_NOT_OF_A_NAME = late_pattern(r"[^A-Za-z0-9._-]+")
_ID = late_pattern(r"[\d,-]+")
_SETTING = late_pattern(r"[A-Za-z_]\w*=")


class PointOfSweep(NamedTuple):
    """What makes a job a run of a sweep."""

    sweep_id: int
    key: str  # equal for equal points
    parameters: str  # JSON


@dataclass
class JobSpec:
    """What a person asks for."""

    command: str
    cwd: str
    name: str = ""  # empty: taken from the command
    project: str = DEFAULT_PROJECT
    gpus: int | None = None  # None: one device, a GPU where there are GPUs; 0: a CPU slot
    shell: str = DEFAULT_SHELL
    retries: int = 0
    requeue_lost: bool = False  # if an attempt is lost, for example by a reboot; uses up no retry
    backoff_s: float = DEFAULT_BACKOFF_S
    timeout_s: float | None = None
    notice_signal: int | None = DEFAULT_NOTICE_SIGNAL  # sent notice_s before the time limit; None: no notice
    notice_s: float = DEFAULT_NOTICE_S
    grace_s: float = DEFAULT_GRACE_S  # between SIGTERM and SIGKILL
    outfile: str | None = None
    max_log_bytes: int | None = None
    priority: int = DEFAULT_PRIORITY
    not_before: float | None = None  # --begin 18:00, by the wall clock
    delay_s: float | None = None  # --begin +2h, from when it is submitted
    held: bool = False
    if_broken: str = SKIP  # or WAIT, for a rerun of the one before it
    array_index: int | None = None
    folder: str | None = None  # of the run; None: below the state folder, by its id
    preload: str | None = None  # modules of a warm start, with commas; None: a cold start
    needs: Needs = NO_NEEDS
    variables: Mapping[str, str] | None = None  # on top of those that its neighbours share
    point: PointOfSweep | None = None
    slurm: Mapping[str, Any] | None = None  # its own request to a cluster; None: that of its batch

    def with_command(self, command: str, name: str = "") -> JobSpec:
        """The same request for another command, made quickly: what they share was checked. No name: the command's."""
        _check_command(command)
        made = object.__new__(JobSpec)
        made.__dict__ = self.__dict__.copy()
        made.command, made.name = command, name or name_of_command(command)
        check_name("name", made.name)
        return made

    def __post_init__(self) -> None:
        _check_command(self.command)
        if self.gpus is not None and self.gpus < 0:
            raise UsageError(f"A job cannot have {self.gpus} GPUs. Use 0 for a job that needs none.")
        for what, value in (("retries", self.retries), ("the time limit", self.timeout_s)):
            if value is not None and value < 0:
                raise UsageError(f"{what.capitalize()} cannot be negative: {value}.")
        if self.timeout_s == 0:
            raise UsageError("A time limit of 0 would stop the job at once. For no limit, omit it or write none.")
        if self.needs is not NO_NEEDS:
            check_needs(self.needs, self.gpus)
            if self.needs.mem_limit and self.preload is not None:
                raise FieldError("{mem_limit} does not go with {preload}: a preloaded job shares memory with others.")
        self.name = self.name or name_of_command(self.command)
        check_name("project", self.project)
        check_name("name", self.name)


def _check_command(command: str) -> None:
    if not command or command.isspace():
        raise UsageError("The command is empty. Say what to run: duckrow submit -- python train.py")
    if "\0" in command:
        raise UsageError(f"The command {shorten(command)!r} has a NUL byte in it, which no shell can run. Remove it.")


class QueuedJob(NamedTuple):
    """A queued job with everything that its start needs; one row of the head of the queue."""

    id: int
    project: str
    name: str
    command: str
    cwd: str
    environment_id: int
    shell: str
    gpus: int | None
    outfile: str | None
    max_log_bytes: int | None
    timeout_s: float | None
    notice_signal: int | None
    notice_s: float
    grace_s: float
    retries: int
    retries_used: int
    backoff_s: float
    attempts: int  # how many there have been
    array_id: int | None = None
    array_index: int | None = None
    folder: str | None = None
    preload: str | None = None
    needs: str | None = None  # as the store keeps them
    priority: int = DEFAULT_PRIORITY
    created_at: float = 0.0
    requeue_lost: int = 0  # whether
    losses: int = 0  # attempts in a row that were lost

    @property
    def words(self) -> str:
        """Its name for people."""
        return job_words(self.id, self.array_index)

    @property
    def full_name(self) -> str:
        return full_name(self.name, self.array_index)

    @property
    def title(self) -> str:
        return title_of(self.command)

    @property
    def scopes(self) -> tuple[str, ...]:
        """The groups of jobs that a limit may count."""
        of_project = f"project:{self.project}"
        return (of_project,) if self.array_id is None else (of_project, f"array:{self.array_id}")


def as_queued(spec: JobSpec, job_id: int) -> QueuedJob:
    """The queued job that this would become, to find out what would happen to it."""
    asked = {name: getattr(spec, name) for name in QueuedJob._fields if hasattr(spec, name)}
    asked |= {"needs": spec.needs.as_text(), "requeue_lost": int(spec.requeue_lost)}
    return QueuedJob(id=job_id, environment_id=0, retries_used=0, attempts=0, **asked)


def name_of_command(command: str) -> str:
    """A short name: the script that is run, else the program. `python train.py --lr 1` is `train`."""
    if "#" in command:
        command = " ".join(line for line in command.split("\n") if not line.lstrip().startswith("#"))
    for word in command.split(maxsplit=8)[:8]:
        if name := _name_in(word):
            return name
    return "job"


@lru_cache(maxsize=1000)  # a list of commands has few programs
def _name_in(word: str) -> str:
    """The name that a word gives a command; empty if the word says nothing."""
    base = word.rsplit("/", 1)[-1]
    if _is_setting(word) or _INTERPRETER.fullmatch(base):
        return ""
    stem = base.rsplit(".", 1)[0] if "." in base[1:] else base
    cleaned = _NOT_OF_A_NAME.sub("-", stem).strip("-.")
    reads_like_an_id = cleaned == "last" or _ID.fullmatch(cleaned)
    return f"job-{cleaned[:40]}" if reads_like_an_id else cleaned[:40]


def _is_setting(word: str) -> bool:
    """Flags and `NAME=value` in front of a command say nothing about what it is."""
    return word.startswith("-") or _SETTING.match(word) is not None


def parse_modules(text: str) -> str:
    """`torch, numpy`: the names of modules, in order and each once, as jobs keep them."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", name):
            raise UsageError(f"'{name}' cannot be a module. Write the names that Python imports: torch,numpy.")
    return ",".join(names)


@lru_cache(maxsize=1000)
def check_name(what: str, text: str) -> None:
    """Names become folders and are typed like ids: no slash, no leading dot or dash, not just a number."""
    if not _NAME.fullmatch(text) or text == "last":
        raise UsageError(
            f"'{text}' cannot be a {what}. Use letters, digits and ._+=,@- (at most 100, not the word 'last')."
        )
    if what == "name" and _ID.fullmatch(text):
        raise UsageError(f"'{text}' cannot be a name: it reads like an id. Put a letter in front.")


def shorten(text: str, width: int = 60) -> str:
    """The text on one line, cut in the middle if it is too long."""
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    head = (width - 1) * 2 // 3
    return line[:head] + "…" + line[len(line) - (width - 1 - head) :]
