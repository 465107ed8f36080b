"""How a suspension is written down, so that the next host knows of it: as a wish that stands until the job goes on."""

from __future__ import annotations

_SUSPENDED, _BY_ITSELF = "suspended", "by-itself"


def standing_wish(since_mono: float, by_itself: bool) -> str:
    """`by_itself`: this job was paused, not the queue or its project; then only it can be resumed."""
    return f"{_SUSPENDED}:{since_mono!r}:{_BY_ITSELF if by_itself else ''}"


def suspended_since(wish: str) -> float:
    """By the monotonic clock."""
    return float(wish.split(":")[1])


def is_by_itself(wish: str) -> bool:
    return wish.endswith(f":{_BY_ITSELF}")
