"""How long we wait for another user's lock on a GPU: two minutes, counted again when memory appears there."""

from __future__ import annotations

from duckrow.core.named_tuple import NamedTuple

LONGEST_S = 120.0
"""We do not wait longer for a user who has taken no memory by then."""

_LONGEST_FOR_ALL_S = 300.0  # one person may have many user ids, from containers
_FORGET_S = 600.0  # after this long without a lock, we wait for a user again
_LONGEST_STEP_S = 10.0  # between two looks; we do not know what happened in a longer time
_APPEARED_MB = 100  # a CUDA context alone takes more

_ALL = -1  # instead of a user


class _Wait(NamedTuple):
    waited_s: float
    seen_mono: float  # when we last saw the lock
    least_mb: int  # the least memory that others used on the GPU meanwhile


class LockPatience:
    """Counts by our own clock: what others say about their locks may be false.

    A user's repeated locks count together. Otherwise a new one every minute would keep us away forever.
    """

    def __init__(self) -> None:
        self._waits: dict[tuple[str, int], _Wait] = {}
        self._look_mono = self._look_before_mono = 0.0

    def look(self, mono: float) -> None:
        """We look at the locks again. Only users who were also in the way last time have kept us waiting in between."""
        self._look_mono, self._look_before_mono = mono, self._look_mono

    def is_over(self, gpu: str, uid: int, used_mb: int) -> bool:
        """This user's lock is in the way: whether to ignore it. `used_mb`: by all processes that are not ours."""
        by_one = self._waited_s((gpu, uid), used_mb)
        by_all = self._waited_s((gpu, _ALL), used_mb)
        return by_one > LONGEST_S or by_all > _LONGEST_FOR_ALL_S

    def _waited_s(self, key: tuple[str, int], used_mb: int) -> float:
        mono = self._look_mono
        wait = self._waits.get(key)
        if wait is None or mono - wait.seen_mono > _FORGET_S or used_mb >= wait.least_mb + _APPEARED_MB:
            wait = _Wait(0.0, mono, used_mb)
        step_s = mono - wait.seen_mono if wait.seen_mono >= self._look_before_mono else 0.0
        self._waits[key] = _Wait(wait.waited_s + min(step_s, _LONGEST_STEP_S), mono, min(used_mb, wait.least_mb))
        return self._waits[key].waited_s
