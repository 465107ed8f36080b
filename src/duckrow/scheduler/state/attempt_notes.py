"""What was already done about live attempts, so that it is not done twice. It is forgotten with the attempt."""

from __future__ import annotations


class AttemptNotes:
    def __init__(self) -> None:
        self.counted: set[int] = set()  # their memory use was learned when it became flat
        self.met: set[int] = set()  # they were checked for memory that they have reserved and not taken yet
        self.misplaced: set[int] = set()  # people were told that they use a GPU that they were not given

    def count(self, attempt_id: int) -> None:
        self.counted.add(attempt_id)

    def meet(self, attempt_id: int) -> None:
        self.met.add(attempt_id)

    def misplace(self, attempt_id: int) -> None:
        self.misplaced.add(attempt_id)

    def forget(self, attempt_id: int) -> None:
        """It is over."""
        for attempts in (self.counted, self.met, self.misplaced):
            attempts.discard(attempt_id)
