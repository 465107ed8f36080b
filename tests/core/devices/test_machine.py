"""What the GPUs have room for, and what politeness leaves of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.devices.device import Device
from duckrow.core.devices.inventory import WHOLE, Ledger, book, unbook
from duckrow.core.devices.machine import BARE, Machine
from duckrow.core.devices.policy import Policy
from duckrow.core.memory.attribution import Owners
from duckrow.core.memory.observation import Observation
from duckrow.core.ports import Reading

ABC = ("a", "b", "c")


def test_what_is_neither_booked_nor_used_is_free() -> None:
    machine = Machine({"0": 20_000}, {"0": WHOLE // 4})
    assert machine.free_mb("0", {}) == 15_000
    assert machine.free_mb("0", {"0": WHOLE // 2}) == 5_000


def test_of_a_gpu_that_is_not_known_nothing_is_free() -> None:
    assert BARE.free_mb("0", {}) == 0


@given(st.integers(1, 200_000), st.integers(1, 12))
def test_even_parts_of_a_gpu_fill_it_and_no_more(total_mb: int, parts: int) -> None:
    machine = Machine({"0": total_mb})
    assert WHOLE - parts < parts * machine.share_of("0", total_mb, parts) <= WHOLE


@given(st.integers(1000, 200_000), st.lists(st.integers(1, 200_000), min_size=1, max_size=12))
def test_sizes_that_add_up_to_no_more_than_the_gpu_fit_one_after_the_other(total_mb: int, sizes: list[int]) -> None:
    machine, booked, given_mb = Machine({"0": total_mb}), Ledger(), 0
    for mb in sizes:
        if given_mb + mb <= total_mb:
            assert machine.free_mb("0", booked) >= mb
            book([("0", machine.share_of("0", mb))], booked)
            given_mb += mb
    assert booked["0"] <= WHOLE if booked else given_mb == 0


def test_everything_is_allowed_where_nobody_asked_for_politeness() -> None:
    assert Machine(foreign_mb={"a": 9}).may_use(ABC, ABC, {})


def test_at_most_so_many_gpus_are_used_with_those_that_are_in_use() -> None:
    machine = Machine(policy=Policy(max_gpus=2))
    assert machine.may_use("a", ABC, {"b": 1})
    assert not machine.may_use("ac", ABC, {"b": 1})
    assert machine.may_use("ab", ABC, {"b": 1, "c": 0})


def test_so_many_gpus_stay_free_of_us_and_of_others() -> None:
    machine = Machine(policy=Policy(min_free_gpus=1))
    assert machine.may_use("ab", ABC, {})
    assert not machine.may_use("ab", ABC, {"c": 1})
    assert machine.may_use("a", ABC, {"a": 1, "b": 1, "c": 1})
    assert not machine._replace(foreign_mb={"c": 5}).may_use("ab", ABC, {})


def test_where_gpus_are_to_stay_free_none_is_used_before_it_was_read() -> None:
    machine = Machine(dict.fromkeys(ABC, 24_000), policy=Policy(min_free_gpus=1))
    unread = Observation().machine(machine, [], ABC, 1000.0)
    assert not any(unread.may_use(gpu, ABC, {}) for gpu in ABC)


def test_a_gpu_that_others_use_is_left_alone_if_so_asked() -> None:
    machine = Machine(foreign_mb={"a": 5}, policy=Policy(only_idle=True))
    assert not machine.may_use("ab", ABC, {})
    assert machine.may_use("bc", ABC, {})


@pytest.mark.parametrize("policy", [Policy(max_gpus=1), Policy(min_free_gpus=1), Policy(only_idle=True)])
def test_cpu_slots_bother_nobody(policy: Policy) -> None:
    assert Machine(policy=policy, foreign_mb={"c": 5}).may_use(["cpu0"], ABC, {"a": WHOLE})


def test_a_gpu_is_full_when_as_many_share_it_as_may() -> None:
    machine, booked = Machine(policy=Policy(jobs_per_gpu=2)), Ledger()
    book([("a", 10)], booked)
    assert not machine.is_full("a", booked)
    book([("a", 10)], booked)
    assert machine.is_full("a", booked)
    assert not machine.is_full("b", booked)
    assert machine.is_full("a", Ledger(booked))
    unbook([("a", 10)], booked)
    assert not machine.is_full("a", booked)
    assert not BARE.is_full("a", booked)


def test_the_preferred_come_first_and_each_once() -> None:
    machine = Machine(policy=Policy(prefer=("c", "x", "a", "c")))
    assert machine.order(map(Device, "abbc")) == ["c", "a", "b"]
    assert BARE.order(map(Device, "ba")) == ["b", "a"]


def test_without_others_only_the_margin_of_watched_gpus_is_kept() -> None:
    busy = Machine({"0": 20_000, "1": 20_000}, {"0": WHOLE}, {"0": 5000}, Policy(margin_mb=2000))
    assert busy.without_others() == busy._replace(pressure={"0": WHOLE // 10}, foreign_mb={})


@pytest.mark.parametrize("margin_mb", [None, 0, 500])
@pytest.mark.parametrize("total_mb", [8_192, 24_576, 144_000])
def test_what_is_refused_keeps_the_same_margin_as_what_is_placed(margin_mb: int | None, total_mb: int) -> None:
    machine = Machine({"0": total_mb}, policy=Policy(margin_mb=margin_mb))
    observation = Observation()
    observation.note([Reading("0", 1.8e9, 1.0, total_mb, total_mb, 0, 40, ())], [], Owners())
    watched = observation.machine(machine, [], ["0"], 1.0)
    assert watched.pressure == watched.without_others().pressure
