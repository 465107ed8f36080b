"""SLURM's own commands: what they are told, and what is understood of their answers."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import IO, NamedTuple

from duckrow.core.errors import DuckrowError, UsageError
from duckrow.core.slurm.request import SlurmRequest

_ANSWER_S = 60.0
_FORMAT = "--format=%F|%K|%T|%e|%r"  # array, index, state, end, reason
SHORT_S = 10.0  # for a question to which the answer is quick, if there is one
# The controller is slow, restarts or cannot be reached: the same may work in a while.
_PASSING = re.compile(
    r"Socket timed out|Unable to contact|Connection (refused|timed out|reset)|Zero Bytes"
    r"|Communication connection failure|temporarily|Transport endpoint|backup controller|not responding",
    re.IGNORECASE,
)
# There are too many jobs already: fewer may be taken, or the same later.
_TOO_MANY = re.compile(
    r"MaxSubmit|submit limit|MaxJobCount|Maximum number of jobs|job array specification|QOSMax|AssocMax|AssocGrp|QOSGrp"
)


class NoAnswer(DuckrowError):
    """SLURM did not answer, or not now."""


class SlurmRefused(UsageError):
    """SLURM does not want this."""

    request: SlurmRequest | None = None  # what it was asked for


class TooMany(SlurmRefused):
    """SLURM refuses this number of jobs."""


class SlurmLimits(NamedTuple):
    array_size: int = 1001


class JobState(str):
    """The state of a SLURM job, with what else squeue says of it."""

    reason: str = ""  # why it waits
    ended_at: float | None = None  # by the wall clock; of one that runs, when it will

    @classmethod
    def told(cls, state: str, reason: str, ended_at: float | None) -> JobState:
        told = cls(state)
        told.reason, told.ended_at = reason, ended_at
        return told


class StatesQuestion:
    """Which of our jobs are in which state, asked without waiting for the answer: a controller may take its time."""

    def __init__(self, clusters: str = "") -> None:
        """`clusters`: another cluster of this site than the one of this node."""
        user = pwd.getpwuid(os.getuid()).pw_name
        words = [_program("squeue"), "--noheader", "--array", "--states=all", f"--user={user}", _FORMAT]
        words += _of(clusters)
        self._asked_at = time.monotonic()
        self._told = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed by `withdraw`
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self._told, stderr=subprocess.STDOUT)
        self.withdraw = weakref.finalize(self, _end_question, self._process, self._told)
        """Also when nobody wants to know it any more."""

    def answer(self, wait_s: float) -> dict[str, JobState] | None:
        """Job (`12_3`) -> state, of all our jobs that SLURM has in mind: those that ended a few minutes ago too.

        None: it has not answered yet. An answer is given once.
        """
        try:
            code = self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            if time.monotonic() - self._asked_at < _ANSWER_S:
                return None
            self.withdraw()
            raise NoAnswer(f"squeue has not answered within {_ANSWER_S:.0f} s.") from None
        self._told.seek(0)
        told = self._told.read()
        self.withdraw()
        if code != 0:
            raise NoAnswer(f"SLURM did not answer: {_sentence(told)}.")
        return _states_in(told)


def _end_question(process: subprocess.Popen[bytes], told: IO[str]) -> None:
    process.kill()
    process.wait()
    told.close()


def states_of_jobs(patience_s: float = _ANSWER_S, clusters: str = "") -> dict[str, JobState]:
    """The same, for those who wait for the answer."""
    question = StatesQuestion(clusters)
    states = question.answer(patience_s)
    if states is None:
        question.withdraw()
        raise NoAnswer(f"squeue has not answered within {patience_s:.0f} s.")
    return states


def _states_in(told: str) -> dict[str, JobState]:
    states: dict[str, JobState] = {}
    for line in told.splitlines():
        base, index, state, end, reason = [*line.strip().split("|", 4), "", "", "", ""][:5]
        told_of = JobState.told(state, "" if reason == "None" else reason, _wall_time(end))
        states[f"{base}_{index}" if index.isdigit() else base] = told_of
    return states


def _wall_time(text: str) -> float | None:
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return None  # N/A


def limits() -> SlurmLimits:
    """As the cluster is configured; where it does not say, as most are. NoAnswer: nor would it take any job now."""
    try:
        told = _ask(["scontrol", "show", "config"], answer_s=SHORT_S)
    except UsageError:
        return SlurmLimits()
    size = re.search(r"^MaxArraySize\s*=\s*(\d+)", told, re.MULTILINE)
    return SlurmLimits(int(size[1])) if size else SlurmLimits()


def sbatch(
    script: str, array: str, *arguments: str, environment: Mapping[str, str], options: Sequence[str] = ()
) -> int:
    """The id of the array. `arguments`: of the script."""
    words = ["sbatch", "--parsable", f"--array={array}", *options, script, *arguments]
    said = _ask(words, _outside_of_jobs(environment))
    found = re.search(r"^(\d+)", said, re.MULTILINE)
    if found is None:
        raise NoAnswer(f"sbatch gave no job id: {said.strip() or 'nothing'}.")
    return int(found[1])


def test_only(script: str, environment: Mapping[str, str]) -> None:
    """Refused, if SLURM would not take such a job; nothing is submitted."""
    _ask(["sbatch", "--test-only", script], _outside_of_jobs(environment))


def scancel(jobs: Sequence[str], *options: str, clusters: str = "") -> None:
    if jobs:
        _ask(["scancel", *_of(clusters), *options, *jobs])


def _of(clusters: str) -> list[str]:
    return [f"--clusters={clusters}"] if clusters else []


def time_left_s(job: str) -> float | None:
    """Of a job that runs; None: it has no limit, or SLURM does not say.

    The signal for which we ask may go to all processes of the job, and so to the very first that we ask by.
    """
    for _ in range(3):
        try:
            said = _ask(["squeue", "--noheader", f"--jobs={job}", "--format=%e"], answer_s=SHORT_S).strip()
            end = _wall_time(said)
            return None if end is None else max(end - time.time(), 0.0)
        except DuckrowError:
            continue
    return None


def requeue(job: str) -> None:
    """Have SLURM start a job of ours again; it ends it first."""
    _ask(["scontrol", "requeue", job])


def _ask(words: Sequence[str], environment: Mapping[str, str] | None = None, answer_s: float = _ANSWER_S) -> str:
    try:
        done = subprocess.run(
            [_program(words[0]), *words[1:]],
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
    said = _sentence(done.stderr or done.stdout)
    if _PASSING.search(said):
        raise NoAnswer(f"SLURM did not answer: {said}")
    kind = TooMany if _TOO_MANY.search(said) else SlurmRefused
    raise kind(f"{words[0]} said: {said or f'exit code {done.returncode}'}")


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise UsageError(f"There is no {name} here: this is not a node of a SLURM cluster, or the PATH lacks it.")
    return found


def _sentence(text: str) -> str:
    lines = [re.sub(r"^\w+: (error: )?", "", line.strip()) for line in text.splitlines() if line.strip()]
    return "; ".join(dict.fromkeys(lines))


def _outside_of_jobs(environment: Mapping[str, str]) -> dict[str, str]:
    """A job that is submitted from within another one is not part of it; but it finds SLURM as we do here."""
    outside = {name: value for name, value in environment.items() if not name.startswith("SLURM_")}
    return {**outside, "SLURM_CONF": os.environ["SLURM_CONF"]} if "SLURM_CONF" in os.environ else outside
