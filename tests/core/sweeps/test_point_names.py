"""The names of points: readable, valid, and never shared."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.jobs.job import check_name
from duckrow.core.sweeps.point_names import point_name
from duckrow.core.sweeps.points import key_of

HASH = r",[0-9a-f]{8}"
POINTS = st.dictionaries(st.text(max_size=40), st.text(max_size=40) | st.integers() | st.floats(), max_size=5)


@pytest.mark.parametrize(
    ("point", "name"),
    [
        ({"lr": 0.1, "seed": 3}, "lr=0.1,seed=3"),
        ({"seed": 3, "lr": "0.1"}, "lr=0.1,seed=3"),
        ({"lr": "1e-3", "model.depth": 5}, "lr=1e-3,model.depth=5"),
        ({"x": "a" * 30}, "x=" + "a" * 30),
        ({"x": ""}, "x="),
        ({"0": 1}, "0=1"),
        ({"last": "last"}, "last=last"),
        ({}, "run"),
    ],
)
def test_a_name_tells_the_parameters(point: dict[str, Any], name: str) -> None:
    assert point_name(point) == name


@pytest.mark.parametrize(
    ("point", "beginning"),
    [
        ({"x": "a" * 31}, "x=" + "a" * 30),
        ({"path": "/data/train set"}, "path=-data-train-set"),
        ({"x": "a,y=b"}, "x=a-y-b"),
        ({"x": [1, 2]}, "x=-1-2-"),
        ({"x": "ü"}, "x=-"),
        ({"größe": 1}, "gr-e=1"),
        ({".x": 1}, "_.x=1"),
        ({"-x": 1}, "_-x=1"),
        ({"": 1}, "_=1"),
        ({"p" * 31: 1}, "p" * 30 + "=1"),
        ({f"{letter}{'o' * 20}": "v" * 20 for letter in "abc"}, f"a{'o' * 20}={'v' * 20},b{'o' * 20}={'v' * 20},c"),
    ],
)
def test_a_hash_follows_where_the_name_does_not_tell_all(point: dict[str, Any], beginning: str) -> None:
    name = point_name(point)
    assert name.startswith(beginning)
    assert re.search(HASH + "$", name)
    assert len(name) == len(beginning) + 9 or len(name) == 100


def test_the_hash_stays_the_same_for_ever() -> None:
    assert point_name({"path": "/data"}) == "path=-data,cc2a6697"


def test_the_longest_name_that_tells_all_has_no_hash() -> None:
    parts = {f"p{number}": "v" * 21 for number in range(4)}
    assert len(point_name(parts)) == 99
    assert not re.search(HASH + "$", point_name(parts))
    assert re.search(HASH + "$", point_name({**parts, "p3": "v" * 23}))
    assert len(point_name({**parts, "p3": "v" * 22})) == 100


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"x": "a" * 30 + "1"}, {"x": "a" * 30 + "2"}),
        ({"x": "a" * 30}, {"x": "a" * 31}),
        ({"x": "a/b"}, {"x": "a-b"}),
        ({"x": "a/b"}, {"x": "a b"}),
        ({"x": "1,y=2"}, {"x": "1", "y": "2"}),
        ({"x=1,y": "2"}, {"x": "1", "y": "2"}),
        ({"x": 1}, {"x": 1.0}),
    ],
)
def test_two_points_never_share_a_name(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert point_name(one) != point_name(other)


def test_no_value_can_look_like_a_hash_that_was_added() -> None:
    name = point_name({"x": "a/"})
    for value in (name[2:], name[2:].replace(",", "-")):
        assert point_name({"x": value}) != name


@given(POINTS)
def test_every_name_is_valid_and_a_folder(point: dict[str, Any]) -> None:
    name = point_name(point)
    check_name("name", name)
    assert "/" not in name
    assert not name.startswith(".")


@given(POINTS, POINTS)
def test_names_are_equal_just_when_the_points_are(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (point_name(one) == point_name(other)) == (key_of(one) == key_of(other))
