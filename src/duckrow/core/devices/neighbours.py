"""Who else uses a GPU: processes outside duckrow that hold memory there, and whose they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from duckrow.core.named_tuple import NamedTuple
from duckrow.core.units import format_mb

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.core.ports import ProcessUse

RETURN_S = 10.0
"""A GPU that another user has just left stays theirs for this long: they may be restarting their program."""

_LEAST_NOTICEABLE_MB = 1024
_NOTICEABLE_PART = 50


class Person(NamedTuple):
    """Who owns a process."""

    user: str
    program: str
    is_own: bool  # the user that duckrow runs as


class Neighbour(NamedTuple):
    """A process outside duckrow on a GPU; or, without a PID, memory that no visible process explains."""

    user: str = ""
    program: str = ""
    pid: int = 0
    mb: int | None = None  # None: the driver does not say; 0: it ended a moment ago
    is_own: bool = False

    def __str__(self) -> str:
        held = "" if self.mb is None else f", {format_mb(self.mb)}" if self.mb else ", gone a moment ago"
        if not self.pid:
            return f"somebody who cannot be seen from here ({held.removeprefix(', ')})"
        whose = "your own" if self.is_own else f"{self.user}'s"
        return f"{whose} {self.program or 'program'} (process {self.pid}{held})"


def noticeable_mb(total_mb: int) -> int:
    """Unexplained memory up to this much belongs to nobody: the driver keeps some of every GPU for itself."""
    return max(_LEAST_NOTICEABLE_MB, total_mb // _NOTICEABLE_PART)


def neighbours_of(
    processes: Iterable[ProcessUse], people: Mapping[int, Person], unexplained_mb: int, total_mb: int
) -> tuple[Neighbour, ...]:
    """`people`: the owners of those processes that belong to no duckrow job here and are not ignored."""
    named = [
        Neighbour(people[pid].user, people[pid].program, pid, mb, people[pid].is_own)
        for pid, mb in processes
        if pid in people and mb != 0
    ]
    hidden = [Neighbour(mb=unexplained_mb)] if unexplained_mb > noticeable_mb(total_mb) else []
    return (*named, *hidden)


def others(neighbours: Collection[Neighbour]) -> list[Neighbour]:
    """Those that a job waits for: other users, and anybody who cannot be seen."""
    return [neighbour for neighbour in neighbours if not neighbour.is_own]


class RecentNeighbours:
    """Who uses each GPU, and which other users have left it so recently that they may come back."""

    def __init__(self) -> None:
        self._now: dict[str, tuple[Neighbour, ...]] = {}
        self._seen: dict[str, dict[int, tuple[float, Neighbour]]] = {}  # GPU -> process -> when it was last there

    def note(self, device: str, neighbours: tuple[Neighbour, ...], mono: float) -> None:
        self._now[device] = neighbours
        seen = self._seen.setdefault(device, {})
        seen.update({each.pid: (mono, each) for each in others(neighbours) if each.pid})
        self._seen[device] = {pid: last for pid, last in seen.items() if last[0] > mono - RETURN_S}

    def of(self, device: str, mono: float) -> tuple[Neighbour, ...]:
        present = self._now.get(device, ())
        here = {each.pid for each in present}
        left = [
            neighbour._replace(mb=0)
            for pid, (at, neighbour) in self._seen.get(device, {}).items()
            if pid not in here and at > mono - RETURN_S
        ]
        return (*present, *left)
