"""What people were told, so that nobody hears it twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable


class Told:
    def __init__(self) -> None:
        self._times: Counter[Hashable] = Counter()

    def is_new(self, what: Hashable) -> bool:
        """Whether nobody has heard it yet; true only once."""
        return self.count(what) == 1

    def count(self, what: Hashable) -> int:
        """How often it has been seen, this time included: some things are worth a word only when they happen often."""
        self._times[what] += 1
        return self._times[what]
