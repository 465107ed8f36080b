"""A GPU on which one job after another fails at once, while others succeed elsewhere: is it the GPU, or the jobs?

Nobody knows at first. So the GPU is set aside, and some of those jobs are tried on other GPUs. If one succeeds there,
it was the GPU; if all fail there too, it was the jobs.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from duckrow.core.life.states import Outcome
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.quick_dataclass import dataclass

ENOUGH = 3
"""How many jobs must have failed in a row, and how many of them are tried elsewhere."""

QUICK_S = 30.0
"""A failure that took longer says nothing against a GPU. Importing a large library takes most of this time."""

_GOOD_PER_BAD = 4  # successes needed elsewhere for each failure there: where jobs fail anyway, no GPU is to blame
_MOST_REMEMBERED = 10_000  # jobs that failed in a row on one GPU

# Exit codes of a shell for a command that it cannot run: no GPU is to blame for that.
_NOT_RUN = (126, 127)


class Effect(Enum):
    """What the end of an attempt says about its GPUs."""

    GOOD = "it succeeded"
    BAD = "it failed at once"
    FAIR = "it failed after the GPU had worked for a while"
    NONE = "its end had other reasons"


def effect_of(outcome: Outcome, exit_code: int | None, signal: int | None, ran_s: float, stopped: bool) -> Effect:
    """`stopped`: somebody asked it to stop, or its time was up."""
    if outcome is Outcome.SUCCEEDED:
        return Effect.GOOD
    begun = signal is not None or (exit_code is not None and exit_code not in _NOT_RUN)
    if outcome is not Outcome.FAILED or stopped or not begun:
        return Effect.NONE
    return Effect.BAD if ran_s < QUICK_S else Effect.FAIR


class Failure(NamedTuple):
    """An attempt that failed, and how many retries its job had used before."""

    job_id: int
    number: int
    retries_used: int


class _Streak:
    def __init__(self) -> None:
        self.failures: dict[int, Failure] = {}  # by job
        # On other GPUs, since the streak began:
        self.good = 0
        self.bad = 0

    @property
    def goes_well_elsewhere(self) -> bool:
        return self.good > 0 and self.good >= self.bad * _GOOD_PER_BAD


class Streaks:
    """Which jobs failed in a row on each GPU."""

    def __init__(self) -> None:
        self._of: dict[str, _Streak] = {}
        self._needed: dict[str, int] = {}  # GPU -> failures needed; more once the jobs were to blame

    def note(self, gpus: Iterable[str], failure: Failure, effect: Effect) -> list[str]:
        """An attempt has ended. Returns the GPUs that are now under suspicion."""
        here = set(gpus)
        if effect in (Effect.GOOD, Effect.FAIR):
            for gpu in here:
                self._of.pop(gpu, None)
        if effect is Effect.GOOD:
            for gpu in here:
                self._needed.pop(gpu, None)
            for streak in self._of.values():
                streak.good += 1
        if effect is Effect.BAD:
            for gpu, streak in self._of.items():
                streak.bad += gpu not in here
            for gpu in here:
                streak = self._of.setdefault(gpu, _Streak())
                if len(streak.failures) < _MOST_REMEMBERED:
                    streak.failures[failure.job_id] = failure
        return [gpu for gpu, streak in self._of.items() if self._is_enough(gpu, streak)]

    def _is_enough(self, gpu: str, streak: _Streak) -> bool:
        return streak.goes_well_elsewhere and len(streak.failures) >= self._needed.get(gpu, ENOUGH)

    def take(self, gpu: str) -> list[Failure]:
        """The failures there, in order; they no longer count."""
        return list(self._of.pop(gpu, _Streak()).failures.values())

    def was_innocent(self, gpu: str) -> None:
        """Ask for more failures next time. Otherwise a long list of wrong commands would run twice, three at a time."""
        self._needed[gpu] = 2 * self._needed.get(gpu, ENOUGH)

    def forget(self, gpu: str) -> None:
        self._of.pop(gpu, None)
        self._needed.pop(gpu, None)


class Blame(Enum):
    GPU = "the GPU"
    JOBS = "the jobs"


@dataclass
class Suspect:
    """A GPU that is set aside until it is clear whose fault it was."""

    failures: list[Failure]  # all failures there
    tried: list[int]  # the jobs among these that are tried elsewhere
    open: set[int]  # those that have not ended there yet

    @classmethod
    def of(cls, failures: list[Failure]) -> Suspect:
        tried = [failure.job_id for failure in failures[:ENOUGH]]
        return cls(failures, tried, set(tried))

    def note(self, job_id: int, effect: Effect, again: bool) -> Blame | None:
        """One of its jobs has ended elsewhere. `again`: it is tried once more, so Effect.NONE is ignored."""
        if job_id not in self.open or (effect is Effect.NONE and again):
            return None
        self.open.discard(job_id)
        if effect is Effect.GOOD:
            return Blame.GPU
        return None if self.open else Blame.JOBS

    def add(self, failure: Failure) -> None:
        """One more that was still running there."""
        self.failures.append(failure)

    def wait_for(self, job_ids: Iterable[int]) -> None:
        """Exactly these will end elsewhere."""
        self.open = set(job_ids)

    def rest(self) -> list[Failure]:
        """Those that were not tried elsewhere."""
        return [failure for failure in self.failures if failure.job_id not in self.tried]
