"""What people want of jobs: each wish stands until the host that owns or watches the job has fulfilled it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import NamedTuple

from duckrow.store.connection import load_queries
from duckrow.store.database import Database

_SQL = load_queries("wishes")


class UnfulfilledWish(NamedTuple):
    id: int
    job_id: int
    wish: str
    host_id: int  # the job's


class WishStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    def unfulfilled(self) -> list[UnfulfilledWish]:
        return [UnfulfilledWish._make(row) for row in self._database.execute(_SQL["unfulfilled"])]

    def all_or_nothing(self) -> AbstractContextManager[None]:
        """What is done of a wish that turns out to be impossible is undone."""
        return self._database.part()

    def forget(self, wish_id: int) -> None:
        self._database.execute(_SQL["forget"], {"id": wish_id})
