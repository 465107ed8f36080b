"""The ends of attempts, from the moment we see them until they are on disk."""

from __future__ import annotations

from collections.abc import Iterator


class EndsUnderway:
    def __init__(self) -> None:
        self._seen: set[int] = set()  # attempts that have ended, not yet reported
        self._reported: set[int] = set()  # the same: reported, not yet told to the loop
        self.told: set[int] = set()  # the same: told, not yet on disk

    def __iter__(self) -> Iterator[int]:
        return iter((*self._seen, *self._reported, *self.told))

    def __contains__(self, attempt_id: object) -> bool:
        return attempt_id in self._seen or attempt_id in self._reported or attempt_id in self.told

    def see(self, attempt_id: int) -> None:
        self._seen.add(attempt_id)

    def report(self, attempt_id: int) -> None:
        """Its end is among the reports that the loop will ask for."""
        if attempt_id in self._seen:
            self._seen.remove(attempt_id)
            self._reported.add(attempt_id)

    def tell(self) -> None:
        """The loop gets all reports now. What it is told will be on disk when `settle` is called."""
        if self._reported:
            self.told |= self._reported
            self._reported.clear()

    def settle(self) -> set[int]:
        """Those that are on disk now."""
        settled, self.told = self.told, set()
        return settled
