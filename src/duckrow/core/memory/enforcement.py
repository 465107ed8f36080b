"""Who must give way on a GPU: one that takes far more than it has reserved, where others would not get theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_FAR_MORE = 1.25  # times what it has reserved: less is a matter of margins


class Holding(NamedTuple):
    """What an attempt has reserved of a GPU, and takes of it."""

    attempt_id: int
    reserved_mb: int
    used_mb: int
    started_mono: float

    @property
    def is_far_over(self) -> bool:
        return self.used_mb > self.reserved_mb * _FAR_MORE


def gives_way(holdings: Sequence[Holding], free_mb: int) -> Holding | None:
    """The one on this GPU that takes most beyond its reservation, the youngest of equals; None: everybody fits.

    `free_mb`: what nobody uses of the GPU. As long as that is enough for what is reserved and not taken yet, nobody is
    in anybody's way. One that keeps to its reservation never gives way, nor does one that has the GPU to itself.
    """
    owed_mb = sum(max(each.reserved_mb - each.used_mb, 0) for each in holdings)
    if owed_mb <= free_mb:
        return None
    over = [each for each in holdings if each.is_far_over]
    return max(over, key=lambda each: (each.used_mb - each.reserved_mb, each.started_mono), default=None)
