"""What each cluster job of a batch asks for, in sbatch's words, and how runs are handed out to it.

Other batch systems understand the words that they have too, and refuse the others (docs/architecture.md).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from duckrow.core.errors import UsageError
from duckrow.core.units import parse_duration_s

DEFAULT_JOBS = 8
"""Cluster jobs at a time, if nobody says how many runs each should take."""


@dataclass(frozen=True)
class ClusterRequest:
    # For sbatch, in its own words.
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    time: float | None = None  # seconds
    nodes: int = 1  # of each cluster job, and thus of each run
    gres: str | None = None
    gpus_per_node: str | None = None
    cpus_per_task: int | None = None
    mem: str | None = None
    constraint: str | None = None
    exclude: str | None = None
    nodelist: str | None = None
    reservation: str | None = None
    comment: str | None = None
    job_name: str = "duckrow"
    sbatch: tuple[str, ...] = ()  # further options, passed on as they are
    modules: tuple[str, ...] = ()  # loaded first (module load)
    conda: str | None = None  # an environment to activate
    setup: tuple[str, ...] = ()  # shell lines before the pilot starts
    python: str | None = None  # for the pilot; None: the one that submits
    container: str | None = None  # an image that each run runs in, by apptainer
    # For the pilots.
    runs_per_job: int | None = None  # None: as many as it can
    parallel_runs: int | None = None  # None: one per GPU, without GPUs one per core
    fixed_chunks: bool = False  # job i runs only the ith chunk of runs_per_job runs
    max_jobs: int | None = None  # at a time
    signal_delay: float = 120.0  # seconds before the time limit at which it is warned
    max_interruptions: int = 10  # by time limits, preemption and dead nodes, before a run is given up
    stagger: float = 0.0  # place i waits i times this many seconds before its first run
    lease: float = 30.0  # how long a pilot that gives no sign of life counts as alive
    folder: str | None = None  # where batches are kept
    on: str = "slurm"  # which batch system it is for, of those in clusters/known.py

    def __post_init__(self) -> None:
        if self.fixed_chunks and self.runs_per_job is None:
            raise UsageError("fixed_chunks needs runs_per_job: it says how large a chunk is.")
        if self.nodes > 1 and (self.parallel_runs or 1) > 1:
            raise UsageError(
                f"Runs on {self.nodes} nodes each run one at a time in a SLURM job. Omit --parallel-runs; for several "
                "at a time: --max-jobs."
            )
        asked = next((word for word in _further(self.sbatch) if re.match(r"--nodes\b|-N", word)), None)
        if asked is not None:
            raise UsageError(
                f"--sbatch={asked} would give nodes to a SLURM job that its runs do not use. For runs that use "
                "several nodes each: --nodes 2."
            )

    def as_text(self) -> str:
        defaults = ClusterRequest()
        changed = {name: value for name, value in asdict(self).items() if value != getattr(defaults, name)}
        return json.dumps(changed, indent=1)

    @classmethod
    def from_text(cls, text: str) -> ClusterRequest:
        values: dict[str, Any] = json.loads(text)
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        return cls(**values)

    def options(self) -> list[str]:
        """For sbatch: what all jobs of a batch share, without what differs between submissions."""
        words = [f"--job-name={self.job_name}", f"--nodes={self.nodes}", f"--ntasks={self.nodes}", "--requeue"]
        words += ["--ntasks-per-node=1"] if self.nodes > 1 else []
        words.append(f"--signal=B:USR2@{math.ceil(self.notice_s)}")
        words += [f"--time={minutes_text(self.time)}"] if self.time is not None else []
        words += [f"--{name.replace('_', '-')}={value}" for name in PASSED_ON if (value := getattr(self, name))]
        return words + _further(self.sbatch)

    @property
    def dependencies(self) -> list[str]:
        """What the user told the cluster to wait for (--sbatch=--dependency=...)."""
        found = [re.fullmatch(r"(?:--)?dependency=(.+)|-d(.+)", word) for word in self.sbatch]
        return [match[1] or match[2] for match in found if match]

    @property
    def notice_s(self) -> float:
        """How long before the time limit it is warned; a quarter of a short limit, so that the job has time to work."""
        return max(self.signal_delay if self.time is None else min(self.signal_delay, self.time / 4), 1.0)

    @property
    def clusters(self) -> str:
        """Which of several clusters of a site (--sbatch=--clusters=X, -M X); empty: that of this login node."""
        found = [re.fullmatch(r"--clusters?=(.+)|-M\s*(.+)", word) for word in _further(self.sbatch)]
        return next((match[1] or match[2] for match in found if match), "")

    @property
    def gpus(self) -> int | None:
        """How many GPUs each cluster job gets; None: the request does not tell."""
        on_node = f"gpu:{self.gpus_per_node}" if self.gpus_per_node else ""
        if not (self.gres or on_node) and any(_ASKS_FOR_GPUS.match(word) for word in _further(self.sbatch)):
            return None
        return gpus_in(self.gres or on_node)

    def for_gpus(self, most: int) -> ClusterRequest:
        """With enough GPUs for a run if none were asked for; raises UsageError if too few were."""
        gpus = self.gpus
        if gpus is None or most <= gpus:
            return self
        if gpus:
            raise UsageError(
                f"A run needs {most} GPUs, but each SLURM job gets {gpus}. Ask for more: --gres gpu:{most}. "
                "Nothing was submitted."
            )
        return replace(self, gres=",".join([*([self.gres] if self.gres else []), f"gpu:{most}"]))

    @property
    def runs_at_a_time(self) -> int:
        """How many runs a job takes at a time, as far as the request tells."""
        return 1 if self.nodes > 1 else self.parallel_runs or self.gpus or 1

    def jobs_for(self, runs: int, living: int = 0) -> int:
        """How many cluster jobs to add for `runs` runs that nobody has taken, besides the `living` ones.

        With `runs_per_job`: enough for all runs, as `max_jobs` only limits how many run at a time. Otherwise each
        takes as many runs as it can, so `max_jobs` of them are enough.
        """
        wanted = math.ceil(runs / (self.runs_per_job or self.runs_at_a_time))
        if self.runs_per_job is not None:
            return wanted
        return max(min(wanted, (self.max_jobs or DEFAULT_JOBS) - living), 0)


PASSED_ON = (
    "partition",
    "account",
    "qos",
    "gres",
    "gpus_per_node",
    "cpus_per_task",
    "mem",
    "constraint",
    "exclude",
    "nodelist",
    "reservation",
    "comment",
)


_ASKS_FOR_GPUS = re.compile(r"--(gres|gpus|gpus-per-\w+|tres-per-\w+|exclusive)\b|-G")


def _further(words: Sequence[str]) -> list[str]:
    """Options of sbatch as people write them: `--mem=8G`, `mem=8G`, `-M`, `local`."""
    options: list[str] = []
    for word in words:
        if options and not word.startswith("-") and re.fullmatch("-[A-Za-z]", options[-1]):
            options[-1] += f" {word}"
        else:
            options.append(word if word.startswith("-") else f"--{word}")
    return options


def gpus_in(gres: str) -> int:
    """`gpu:4`, `gpu:a100:4`: how many GPUs."""
    parts = [re.sub(r"\(.*", "", part).split(":") for part in gres.split(",")]
    return sum(int(part[-1]) if part[-1].isdigit() else 1 for part in parts if part[0] == "gpu")


def minutes_text(seconds: float) -> str:
    """A time as sbatch reads it: D-HH:MM:SS."""
    whole = max(math.ceil(seconds), 1)
    days, rest = divmod(whole, 86400)
    return f"{days}-{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


# -- reading what people write --------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value) or "\n" in str(value):
        raise UsageError("must be a string on one line")
    return str(value)


def _number(value: Any) -> int:
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,9}", str(value)) or int(value) < 1:
        raise UsageError("must be a whole number of 1 or more")
    return int(value)


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError('must be a time like "2h"')
    return parse_duration_s(str(value))


def _with_unit(value: Any) -> Any:
    """A plain number means minutes to sbatch and seconds to duckrow: nobody should have to guess."""
    if not isinstance(value, str) or value.strip().isdigit():
        raise UsageError(f'must say its unit: "{value}m" for minutes, "2h", "1-12:00:00"')
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError("must be true or false")
    return value


def _lines(value: Any) -> tuple[str, ...]:
    lines = [value] if isinstance(value, str) else value
    if not isinstance(lines, list | tuple) or not all(isinstance(line, str) and "\n" not in line for line in lines):
        raise UsageError("must be a list of strings")
    return tuple(lines)


_READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys([field.name for field in fields(ClusterRequest) if field.name != "on"], _text),
    **dict.fromkeys(
        ("nodes", "cpus_per_task", "runs_per_job", "parallel_runs", "max_jobs", "max_interruptions"), _number
    ),
    **dict.fromkeys(("signal_delay", "stagger", "lease"), _seconds),
    "time": lambda value: _seconds(_with_unit(value)),
    **dict.fromkeys(("sbatch", "setup", "modules"), _lines),
    "fixed_chunks": _flag,
}
KEYS = tuple(_READERS)


def read_value(key: str, value: Any) -> Any:
    """One value of a request; raises UsageError with the end of a sentence."""
    if key not in _READERS:
        raise UsageError(f"is not a setting of a SLURM request. Choose from {', '.join(KEYS)}")
    return _READERS[key](value)


def request_from(values: Mapping[str, Any]) -> ClusterRequest:
    """From what was given; None counts as not given."""
    read: dict[str, Any] = {}
    for key, value in values.items():
        if value is None:
            continue
        try:
            read[key] = read_value(key, value)
        except UsageError as error:
            reason = str(error)
            raise UsageError(f"{key}: {reason}" if reason[:1] == "'" else f"{key} {reason}.") from None
    return ClusterRequest(**read)
