"""What a job uses over its time, if it does what the same command did before; and whether one more has room."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from duckrow.core.devices.needs import with_margin
from duckrow.core.memory.use import Point
from duckrow.core.named_tuple import NamedTuple

_MOST = 1.25  # times faster or slower than the same command was, as long as nobody has seen how much
_LEAST = 1.05
_EACH = 1.15  # what is left of that for a single run, if all of them are equally much faster or slower
_PLANNED = 1.18  # the same in a plan: a bit more than is asked for when a job is to start, or it would not start then
_USUAL = 0.0
_PACES = (-1.0, -0.5, _USUAL, 0.5, 1.0)
_SLACK_S = 0.6  # and besides, this much earlier or later: half a second between two readings, which take their time
_TELL_SLACK = 3  # runs that have ended
_ALIKE = 0.9  # memory that falls by less than this has not fallen
_A_MOMENT_S = 0.01  # so that the last moment is surely after the end
_SOON = 10  # moments into which a few seconds are divided
_MOMENTS = 48  # into which the time until all have ended is divided


class Course(NamedTuple):
    """What a run has used over time."""

    steps: tuple[tuple[float, int], ...]  # (seconds since its start, MB from then on)
    lasted_s: float

    @property
    def peak_mb(self) -> int:
        return max(mb for _, mb in self.steps)

    def most_mb(self, from_s: float, to_s: float) -> int:
        """The most in that time of its life; 0 once it has ended."""
        return max(self._levels(from_s, to_s), default=0)

    def least_mb(self, from_s: float, to_s: float) -> int:
        return min(self._levels(from_s, to_s), default=0)

    def _levels(self, from_s: float, to_s: float) -> list[int]:
        ends = [at for at, _ in self.steps[1:]] + [self.lasted_s]
        return [mb for (at, mb), end in zip(self.steps, ends, strict=True) if at <= to_s and end > from_s]

    def exceeds_s(self, mb: int) -> float:
        """When it first used clearly more than this."""
        return next((at for at, level in self.steps if _ALIKE * level > mb), self.lasted_s)

    def reaches_s(self, mb: int) -> float:
        """When it first used about this much."""
        return next((at for at, level in self.steps if level >= _ALIKE * mb), self.lasted_s)


def course_of(curve: Sequence[Point]) -> Course | None:
    """Between two readings, the larger counts. None: too little was seen."""
    if len(curve) < 3:
        return None
    steps: list[tuple[float, int]] = []
    for (at, mb, _), (_, next_mb, _) in pairwise([(0.0, 0, 0), *curve]):
        level = max(mb, next_mb)
        if not steps or not _ALIKE * steps[-1][1] <= level <= steps[-1][1]:
            steps.append((at, level))
    return Course(tuple(steps), curve[-1][0])


def agreed(courses: Sequence[Course]) -> Course | None:
    """The first of them; None: there is none, or they took such different times that nothing can be foretold."""
    times = [course.lasted_s for course in courses]
    return courses[0] if courses and max(times) <= _MOST * min(times) else None


class Slack(NamedTuple):
    """How many times slower or faster a run may be than the same command was. Mostly, all differ in one direction:
    they have more company than before, or less."""

    slower: float = _MOST
    faster: float = _MOST

    @property
    def likely(self) -> Slack:
        """If runs keep to their times as far as one can hope for."""
        return Slack(min(self.slower, _LEAST), min(self.faster, _LEAST))

    @property
    def planned(self) -> Slack:
        """What a plan counts on."""
        return Slack(min(self.slower, _PLANNED), min(self.faster, _PLANNED))

    def at(self, pace: float) -> Slack:
        """What is left of it if all runs are equally much slower (-1: as much as they may be) or faster (1)."""
        speed = self.faster**pace if pace > 0 else self.slower**pace
        return Slack(min(self.slower, _EACH / speed), min(self.faster, _EACH * speed))


SLACK = Slack()
"""As long as nobody has seen how much."""


def differing(took_s: float, before_s: float, readings: int = 1) -> float:
    """By which share of its time a run was slower than before; less than 0: faster.

    What happens is seen by the next reading, and counts from the last one when it happened before. So a run may seem
    slower by this many readings, but never faster.
    """
    later_s = took_s - before_s
    return (later_s if later_s < 0 else max(later_s - readings * _SLACK_S, 0.0)) / before_s


def slack_of(differences: Sequence[float]) -> Slack:
    """`differences`: of runs that have ended, or grown. The fewer they are, the more may still happen: twice the
    largest of three, one and a half times that of six."""
    if len(differences) < _TELL_SLACK:
        return SLACK
    more = 1 + _TELL_SLACK / len(differences)
    return Slack(max(1 + more * max(differences), _LEAST), max(1 - more * min(differences), _LEAST))


class Tenancy(NamedTuple):
    """A job on a GPU, now."""

    course: Course | None  # None: nobody knows when it ends
    age_s: float
    reserved_mb: int  # for all of its time, also if it holds less for now
    used_mb: int = 0
    grown_s: float | None = None  # its age when it last took more than before
    slack: Slack = SLACK

    def most_mb(self, from_s: float, to_s: float) -> int:
        """The most that it may use between these moments, in seconds from now."""
        return self.most_mb_in([(from_s, to_s)])[0]

    def most_mb_in(self, spans: Sequence[tuple[float, float]]) -> list[int]:
        """The same for each of these times."""
        unforeseen_mb = max(self.reserved_mb, self.used_mb)
        if not self.is_as_foreseen:
            return [unforeseen_mb] * len(spans)
        return [unforeseen_mb if (mb := self.foreseen_mb(*span)) is None else mb for span in spans]

    def foreseen_mb(self, from_s: float, to_s: float) -> int | None:
        """The same, if it does what the same command did; None: nobody knows."""
        if self.course is None:
            return None
        earliest, latest = self._comes_to(from_s)[0], self._comes_to(to_s)[1]
        return (
            with_margin(self.course.most_mb(earliest, latest), is_same=True) if earliest < self.course.lasted_s else 0
        )

    def more_mb(self, from_s: float, to_s: float) -> int:
        """How much more than now it will need then, as far as one can tell; less than 0: it will have ended.

        One that should have grown may do so at any moment, and one that should have ended stays.
        """
        likely = self._replace(slack=self.slack.likely)
        earliest, latest = likely._comes_to(0.0)
        if self.course is None or self.used_mb > with_margin(self.course.most_mb(0.0, latest), is_same=True):
            return max(self.reserved_mb - self.used_mb, 0)
        if earliest >= self.course.lasted_s:
            return max(self.course.peak_mb - self.used_mb, 0)
        late_s = max(earliest - self.course.exceeds_s(self.used_mb), 0.0)
        then = likely._comes_to(from_s)[0] - late_s, likely._comes_to(to_s)[1] - late_s
        return self.course.most_mb(*then) - self.used_mb

    @property
    def is_as_foreseen(self) -> bool:
        """Whether it does what the same command did, and has not overrun its time."""
        earliest, latest = self._comes_to(0.0)
        if self.course is None or earliest >= self.course.lasted_s:
            return False
        least_mb, most_mb = self.course.least_mb(earliest, latest), self.course.most_mb(earliest, latest)
        return _ALIKE * least_mb <= self.used_mb <= with_margin(most_mb, is_same=True)

    @property
    def has_grown_as_foreseen(self) -> bool:
        """Whether its last growth came when the same command grew: what was much too late or too early so far may go
        on in any way."""
        since_s, at_s = self._came_to
        return since_s / self.slack.slower - _SLACK_S <= at_s <= since_s * self.slack.faster + _SLACK_S

    @property
    def _came_to(self) -> tuple[float, float]:
        """Its last growth tells how far it had come then: its age, and the moment of its course."""
        if self.course is None or self.grown_s is None:
            return 0.0, 0.0
        return self.grown_s, self.course.reaches_s(self.used_mb)

    def _comes_to(self, after_s: float) -> tuple[float, float]:
        """How far it will have come by then: at least, at most."""
        since_s, at_s = self._came_to
        ran_s = self.age_s + after_s - since_s
        return at_s + ran_s / self.slack.slower - _SLACK_S, at_s + ran_s * self.slack.faster + _SLACK_S

    @property
    def ends_within_s(self) -> float:
        """From now on, at the latest; 0: nobody knows."""
        if self.course is None or not self.is_as_foreseen:
            return 0.0
        return max((self.course.lasted_s - self._comes_to(0.0)[0]) * self.slack.slower, 0.0) + _A_MOMENT_S


def most_needed_mb(tenancies: Sequence[Tenancy], within_s: float) -> int:
    """The most that they may need more than now at a moment of that time. Those that end give back what they use."""
    spans = [(within_s * number / _SOON, within_s * (number + 1) / _SOON) for number in range(_SOON)]
    return max(sum(each.more_mb(*span) for each in tenancies) for span in spans)


class MemoryForecast(NamedTuple):
    """What all jobs on a GPU may use together, from now on."""

    moments: tuple[float, ...]  # seconds from now; what lies between two of them is looked at as one
    used_mb: tuple[int, ...]  # from each of them until the next; after the last, what those keep whose end is unknown

    @classmethod
    def of(cls, tenancies: Sequence[Tenancy]) -> MemoryForecast:
        lasts_s = max((each.ends_within_s for each in tenancies), default=0.0)
        moments = tuple(lasts_s * number / _MOMENTS for number in range(_MOMENTS + 1))
        spans = [*pairwise(moments), (moments[-1], math.inf)]
        of_each = [each.most_mb_in(spans) for each in tenancies]
        return cls(moments, tuple(map(sum, zip(*of_each, strict=True))) if of_each else (0,) * len(spans))

    def has_room(self, comer: Course, room_mb: int, slack: Slack = SLACK) -> bool:
        """Whether a job that starts now has room at every moment of its life.

        It may grow sooner than the same command did before, and the others may end later.
        """
        new = Tenancy(comer, 0.0, with_margin(comer.peak_mb, is_same=True), slack=slack)
        spans = pairwise((*self.moments, math.inf))
        return all(mb + (new.foreseen_mb(*span) or 0) <= room_mb for mb, span in zip(self.used_mb, spans, strict=True))


class PacedForecast(NamedTuple):
    """The same, if each run is as slow or fast as it may be; and if all of them are equally slow or fast.

    What slows one down mostly slows down all: they have the same GPU, cores and disk. While one ends later, another one
    grows later, too.
    """

    of_each: MemoryForecast
    of_all: tuple[tuple[float, MemoryForecast], ...]  # by pace; none if one of them has a pace of its own

    @classmethod
    def of(cls, tenancies: Sequence[Tenancy]) -> PacedForecast:
        of_each = MemoryForecast.of(tenancies)
        paces = {pace: [each._replace(slack=each.slack.at(pace)) for each in tenancies] for pace in _PACES}
        together = all(each.is_as_foreseen for each in paces[_USUAL])
        if not together or not all(each.has_grown_as_foreseen for each in tenancies):
            return cls(of_each, ())
        possible = {pace: runs for pace, runs in paces.items() if all(each.is_as_foreseen for each in runs)}
        return cls(of_each, tuple((pace, MemoryForecast.of(runs)) for pace, runs in possible.items()))

    def has_room(self, comer: Course, room_mb: int, slack: Slack = SLACK) -> bool:
        """Whether a job that starts now has room at every moment of its life."""
        if self.of_each.has_room(comer, room_mb, slack):
            return True
        at_pace = [forecast.has_room(comer, room_mb, slack.at(pace)) for pace, forecast in self.of_all]
        return bool(at_pace) and all(at_pace)
