"""What people want of jobs: each wish stays until the host that owns or watches the job has fulfilled it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from duckrow.core.named_tuple import NamedTuple
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

_SQL = load_queries("wishes")


class UnfulfilledWish(NamedTuple):
    id: int
    job_id: int
    wish: str
    host_id: int  # the job's


class WishStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    def unfulfilled(self, after: int, most: int) -> list[UnfulfilledWish]:
        """The next wishes after this one, oldest first."""
        rows = self._database.execute(_SQL["unfulfilled"], {"after": after, "most": most})
        return [UnfulfilledWish._make(row) for row in rows]

    def forget(self, wish_ids: Sequence[int]) -> None:
        self._database.execute(_SQL["forget"], {"ids": json.dumps(wish_ids)})

    def forget_settled(self, wish_ids: Sequence[int]) -> None:
        """Forget those of jobs that have no attempt now: those of the others are for the hosts that watch them."""
        self._database.execute(_SQL["forget_settled"], {"ids": json.dumps(wish_ids)})
