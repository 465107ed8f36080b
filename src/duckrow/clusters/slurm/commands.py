"""Calls SLURM's own commands, and reads their answers."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence

from duckrow.clusters.port import ANSWER_S, SHORT_S, ClusterLimits, ClusterRefused, NoAnswer, TooMany
from duckrow.core.errors import DuckrowError, UsageError

# The controller is slow, restarting or not reachable: the same call may work later.
_PASSING = re.compile(
    r"Socket timed out|Unable to contact|Connection (refused|timed out|reset)|Zero Bytes"
    r"|Communication connection failure|temporarily|Transport endpoint|backup controller|not responding",
    re.IGNORECASE,
)
# There are already too many jobs: SLURM may accept fewer, or the same number later.
_TOO_MANY = re.compile(
    r"MaxSubmit|submit limit|MaxJobCount|Maximum number of jobs|job array specification|QOSMax|AssocMax|AssocGrp|QOSGrp"
)
_WALL_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)")


def wall_time(text: str) -> float | None:
    told = _WALL_TIME.fullmatch(text)  # strptime would be slower: every pilot asks as it starts
    if told is None:
        return None  # N/A
    year, month, day, hour, minute, second = map(int, told.groups())
    return time.mktime((year, month, day, hour, minute, second, 0, 0, -1))


def limits() -> ClusterLimits:
    """From the cluster's configuration, else the usual values. NoAnswer: it would not accept jobs now either."""
    try:
        told = _ask(["scontrol", "show", "config"], answer_s=SHORT_S)
    except UsageError:
        return ClusterLimits()
    size = re.search(r"^MaxArraySize\s*=\s*(\d+)", told, re.MULTILINE)
    return ClusterLimits(int(size[1])) if size else ClusterLimits()


def sbatch(
    script: str, array: str, *arguments: str, environment: Mapping[str, str], options: Sequence[str] = ()
) -> int:
    """Submit an array, and return its id. `arguments`: for the script."""
    words = ["sbatch", "--parsable", f"--array={array}", *options, script, *arguments]
    said = _ask(words, _outside_of_jobs(environment))
    found = re.search(r"^(\d+)", said, re.MULTILINE)
    if found is None:
        raise NoAnswer(f"sbatch gave no job id: {said.strip() or 'nothing'}.")
    return int(found[1])


def test_only(script: str, environment: Mapping[str, str]) -> None:
    """Raise ClusterRefused if SLURM would not accept such a job; nothing is submitted."""
    _ask(["sbatch", "--test-only", script], _outside_of_jobs(environment))


def scancel(jobs: Sequence[str], *options: str, clusters: str = "") -> None:
    if jobs:
        _ask(["scancel", *of_clusters(clusters), *options, *jobs])


def of_clusters(clusters: str) -> list[str]:
    return [f"--clusters={clusters}"] if clusters else []


def time_left_s(job: str) -> float | None:
    """The time left for a running job; None: it has no limit, or SLURM does not say.

    Tried again, because the signal that makes us ask may go to all processes of the job, also to our first squeue.
    """
    for _ in range(3):
        try:
            said = _ask(["squeue", "--noheader", f"--jobs={job}", "--format=%e"], answer_s=SHORT_S).strip()
            end = wall_time(said)
            return None if end is None else max(end - time.time(), 0.0)
        except DuckrowError:
            continue
    return None


def requeue(job: str) -> None:
    """Have SLURM start a job of ours again. SLURM ends it first."""
    _ask(["scontrol", "requeue", job])


def _ask(words: Sequence[str], environment: Mapping[str, str] | None = None, answer_s: float = ANSWER_S) -> str:
    try:
        done = subprocess.run(
            [program(words[0]), *words[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=answer_s,
            env=None if environment is None else dict(environment),
        )
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"{words[0]} has not answered within {answer_s:.0f} s.") from None
    if done.returncode == 0:
        return done.stdout
    said = sentence(done.stderr or done.stdout)
    if _PASSING.search(said):
        raise NoAnswer(f"SLURM did not answer: {said}")
    kind = TooMany if _TOO_MANY.search(said) else ClusterRefused
    raise kind(f"{words[0]} said: {said or f'exit code {done.returncode}'}")


def program(name: str) -> str:
    import shutil

    found = shutil.which(name)
    if found is None:
        raise UsageError(f"There is no {name} here: this is not a node of a SLURM cluster, or the PATH lacks it.")
    return found


def sentence(text: str) -> str:
    lines = [re.sub(r"^\w+: (error: )?", "", line.strip()) for line in text.splitlines() if line.strip()]
    return "; ".join(dict.fromkeys(lines))


def _outside_of_jobs(environment: Mapping[str, str]) -> dict[str, str]:
    """A job submitted from inside another job is not part of it. But it must find SLURM the way we do."""
    outside = {name: value for name, value in environment.items() if not name.startswith("SLURM_")}
    return {**outside, "SLURM_CONF": os.environ["SLURM_CONF"]} if "SLURM_CONF" in os.environ else outside
