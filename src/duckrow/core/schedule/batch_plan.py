"""The order in which the waiting jobs of a batch are to start, as it was planned."""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.named_tuple import NamedTuple


class BatchPlan(NamedTuple):
    order: Sequence[int]  # the ids of the jobs; empty: they keep their order
    jobs: frozenset[int]
    known: int  # how many run times were known when it was made
