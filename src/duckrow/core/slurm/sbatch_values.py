"""What the values of sbatch's options mean, in duckrow's words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from duckrow.core.clusters.request import gpus_in
from duckrow.core.errors import UsageError
from duckrow.core.units import NO_LIMIT

_UNLIMITED = ("unlimited", "infinite", "-1")
_CONDITIONS = {"afterok": "ok", "afterany": "any", "afternotok": "failed"}
_NOT_HERE = {
    "after": ("once a job has started", "For its end: afterany:12."),
    "aftercorr": ("each job of an array after the same one of another", "For all of them: afterok:12-20."),
    "afterburstbuffer": ("after what a cluster copies", "For the job's end: afterany:12."),
    "singleton": ("after all jobs of the same name", "Name the jobs: afterany:12:13."),
}


def time_limit(text: str) -> str:
    """SLURM's `90` (minutes), `90:30`, `1:30:00`, `1-12`, `1-12:30`, `1-12:30:00`, as seconds; 0 means no limit."""
    stripped = text.strip().lower()
    if stripped in _UNLIMITED:
        return NO_LIMIT
    match = re.fullmatch(r"(?:(\d{1,5})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", stripped)
    if not match:
        raise UsageError(f"--time={text}: sbatch has no such time. Write 90 (minutes), 1:30:00 or 1-12:00:00.")
    days, *parts = (None if part is None else int(part) for part in match.groups())
    given = [part for part in parts if part is not None]
    units = (3600, 60, 1) if days is not None or len(given) == 3 else (60, 1)
    seconds = (days or 0) * 86400 + sum(part * unit for part, unit in zip(given, units, strict=False))
    return f"{seconds}s" if seconds else NO_LIMIT


def time_limit_here(text: str) -> str:
    """The same time for `--timeout`, which reads a number as seconds and `1:30` as hours and minutes."""
    if text.isdecimal():
        return f"{text}m"
    return time_limit(text) if re.fullmatch(r"\d+[:-]\d+", text) else text


def warning(text: str) -> str:
    """`B:USR1@300`: duckrow decides which processes get the signal. Without a time, SLURM's 60 seconds."""
    signal, at, ahead = re.sub(r"^[RB]+:", "", text.strip(), flags=re.IGNORECASE).partition("@")
    return f"{signal}@{ahead if at else 60}s"


def gpus_asked(options: Mapping[str, str]) -> int | None:
    """How many GPUs a script asks for, on its single node; None if it does not say."""
    tasks = tasks_of(options)
    asked = []
    for name, times in (("gpus", 1), ("gpus-per-node", 1), ("gpus-per-task", tasks)):
        if name in options:
            asked.append(times * gpus_in(",".join(f"gpu:{part}" for part in options[name].split(","))))
    gres = options.get("gres", "").replace("gres/", "").replace("gres:", "")
    if re.search(r"\bgpu\b", gres):
        asked.append(gpus_in(gres.replace("=", ":")))
    return max(asked, default=None)


def tasks_of(options: Mapping[str, str]) -> int:
    text = options.get("ntasks", options.get("ntasks-per-node", "1"))
    return int(text) if text.isdecimal() else 1


def after(text: str) -> str:
    """`afterok:12:13,afterany:14` in the words of `--after`; an id without a condition means afterany, as in sbatch."""
    if "?" in text:
        raise UsageError(
            f"--dependency={text}: duckrow does not support ? (one of several is enough). Name one of them."
        )
    return ",".join(_after_one(part.strip(), text) for part in text.split(","))


def _after_one(part: str, text: str) -> str:
    kind, _, jobs = part.partition(":")
    if kind.lower() in _NOT_HERE:
        what, instead = _NOT_HERE[kind.lower()]
        raise UsageError(f"--dependency={text}: duckrow does not support {kind} ({what}). {instead}")
    if kind.lower() in _CONDITIONS:
        return f"{_CONDITIONS[kind.lower()]}:{jobs}"
    return f"any:{part}" if kind == part else part


def exported(text: str, here: Mapping[str, str]) -> tuple[bool, dict[str, str]]:
    """Whether to pass on all variables that are set here; and the named ones with their values.

    A value named beside ALL wins over the one set here. The manual says the opposite, but sbatch does it this way.
    """
    parts = [part for part in re.findall(r"(?:'[^']*'|\"[^\"]*\"|[^,])+", text) if part.strip()]
    named: dict[str, str] = {}
    for part in parts:
        name, equals, value = part.strip().partition("=")
        if equals:
            named[name] = value.strip("'\"")
        elif name.upper() not in ("ALL", "NONE", "NIL") and name in here:
            named[name] = here[name]
    return any(part.strip().upper() == "ALL" for part in parts), named
