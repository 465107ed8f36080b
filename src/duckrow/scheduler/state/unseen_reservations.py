"""Memory that is reserved for attempts and not visible yet; and the GPUs that other duckrows have locked for theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from duckrow.core.named_tuple import NamedTuple


class UnseenReservation(NamedTuple):
    since_mono: float
    locks: tuple[str, ...]  # of its GPUs
    seen_mono: float | None = None  # since when its memory can be seen


class UnseenReservations:
    def __init__(self) -> None:
        self.of: dict[int, UnseenReservation] = {}  # by attempt
        self.locked_by: Mapping[str, int] = {}  # GPU -> the user whose duckrow is about to take memory there

    def __bool__(self) -> bool:
        """Whether some memory is not visible yet."""
        return bool(self.of)

    @property
    def locks(self) -> set[str]:
        return {name for unseen in self.of.values() for name in unseen.locks}

    def reserve(self, attempt_id: int, since_mono: float, locks: tuple[str, ...]) -> None:
        self.of[attempt_id] = UnseenReservation(since_mono, locks)

    def see(self, attempt_id: int, mono: float) -> None:
        """From now on, everybody can see its memory."""
        self.of[attempt_id] = self.of[attempt_id]._replace(seen_mono=mono)

    def end(self, attempt_ids: Iterable[int]) -> None:
        """These need no locks any more."""
        for attempt_id in attempt_ids:
            del self.of[attempt_id]

    def lock(self, locked_by: Mapping[str, int]) -> None:
        """Exactly these are locked by others."""
        self.locked_by = locked_by
