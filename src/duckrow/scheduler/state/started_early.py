"""Jobs that started before there was room for their peak, and how the memory of their recipes grows over time."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from duckrow.core.memory.knowledge import RecipePeak

TYPE_CHECKING = False  # most runs need none
if TYPE_CHECKING:
    from duckrow.core.memory.course import Course
    from duckrow.core.memory.start_plan import KeptPlan

_COMPARED = 16  # runs of a recipe: older ones may have been in other company


class StartedEarly:
    def __init__(self) -> None:
        self.plan: KeptPlan | None = None  # when those start that wait
        self.owed: dict[int, int] = {}  # job -> the share of its GPU that it will need; the database has it too
        self._differences: dict[str, deque[float]] = {}  # by recipe: how much its runs differed from before
        self._courses: dict[str, tuple[RecipePeak, Mapping[str, Sequence[Course]]]] = {}  # by recipe and parameters

    def owe(self, job_id: int, share: int) -> None:
        self.owed[job_id] = share

    def settle(self, job_id: int) -> None:
        """It has got all, or it is gone."""
        del self.owed[job_id]

    def owed_to(self, job_id: int) -> int:
        return self.owed.get(job_id, 0)

    def keep_plan(self, plan: KeptPlan | None) -> None:
        self.plan = plan

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

    def compare(self, recipe: str, difference: float) -> None:
        """A run has ended, whose time differed by this share from that of the same command before."""
        self._differences.setdefault(recipe, deque(maxlen=_COMPARED)).append(difference)

    def compared(self, recipe: str) -> Sequence[float]:
        return self._differences.get(recipe, ())
