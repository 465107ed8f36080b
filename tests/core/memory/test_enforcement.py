"""Who must give way: only one that takes far more than its own, and only where others would not get theirs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.memory.enforcement import Holding, gives_way

HOLDINGS = st.lists(
    st.builds(Holding, st.integers(1, 99), st.integers(1, 50_000), st.integers(0, 80_000), st.floats(0, 1000)),
    max_size=8,
)


def test_the_one_that_takes_what_others_have_reserved_gives_way() -> None:
    greedy, modest = Holding(1, 10_000, 60_000, 0.0), Holding(2, 30_000, 5_000, 5.0)
    assert gives_way([greedy, modest], free_mb=15_000) == greedy
    assert gives_way([greedy, modest], free_mb=25_000) is None  # there is enough for both


def test_of_two_the_worse_gives_way_and_of_equals_the_younger() -> None:
    worse, bad = Holding(1, 10_000, 40_000, 0.0), Holding(2, 10_000, 30_000, 5.0)
    modest = Holding(3, 30_000, 0, 1.0)
    assert gives_way([worse, bad, modest], 10_000) == worse
    older, younger = Holding(1, 10_000, 30_000, 0.0), Holding(2, 10_000, 30_000, 5.0)
    assert gives_way([older, younger, modest], 10_000) == younger


@given(HOLDINGS, st.integers(0, 100_000))
def test_one_that_fits_never_gives_way(holdings: list[Holding], free_mb: int) -> None:
    found = gives_way(holdings, free_mb)
    if found is not None:
        assert found.used_mb > found.reserved_mb
        assert sum(max(each.reserved_mb - each.used_mb, 0) for each in holdings) > free_mb
