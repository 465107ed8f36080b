"""Sweeps: which points they have, and in which order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.errors import UsageError
from duckrow.core.sweeps.sweep import Choices, Grid, Point, expand, key_of, read_grid, shuffle, text_of

# What simple_hypersearch '{x}' -p x 1 2 3 4 5 --seed S printed for S from 0 to 20.
ORDERS_OF_FIVE = [
    "3 2 1 5 4",
    "3 4 5 1 2",
    "3 2 4 5 1",
    "1 3 4 5 2",
    "4 5 1 3 2",
    "1 2 4 3 5",
    "4 3 2 1 5",
    "5 1 4 2 3",
    "4 1 5 3 2",
    "5 1 2 3 4",
    "4 3 2 1 5",
    "3 1 2 5 4",
    "1 2 5 3 4",
    "2 1 4 5 3",
    "5 3 4 2 1",
    "5 4 3 1 2",
    "1 5 2 4 3",
    "1 3 2 4 5",
    "4 5 3 1 2",
    "2 4 3 5 1",
    "5 1 4 3 2",
]
# The same of '{a}{b}' -p a 1 2 3 4 -p b u v w, for S from 0 to 5.
ORDERS_OF_TWELVE = [
    "1v 4u 3w 2w 4v 1w 2u 3v 2v 1u 4w 3u",
    "3v 4w 1u 3w 2w 3u 2u 4v 2v 1v 4u 1w",
    "4u 4w 2u 2v 3v 3u 3w 1w 2w 4v 1v 1u",
    "1v 3v 4v 1u 3u 4w 2v 2w 1w 3w 4u 2u",
    "4w 1w 3w 4v 2w 1u 4u 3v 3u 1v 2v 2u",
    "4v 1w 4w 3v 1v 2u 3u 1u 3w 2w 2v 4u",
]
# The same of '{a}.{b}' -p a 0 1 ... 24 -p b 0 1 2 3, for S = 0.
ORDER_OF_HUNDRED = (
    "5.3 2.0 2.3 1.3 12.0 3.1 0.1 22.3 23.2 13.2 4.0 15.3 13.0 10.1 20.0 0.2 11.3 21.3 19.2 16.2 4.3 1.2 6.0 2.2 14.3"
    " 7.2 5.2 7.1 20.3 9.1 23.1 20.1 10.3 24.3 21.2 7.0 8.2 22.0 11.0 3.2 21.0 17.2 1.0 5.0 3.3 5.1 7.3 19.0 14.1 16.3"
    " 18.1 12.2 17.1 6.1 24.2 11.2 24.0 0.0 18.0 8.3 14.2 23.0 0.3 23.3 14.0 22.2 6.2 10.0 13.3 22.1 18.3 17.3 15.0"
    " 10.2 2.1 20.2 9.3 4.2 19.1 17.0 8.0 19.3 3.0 21.1 9.0 4.1 16.0 6.3 18.2 11.1 15.1 9.2 12.3 15.2 16.1 8.1 1.1"
    " 13.1 24.1 12.1"
)
# What duckrow itself drew first, and so has to draw always.
RANDOM_POINTS = [
    {"lr": 3.44712e-05, "x": 0.694867, "n": 98, "kind": "a"},
    {"lr": 0.000104779, "x": -0.00912983, "n": 58, "kind": "b"},
    {"lr": 0.00403991, "x": 0.577447, "n": 13, "kind": "b"},
]
FIVE = read_grid({"x": "1..5"})
TWELVE = read_grid({"a": "1..4", "b": ["u", "v", "w"]})


def printed(points: list[Point], between: str = "") -> str:
    return " ".join(between.join(map(text_of, point.values())) for point in points)


def complaint(*grids: Grid, **options: Any) -> str:
    with pytest.raises(UsageError) as raised:
        expand(grids, **options)
    return str(raised.value)


# -- the original's orders ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(21))
def test_five_values_come_in_the_order_of_the_original(seed: int) -> None:
    assert printed(expand([FIVE], "shuffled", seed=seed)) == ORDERS_OF_FIVE[seed]


@pytest.mark.parametrize(("seed", "order"), [(-1, "3 4 5 1 2"), (99999999999999999999, "5 3 1 2 4")])
def test_odd_seeds_give_the_order_of_the_original(seed: int, order: str) -> None:
    assert printed(expand([FIVE], "shuffled", seed=seed)) == order


@pytest.mark.parametrize("seed", range(6))
def test_two_parameters_come_in_the_order_of_the_original(seed: int) -> None:
    assert printed(expand([TWELVE], "shuffled", seed=seed)) == ORDERS_OF_TWELVE[seed]


def test_three_parameters_come_in_the_order_of_the_original() -> None:
    grid = read_grid({"a": "1..3", "b": ["u", "v"], "c": ["x", "y", "z"]})
    expected = "3uz 1uz 2vx 3vy 2uy 2ux 2vz 1vx 3uy 1vz 3vx 2uz 1uy 1ux 3vz 3ux 1vy 2vy"
    assert printed(expand([grid], "shuffled", seed=7)) == expected


def test_a_hundred_points_come_in_the_order_of_the_original() -> None:
    grid = read_grid({"a": range(25), "b": range(4)})
    assert printed(expand([grid], "shuffled", seed=0), ".") == ORDER_OF_HUNDRED


@pytest.mark.parametrize(
    ("mode", "n_samples", "seed", "order"),
    [
        ("grid", 1, 0, "1u"),
        ("grid", 5, 3, "1u 1v 1w 2u 2v"),
        ("grid", 7, 0, "1u 1v 1w 2u 2v 2w 3u"),
        ("shuffled", 1, 0, "1v"),
        ("shuffled", 5, 0, "1v 4u 3w 2w 4v"),
        ("shuffled", 5, 3, "1v 3v 4v 1u 3u"),
        ("shuffled", 7, 3, "1v 3v 4v 1u 3u 4w 2v"),
        ("shuffled", 200, 3, "1v 3v 4v 1u 3u 4w 2v 2w 1w 3w 4u 2u"),
    ],
)
def test_samples_are_those_of_the_original(mode: str, n_samples: int, seed: int, order: str) -> None:
    assert printed(expand([TWELVE], mode, n_samples, seed)) == order


def test_without_a_seed_each_order_is_new() -> None:
    assert len({tuple(shuffle(range(20), None)) for _ in range(5)}) > 1


@given(st.lists(st.integers()), st.integers())
def test_a_shuffle_loses_and_adds_nothing(items: list[int], seed: int) -> None:
    before = list(items)
    assert sorted(shuffle(items, seed)) == sorted(items)
    assert items == before


# -- grids ----------------------------------------------------------------------------------------------------------


def test_the_last_parameter_varies_fastest() -> None:
    assert expand([read_grid({"b": [1, 2], "a": ["x", "y"]})]) == [
        {"b": 1, "a": "x"},
        {"b": 1, "a": "y"},
        {"b": 2, "a": "x"},
        {"b": 2, "a": "y"},
    ]


def test_grids_come_one_after_the_other_and_a_point_that_is_in_both_comes_once() -> None:
    grids = [read_grid({"x": [1, 2], "y": 0}), read_grid({"y": ["0", 5], "x": 2}), read_grid({"z": 1})]
    assert expand(grids) == [{"x": 1, "y": 0}, {"x": 2, "y": 0}, {"y": 5, "x": 2}, {"z": 1}]


def test_a_value_that_is_given_twice_counts_once() -> None:
    assert expand([read_grid({"x": [1, "1", 1.0, 2, "0..1"]})]) == [{"x": 1}, {"x": 1.0}, {"x": 2}, {"x": 0}]


def test_a_grid_without_parameters_is_one_point() -> None:
    assert expand([{}]) == [{}]
    assert expand([]) == []


def test_a_grid_that_is_too_large_is_told_before_it_is_built() -> None:
    wide = read_grid({"x": range(1000), "y": range(1000)})
    sentence = complaint(wide, read_grid({"x": 1}), mode="shuffled", n_samples=3)
    assert sentence.startswith("The sweep has 1,000,001 points; at most 1,000,000 can be listed.")
    assert "mode random" in sentence
    assert complaint(*[wide] * 1000).startswith("The sweep has 1,000,000,000 points")


def test_a_distribution_cannot_be_listed() -> None:
    grid = read_grid({"x": [1], "lr": "log:1e-5..1"})
    assert complaint(grid, mode="grid") == (
        "The parameter lr is drawn, which mode grid cannot do. List its values, or use random."
    )
    assert "mode shuffled cannot do" in complaint(grid, mode="shuffled")


def test_an_unknown_mode_is_told() -> None:
    assert complaint(FIVE, mode="shufled") == "There is no mode 'shufled'. The modes are: grid, shuffled, random."


@pytest.mark.parametrize("n_samples", [0, -1])
def test_less_than_one_sample_is_told(n_samples: int) -> None:
    assert complaint(FIVE, n_samples=n_samples) == f"A sweep cannot have {n_samples} samples. Ask for 1 or more."


# -- random ---------------------------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_draws_for_ever() -> None:
    grid = read_grid({"lr": "log:1e-5..1e-1", "x": "uniform:-1..1", "n": "int:1..100", "kind": ["a", "b", "c"]})
    assert expand([grid], n_samples=3, seed=1) == RANDOM_POINTS
    assert expand([grid], n_samples=3, seed=2) != RANDOM_POINTS


def test_a_parameter_with_one_value_does_not_change_the_draws_of_the_others() -> None:
    alone, beside = {"lr": "uniform:0..1"}, {"data": "cifar", "lr": "uniform:0..1"}
    rates = [[point["lr"] for point in expand([read_grid(each)], None, 9)] for each in (alone, beside)]
    assert rates[0] == rates[1]


def test_draws_stay_between_their_ends_have_six_digits_and_reach_both_halves() -> None:
    grid = read_grid({"lr": "log:1e-4..1e-2", "x": "uniform:2..3", "n": "int:1..4"})
    points = expand([grid], "random", 400, seed=5)
    assert len(points) == 400
    assert all(1e-4 <= point["lr"] <= 1e-2 and 2 <= point["x"] <= 3 for point in points)
    assert all(float(f"{point[name]:.6g}") == point[name] for point in points for name in ("lr", "x"))
    assert {point["n"] for point in points} == {1, 2, 3, 4}
    assert 150 < sum(point["lr"] < 1e-3 for point in points) < 250
    assert 150 < sum(point["x"] < 2.5 for point in points) < 250


def test_an_end_with_more_than_six_digits_is_not_overstepped() -> None:
    points = expand([read_grid({"x": "uniform:0.12345671..0.12345674", "lr": "log:7.0000001..7.0000002"})], None, 9)
    assert all(0.12345671 <= point["x"] <= 0.12345674 for point in points)
    assert all(7.0000001 <= point["lr"] <= 7.0000002 for point in points)


def test_the_widest_distribution_can_be_drawn_from() -> None:
    (point,) = expand([read_grid({"x": "uniform:-1e308..1e308", "lr": "log:1e-300..1e300"})], None, 1)
    assert abs(point["x"]) < 1e308
    assert 1e-300 <= point["lr"] <= 1e300


def test_all_points_of_a_small_grid_can_be_drawn_each_once() -> None:
    points = expand([read_grid({"x": range(10), "n": "int:1..10"})], "random", 1000)
    assert len(points) == len(set(map(key_of, points))) == 100


def test_fewer_points_come_back_where_there_are_no_more() -> None:
    assert len(expand([FIVE], "random", 10**7)) == 5
    assert expand([read_grid({"x": "uniform:1..1"})], "random", 20) == [{"x": 1.0}]
    assert expand([read_grid({"x": ["a", "a"]})], "random", 20) == [{"x": "a"}]


def test_each_point_is_drawn_from_one_of_the_grids() -> None:
    grids = [read_grid({"x": "uniform:0..1"}), read_grid({"y": "uniform:0..1", "kind": "b"})]
    points = expand(grids, n_samples=100)
    assert 30 < sum(list(point) == ["x"] for point in points) < 70
    assert all(list(point) in (["x"], ["y", "kind"]) for point in points)


def test_a_random_sweep_must_say_how_many() -> None:
    grid = read_grid({"x": "uniform:0..1"})
    assert complaint(grid).endswith("Say it with --n-samples 20.")
    assert complaint(FIVE, mode="random").endswith("Say it with --n-samples 20.")
    assert complaint(grid, n_samples=10**7) == "A sweep cannot have 10,000,000 samples. Ask for at most 1,000,000."


def test_mode_random_draws_among_choices() -> None:
    points = expand([{"x": Choices(("a", "b")), "y": Choices(tuple(range(50)))}], "random", 40)
    assert len(points) == 40
    assert {point["x"] for point in points} == {"a", "b"}
