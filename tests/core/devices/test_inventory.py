"""Every way to write `--devices`, and the seats that it means."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.devices.device import reservations
from duckrow.core.devices.inventory import (
    WHOLE,
    Ledger,
    Seat,
    as_options,
    as_ranges,
    book,
    cpu_seats,
    has_room,
    looks_like_devices,
    parse_gpus,
    refuse_no_device,
    split_sizes,
    unbook,
    visible_devices,
)
from duckrow.core.errors import UsageError


def written(seats: list[Seat]) -> list[str]:
    """Seats in short: `0+1` for a pair, `0:2` for half of GPU 0."""
    return [
        "+".join(f"{device}:{WHOLE // share}" if share < WHOLE else device for device, share in s.holds) for s in seats
    ]


@pytest.mark.parametrize(
    ("tokens", "seats"),
    [
        (["0"], ["0"]),
        (["0,1,2"], ["0", "1", "2"]),
        (["2,0,1"], ["2", "0", "1"]),
        (["0", "1", "2"], ["0", "1", "2"]),
        (["0,1", "2,3"], ["0+1", "2+3"]),
        (["0,1", "2"], ["0+1", "2"]),
        (["0", "0"], ["0:2", "0:2"]),
        (["0,0"], ["0:2", "0:2"]),
        (["0,0,1"], ["0:2", "0:2", "1"]),
        (["0,1", "1,2"], ["0+1:2", "1:2+2"]),
        (["0+1"], ["0+1"]),
        (["0+1,2+3"], ["0+1", "2+3"]),
        (["0+1", "2+3"], ["0+1", "2+3"]),
        (["0+1", "2"], ["0+1", "2"]),
        ([""], ["cpu0"]),
        (["", ""], ["cpu0", "cpu1"]),
        (["0", ""], ["0", "cpu0"]),
        (["10,11"], ["10", "11"]),
        (["GPU-8f1a-22,MIG-77/1/0"], ["GPU-8f1a-22", "MIG-77/1/0"]),
        (["GPU-8f1a-22+0"], ["GPU-8f1a-22+0"]),
    ],
)
def test_gpus_are_read_as_their_users_write_them(tokens: list[str], seats: list[str]) -> None:
    assert written(parse_gpus(tokens)) == seats


def test_one_token_is_split_on_commas_but_several_are_a_seat_each() -> None:
    assert [seat.gpu_count for seat in parse_gpus(["0,1"])] == [1, 1]
    assert [seat.gpu_count for seat in parse_gpus(["0,1", "2,3"])] == [2, 2]


def test_all_is_a_seat_for_each_gpu() -> None:
    assert written(parse_gpus(["all"], all_gpus=["0", "1", "2"])) == ["0", "1", "2"]


def test_jobs_per_gpu_shares_each_gpu_evenly() -> None:
    assert written(parse_gpus(["0,1"], jobs_per_gpu=2)) == ["0:2", "1:2", "0:2", "1:2"]
    assert written(parse_gpus(["all"], 3, ["0"])) == ["0:3"] * 3
    assert written(parse_gpus(["0+1"], jobs_per_gpu=2)) == ["0:2+1:2"] * 2


def test_jobs_per_gpu_spreads_before_it_shares() -> None:
    seats = parse_gpus(["0,1,2"], jobs_per_gpu=2)
    assert [seat.devices[0] for seat in seats[:3]] == ["0", "1", "2"]


@pytest.mark.parametrize(
    "token", ["x", "0-", "-1", "0,,1", ",0", "0,", "0+", "+", "0 1", "gpu0", "all,0", "ALL", "1.5", "0;1"]
)
def test_what_names_no_gpus_is_refused_with_examples(token: str) -> None:
    with pytest.raises(UsageError, match=r"does not name GPUs\. Write --devices 0,1,2") as caught:
        parse_gpus([token])
    assert f"'{token}'" in str(caught.value)


@pytest.mark.parametrize("token", ["0:24Q", "0:", "0:x,1:24G", "0-3:many", "0:-1"])
def test_a_wrong_size_is_told_as_it_was_typed_with_what_a_size_looks_like(token: str) -> None:
    with pytest.raises(UsageError) as caught:
        split_sizes(["1", token])
    assert str(caught.value).startswith(f"'{token}' does not name GPUs. A size is written as in 0:24G")


@pytest.mark.parametrize(("tokens", "is_refused"), [([""], True), (["", ""], True), ([], False), (["0", ""], False)])
def test_an_empty_word_by_itself_is_a_variable_without_a_value(tokens: list[str], is_refused: bool) -> None:
    with pytest.raises(UsageError, match="is a shell variable empty") if is_refused else nullcontext():
        refuse_no_device(tokens)


def test_a_program_that_has_only_places_without_a_gpu_asks_for_slots() -> None:
    assert as_options(["0+1", ""]) == ["--devices=0+1", "--devices="]
    assert as_options(["", ""]) == ["--slots=2"]
    assert as_options([]) == []


@pytest.mark.parametrize(
    ("tokens", "seats"),
    [
        (["0-2"], [("0",), ("1",), ("2",)]),
        (["0,2-3"], [("0",), ("2",), ("3",)]),
        (["0-1", "2-3"], [("0", "1"), ("2", "3")]),
        (["0-1+5"], [("0", "1", "5")]),
        (["GPU-8f2a-1-2"], [("GPU-8f2a-1-2",)]),
    ],
)
def test_a_range_stands_for_the_gpus_in_it(tokens: list[str], seats: list[tuple[str, ...]]) -> None:
    assert [seat.devices for seat in parse_gpus(tokens)] == seats


def test_a_range_has_one_size_for_all_of_it() -> None:
    assert split_sizes(["0-1:24G"]) == (["0,1"], {"0": 24 << 10, "1": 24 << 10})


@pytest.mark.parametrize("token", ["3-1", "0-9999999999"])
def test_a_range_that_is_none_is_refused(token: str) -> None:
    with pytest.raises(UsageError, match=f"--devices {token} is not a range of GPUs. Write 0-3"):
        parse_gpus([token])


@pytest.mark.parametrize(
    ("names", "shown"), [(["0", "1", "2"], "0-2"), (["0", "2", "3", "GPU-a"], "0,2-3,GPU-a"), ([], ""), (["5"], "5")]
)
def test_names_are_shown_as_ranges(names: list[str], shown: str) -> None:
    assert as_ranges(names) == shown


def test_one_bad_token_among_good_ones_is_the_one_that_is_named() -> None:
    with pytest.raises(UsageError, match="'x' does not name GPUs"):
        parse_gpus(["0", "x", "2"])


@pytest.mark.parametrize("tokens", [["0+0"], ["0+1+0"], ["0,0", "1"], ["1", "2+2"]])
def test_a_gpu_twice_for_one_job_is_refused(tokens: list[str]) -> None:
    with pytest.raises(UsageError, match="names a GPU twice for one job"):
        parse_gpus(tokens)


def test_all_stands_alone() -> None:
    with pytest.raises(UsageError, match="Use --devices all alone"):
        parse_gpus(["all", "0"], all_gpus=["0"])


def test_all_of_no_gpus_is_refused_with_what_to_do_instead() -> None:
    with pytest.raises(UsageError, match=r"no GPU was found on this machine\. Use --slots N"):
        parse_gpus(["all"])


@pytest.mark.parametrize("number", [0, -1])
def test_nothing_to_run_on_is_refused(number: int) -> None:
    with pytest.raises(UsageError, match=f"--jobs-per-gpu {number} leaves no place to run on"):
        parse_gpus(["0"], jobs_per_gpu=number)
    with pytest.raises(UsageError, match=f"--slots {number} leaves no place to run on"):
        cpu_seats(number)


def test_cpu_slots_are_devices_of_their_own() -> None:
    assert written(cpu_seats(3)) == ["cpu0", "cpu1", "cpu2"]
    assert [(seat.is_cpu, seat.gpu_count) for seat in cpu_seats(1)] == [(True, 0)]
    assert [(seat.is_cpu, seat.gpu_count) for seat in parse_gpus(["0+1"])] == [(False, 2)]


@pytest.mark.parametrize("word", ["", "0", "12", "0,1", "0-3", "0+1", "all", "GPU-12ab", "GPU-12ab,MIG-7/0/1"])
def test_a_word_that_goes_on_with_the_devices_is_known(word: str) -> None:
    assert looks_like_devices(word)


@pytest.mark.parametrize("word", ["commands.txt", "-", "--slots", "0.txt", "1-b", "allow", "0,", "GPU", "./0"])
def test_a_word_that_is_a_file_or_an_option_is_no_device(word: str) -> None:
    assert not looks_like_devices(word)


def test_a_seat_has_room_until_its_devices_are_full() -> None:
    first, second, third = parse_gpus(["0", "0", "0+1"])
    booked = Ledger()
    book(first.holds, booked)
    book(second.holds, booked)
    assert has_room(third, booked)
    book(third.holds, booked)
    assert not has_room(first, booked)
    assert not has_room(third, booked)
    unbook(third.holds, booked)
    assert has_room(first, booked)


def test_a_pair_has_no_room_when_one_of_the_two_is_taken() -> None:
    (pair,) = parse_gpus(["0+1"])
    assert not has_room(pair, {"1": 1})
    assert has_room(pair, {"2": WHOLE})


@given(st.lists(st.lists(st.integers(0, 4), max_size=3, unique=True), min_size=2, max_size=6), st.integers(1, 4))
def test_all_seats_together_never_hold_more_than_the_whole_of_a_device(
    numbers: list[list[int]], jobs_per_gpu: int
) -> None:
    tokens = ["+".join(map(str, group)) for group in numbers]
    seats = parse_gpus(tokens, jobs_per_gpu)
    booked = Ledger()
    for seat in seats:
        assert has_room(seat, booked)
        book(seat.holds, booked)
    assert len(seats) == len(tokens) * jobs_per_gpu
    assert all(share <= WHOLE for share in booked.values())
    for seat in seats:
        unbook(seat.holds, booked)
    assert set(booked.values()) <= {0}


def test_a_job_sees_its_gpus_and_none_on_a_cpu_slot() -> None:
    assert visible_devices(reservations([("1", WHOLE), ("0", WHOLE)])) == "1,0"
    assert visible_devices(reservations([("cpu0", WHOLE)])) == ""


@pytest.mark.parametrize(
    ("tokens", "plain", "sizes"),
    [
        (["0:24G,1:24G"], ["0,1"], {"0": 24_576, "1": 24_576}),
        (["0:24G", "1"], ["0", "1"], {"0": 24_576}),
        (["0:10000+1:1.5GiB"], ["0+1"], {"0": 10_000, "1": 1536}),
        (["GPU-12ab:40G,MIG-7/0/1:5G"], ["GPU-12ab,MIG-7/0/1"], {"GPU-12ab": 40_960, "MIG-7/0/1": 5120}),
        (["all"], ["all"], {}),
        ([], [], {}),
    ],
)
def test_the_memory_of_a_device_is_written_behind_it(
    tokens: list[str], plain: list[str], sizes: dict[str, int]
) -> None:
    assert split_sizes(tokens) == (plain, sizes)
    assert all(looks_like_devices(token) for token in tokens)


def test_a_gpu_without_memory_is_refused() -> None:
    with pytest.raises(UsageError, match="--devices 1:0G gives a GPU no memory"):
        split_sizes(["0:24G,1:0G"])


def test_a_ledger_knows_how_many_share_a_device() -> None:
    booked = Ledger()
    book([("0", 10), ("1", 20)], booked)
    book([("0", 10)], booked)
    copy = Ledger(booked)
    unbook([("0", 10)], booked)
    assert (dict(booked), booked.jobs["0"], booked.jobs["1"], booked.jobs["2"]) == ({"0": 10, "1": 20}, 1, 1, 0)
    assert (copy["0"], copy.jobs["0"]) == (20, 2)
