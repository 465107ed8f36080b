"""How long a job will run, judged by finished runs: the one answer for ETAs, backfill, the order of a batch, pilots."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Sequence
from enum import Enum
from functools import cached_property
from typing import Any, Protocol

from duckrow.core.devices.needs import needs_from
from duckrow.core.jobs.job import name_of_command
from duckrow.core.jobs.title import title_of
from duckrow.core.memory.parameters import is_bare, text_of
from duckrow.core.memory.recipe import JobRecipe, recipe_of
from duckrow.core.memory.similar_runs import number_of
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.schedule.time_effects import TimedRun, TimeModel, learn, middle

_OF_A_KIND = 20  # the latest runs of one command, name or sweep: older ones may have been other work
_OF_A_SCRIPT = 64
_MOST_SCRIPTS = 1024
_MOST_KINDS = 16_384  # to remember; the first are forgotten
_NEARLY_ALL = 0.9
_NAME = re.compile(r"[\w.~@/-]+")
_QUOTED = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
_BRACKETS = r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}"
_ARGUMENT = re.compile(rf"""(?:[^,'"()\[\]{{}} ]|{_QUOTED}|{_BRACKETS})+""")
_LEARN_AGAIN = 1.1  # once there are this many times as many runs


class TimedJob(Protocol):
    """What tells how long a job will run."""

    @property
    def project(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def command(self) -> str: ...
    @property
    def cwd(self) -> str: ...
    @property
    def needs(self) -> str | None: ...


class TimeBasis(Enum):
    """What an expected time is based on, the most reliable first."""

    SAME = "the same command before"
    SIMILAR = "runs with similar parameters"
    RECIPE = "other runs of the script"
    NAME = "jobs of the same name"
    SWEEP = "other runs of the sweep"


class ExpectedTime(NamedTuple):
    seconds: float
    at_least_s: float  # nine in ten take this long, as far as we know
    at_most_s: float  # nine in ten take no longer
    basis: TimeBasis
    runs: int  # how many have told


class RunTimes:
    """What finished runs tell about the others. Only runs that succeeded count."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, ...], deque[float]] = {}
        self._scripts: dict[str, deque[tuple[str, str, str | None, float]]] = {}
        self._recipes: dict[tuple[str, str, str | None], JobRecipe] = {}
        self._models: dict[str, tuple[int, dict[str, _TimesOfRecipe]]] = {}  # by script: of how many runs, by recipe
        self._noted: dict[str, int] = {}
        self.version = 0  # grows whenever an answer may have changed

    def __bool__(self) -> bool:
        return self.version > 0

    def note(self, job: TimedJob, seconds: float, sweep: str | None = None) -> None:
        """A run has succeeded after this time. The latest must come last."""
        for kind in _kinds(job, sweep):
            if kind not in self._kinds:
                _forget_first(self._kinds, _MOST_KINDS)
                self._kinds[kind] = deque(maxlen=_OF_A_KIND)
            self._kinds[kind].append(seconds)
        script = _script_of(job)
        if script not in self._scripts:
            _forget_first(self._scripts, _MOST_SCRIPTS)
            self._scripts[script] = deque(maxlen=_OF_A_SCRIPT)
            self._noted[script] = 0
        self._scripts[script].append((job.cwd, job.command, job.needs, seconds))
        self._noted[script] += 1
        self.version += 1

    def expected(self, job: TimedJob, sweep: str | None = None) -> ExpectedTime | None:
        """None: no run is similar."""
        same, *others = _kinds(job, sweep)
        told = _told(self._kinds.get(same, ()), TimeBasis.SAME)
        if told is None and (times := self._of_recipe(job)) is not None:
            parameters = self._recipe(job.cwd, job.command, job.needs).parameters
            if times.leave_open(parameters):
                return None  # and its name tells no more
            told = times.expected(parameters)
        for kind, basis in zip(others, (TimeBasis.NAME, TimeBasis.SWEEP), strict=False):
            told = told or _told(self._kinds.get(kind, ()), basis)
        return told

    def _of_recipe(self, job: TimedJob) -> _TimesOfRecipe | None:
        script = _script_of(job)
        if script not in self._scripts:
            return None
        learned, models = self._models.get(script, (0, {}))
        if not learned or self._noted[script] > learned * _LEARN_AGAIN:
            models = self._models_of(script)
            self._models[script] = (self._noted[script], models)
        return models.get(self._recipe(job.cwd, job.command, job.needs).recipe)

    def _models_of(self, script: str) -> dict[str, _TimesOfRecipe]:
        runs: dict[str, list[tuple[str, float]]] = {}
        for cwd, command, needs, seconds in self._scripts[script]:
            recipe = self._recipe(cwd, command, needs)
            runs.setdefault(recipe.recipe, []).append((recipe.parameters, seconds))
        return {recipe: _TimesOfRecipe(of_recipe) for recipe, of_recipe in runs.items()}

    def _recipe(self, cwd: str, command: str, needs: str | None) -> JobRecipe:
        key = (cwd, command, needs)
        if key not in self._recipes:
            _forget_first(self._recipes, _MOST_KINDS)
            self._recipes[key] = _time_recipe(cwd, command, needs)
        return self._recipes[key]


class _TimesOfRecipe:
    def __init__(self, runs: Sequence[tuple[str, float]]) -> None:
        self._same: dict[str, list[float]] = {}
        for parameters, seconds in runs:
            self._same.setdefault(parameters, []).append(seconds)
        self._runs = runs

    @cached_property
    def _seen(self) -> frozenset[tuple[str, str]]:
        """What runs were called with."""
        return frozenset(pair for run in self._same for pair in _read(run).items())

    @cached_property
    def _model(self) -> TimeModel:
        return learn([TimedRun(_read(text), seconds) for text, seconds in self._runs])

    def leave_open(self, parameters: str) -> bool:
        """Whether a number without a name is new, as in `sleep 60` after `sleep 4`, and nothing shows what it does.

        It is often all that a command is about. A number with a name, such as a seed, often changes little.
        """
        if parameters in self._same:
            return False
        bare = ((name, value) for name, value in _read(parameters).items() if is_bare(name) and number_of(value))
        return any(pair not in self._seen and pair[0] not in self._model.judged for pair in bare)

    def expected(self, parameters: str) -> ExpectedTime | None:
        if parameters in self._same:
            return _told(self._same[parameters], TimeBasis.SAME)
        if not self._model.effects:
            return _told([seconds for _, seconds in self._runs], TimeBasis.RECIPE)
        seconds = self._model.seconds(_read(parameters))
        least_s, most_s = (seconds * self._model.factor(share) for share in (1 - _NEARLY_ALL, _NEARLY_ALL))
        return ExpectedTime(seconds, min(least_s, seconds), max(most_s, seconds), TimeBasis.SIMILAR, len(self._runs))


def _kinds(job: TimedJob, sweep: str | None) -> list[tuple[str, ...]]:
    """The same command, the same name, the same sweep."""
    command = title_of(job.command)  # of a Python call: without its own folder
    of_sweep = [] if sweep is None else [("sweep", job.project, sweep)]
    return [(job.project, job.name, job.cwd, command), (job.project, job.name), *of_sweep]


def _script_of(job: TimedJob) -> str:
    """Quickly told, and the same for jobs of the same recipe, so that few commands must be taken apart."""
    recipe = needs_from(job.needs).recipe
    if recipe:
        return name_of_command(recipe)
    call = title_of(job.command)
    return name_of_command(call) if call == job.command else call.partition("(")[0]


def _told(taken: Sequence[float] | deque[float], basis: TimeBasis) -> ExpectedTime | None:
    if not taken:
        return None
    ordered = sorted(taken)
    least_s, most_s = (ordered[round(share * (len(ordered) - 1))] for share in (1 - _NEARLY_ALL, _NEARLY_ALL))
    return ExpectedTime(middle(ordered), least_s, most_s, basis, len(ordered))


def _time_recipe(cwd: str, command: str, needs: str | None) -> JobRecipe:
    """As for memory; a Python call is known by its function."""
    stored = needs_from(needs)
    if stored.recipe:
        return JobRecipe(stored.recipe, stored.parameters)
    call = title_of(command)
    if call != command:
        function, _, arguments = call.partition("(")
        return JobRecipe(f"{cwd}: call {function}", text_of(_arguments_in(arguments.removesuffix(")"))))
    return recipe_of(cwd, command)


def _arguments_in(text: str) -> dict[str, str]:
    """`3, lr=0.1, name='a, b'`: by name, or by place. If they cannot be told apart for certain, all of them as one."""
    found: dict[str, str] = {}
    parts = _ARGUMENT.findall(text)
    if ", ".join(parts) != text:
        return {"arguments": text}
    for place, part in enumerate(parts):
        name, equals, value = part.partition("=")
        is_named = bool(equals) and _NAME.fullmatch(name) is not None
        found[name if is_named else str(place)] = value if is_named else part
    return found


def _read(parameters: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(parameters) if parameters else {}
    return found


def _forget_first(known: dict[Any, Any], most: int) -> None:
    while len(known) >= most:
        del known[next(iter(known))]
