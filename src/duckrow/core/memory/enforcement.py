"""Which job must give way on a GPU: one that uses far more than it reserved, if others would not get theirs."""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.named_tuple import NamedTuple

_FAR_MORE = 1.25  # times what it has reserved: less than that is covered by margins


class Holding(NamedTuple):
    """What an attempt has reserved of a GPU, and what it uses."""

    attempt_id: int
    reserved_mb: int
    used_mb: int
    started_mono: float

    @property
    def is_far_over(self) -> bool:
        return self.used_mb > self.reserved_mb * _FAR_MORE


def gives_way(holdings: Sequence[Holding], free_mb: int) -> Holding | None:
    """The attempt that exceeds its reservation most; the youngest if equal. None: there is room for all.

    `free_mb`: memory of the GPU that nobody uses. While it covers what is reserved but not used yet, nobody has to give
    way. An attempt that keeps to its reservation, or has the GPU to itself, never gives way.
    """
    owed_mb = sum(max(each.reserved_mb - each.used_mb, 0) for each in holdings)
    if owed_mb <= free_mb:
        return None
    over = [each for each in holdings if each.is_far_over]
    return max(over, key=lambda each: (each.used_mb - each.reserved_mb, each.started_mono), default=None)
