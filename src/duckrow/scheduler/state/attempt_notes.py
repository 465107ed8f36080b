"""What was already done about live attempts, so that it is not done twice. It is forgotten with the attempt."""

from __future__ import annotations

from enum import Enum


class Note(Enum):
    COUNTED = "its memory use was learned when it became flat"
    MET = "it was checked for memory that it has reserved and not taken yet"
    MISPLACED = "people were told that it uses a GPU that it was not given"


class AttemptNotes:
    def __init__(self) -> None:
        self._of: dict[int, set[Note]] = {}

    def make(self, attempt_id: int, note: Note) -> None:
        self._of.setdefault(attempt_id, set()).add(note)

    def has(self, attempt_id: int, note: Note) -> bool:
        return note in self._of.get(attempt_id, ())

    def any(self, note: Note) -> bool:
        """Whether any attempt has it."""
        return any(note in notes for notes in self._of.values())

    def forget(self, attempt_id: int) -> None:
        """It is over."""
        if self._of:
            self._of.pop(attempt_id, None)
