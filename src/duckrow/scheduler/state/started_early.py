"""Jobs that started before there was room for their peak, and how the memory of their recipes grows over time."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from duckrow.core.memory.knowledge import RecipePeak

TYPE_CHECKING = False  # most runs need none
if TYPE_CHECKING:
    from duckrow.core.memory.course import Course

_COMPARED = 16  # runs of a recipe: older ones may have been in other company


class StartedEarly:
    def __init__(self) -> None:
        self.owed: dict[int, int] = {}  # job -> the share of its GPU that it will need; the database has it too
        self._times: dict[str, deque[float]] = {}  # by recipe: how many times as long as before its runs took
        self._courses: dict[str, tuple[RecipePeak, Mapping[str, Sequence[Course]]]] = {}  # by recipe and parameters

    def owe(self, job_id: int, share: int) -> None:
        self.owed[job_id] = share

    def settle(self, job_id: int) -> None:
        """It has got all, or it is gone."""
        del self.owed[job_id]

    def owed_to(self, job_id: int) -> int:
        return self.owed.get(job_id, 0)

    # -- what is known ----------------------------------------------------------------------------------------

    @property
    def knows_courses(self) -> bool:
        return bool(self._courses)

    def is_read(self, recipe: str, peak: RecipePeak) -> bool:
        """Whether its courses are known, since it has had this peak."""
        return recipe in self._courses and self._courses[recipe][0] == peak

    def read(self, recipe: str, peak: RecipePeak, courses: Mapping[str, Sequence[Course]]) -> None:
        """`courses`: by parameters."""
        self._courses[recipe] = (peak, courses)

    def courses(self, recipe: str, parameters: str) -> Sequence[Course]:
        return self._courses[recipe][1].get(parameters, ()) if recipe in self._courses else ()

    def compare(self, recipe: str, times: float) -> None:
        """A run has ended, after this many times as long as the same command before."""
        self._times.setdefault(recipe, deque(maxlen=_COMPARED)).append(times)

    def compared(self, recipe: str) -> Sequence[float]:
        return self._times.get(recipe, ())
