"""What a job asks for besides a number of GPUs, and what of it contradicts itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.devices.needs import NO_NEEDS, PLAIN, Ask, Needs, ask_of, check_needs, needs_from
from duckrow.core.errors import UsageError, as_argument, as_key, as_option, naming


def test_a_job_that_needs_nothing_keeps_nothing() -> None:
    assert NO_NEEDS.as_text() is None
    assert needs_from(None) == NO_NEEDS


def test_only_what_was_said_is_kept() -> None:
    assert Needs(gpu_mem_mb=10_240, cpus=4).as_text() == '{"gpu_mem_mb": 10240, "cpus": 4}'


AMOUNT = st.one_of(st.none(), st.integers(1, 1 << 20))


BOOLS = st.booleans()


@given(st.builds(Needs, AMOUNT, AMOUNT, BOOLS, st.text(max_size=9), AMOUNT, AMOUNT, BOOLS, st.integers(0, 9)))
def test_what_is_kept_comes_back(needs: Needs) -> None:
    assert needs_from(needs.as_text()) == needs


def test_a_job_that_says_nothing_asks_for_one_device() -> None:
    assert ask_of(None, None) == PLAIN == Ask()
    assert ask_of(2, None) == Ask(2)
    assert ask_of(0, None) == Ask(0)


def test_what_was_said_is_asked_for() -> None:
    assert ask_of(2, Needs(gpu_mem_mb=10, cpus=3, mem_mb=7).as_text()) == Ask(2, 10, cpus=3, mem_mb=7)
    assert ask_of(None, Needs(total_gpu_mem_mb=10).as_text()) == Ask(total_mb=10)


def test_as_long_as_nobody_knows_a_job_is_alone() -> None:
    assert ask_of(None, Needs(auto=True).as_text()) == Ask(alone=True)
    assert ask_of(2, Needs(auto=True).as_text()) == Ask(2, alone=True)
    assert ask_of(2, Needs(auto=True).as_text(), unknown=True) == Ask(2, alone=True, unknown=True)
    assert not ask_of(2, Needs(auto=True, alone=True).as_text(), unknown=True).unknown


def test_what_its_like_have_taken_is_asked_for() -> None:
    assert ask_of(None, Needs(auto=True).as_text(), 300) == Ask(mb=300)


def test_one_that_asks_for_less_than_it_was_seen_to_take_gets_that() -> None:
    assert ask_of(None, Needs(gpu_mem_mb=10).as_text(), 300) == Ask(mb=300)
    assert ask_of(None, Needs(gpu_mem_mb=600).as_text(), 300) == Ask(mb=600)


def test_what_has_been_learned_is_nothing_to_those_that_ask_for_no_memory() -> None:
    assert ask_of(None, Needs(cpus=1).as_text(), 300) == Ask(cpus=1)


def test_a_request_that_was_raised_counts_more_than_what_its_like_have_taken() -> None:
    assert ask_of(None, Needs(auto=True, gpu_mem_mb=600, ooms=1).as_text(), 300) == Ask(mb=600)


def test_one_that_ran_out_of_memory_beside_others_is_alone_whatever_is_known() -> None:
    assert ask_of(None, Needs(auto=True, alone=True).as_text(), 300) == Ask(mb=300, alone=True)
    assert ask_of(None, Needs(alone=True, larger_than_mb=24).as_text()) == Ask(alone=True, larger_than_mb=24)


@pytest.mark.parametrize(
    ("needs", "gpus", "told"),
    [
        (Needs(mem_limit=True), None, "--mem-limit needs --mem"),
        (Needs(gpu_mem_mb=1, total_gpu_mem_mb=1), None, "Either --gpu-mem .* or --total-gpu-mem"),
        (Needs(total_gpu_mem_mb=1, auto=True), None, "Either --total-gpu-mem, or leave it to duckrow"),
        (Needs(total_gpu_mem_mb=1), 2, "--total-gpu-mem chooses how many GPUs"),
        (Needs(gpu_mem_mb=1), 0, "A job without a GPU needs no GPU memory"),
        (Needs(auto=True), 0, "A job without a GPU needs no GPU memory"),
        (Needs(gpu_mem_mb=0), None, "--gpu-mem must be more than 0"),
        (Needs(total_gpu_mem_mb=0), None, "--total-gpu-mem must be more than 0"),
        (Needs(cpus=0), None, "--cpus must be more than 0"),
        (Needs(mem_mb=-1), None, "--mem must be more than 0"),
    ],
)
def test_what_contradicts_itself_is_told(needs: Needs, gpus: int | None, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        check_needs(needs, gpus)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (as_option, "--total-gpu-mem chooses how many GPUs there are. Omit --gpus, or use --gpu-mem."),
        (as_key, '"total_gpu_mem" chooses how many GPUs there are. Omit "gpus", or use "gpu_mem".'),
        (as_argument, "total_gpu_mem= chooses how many GPUs there are. Omit gpus=, or use gpu_mem=."),
    ],
)
def test_it_is_told_in_the_words_of_the_one_who_asks(how: Callable[[str], str], told: str) -> None:
    with pytest.raises(UsageError) as caught, naming(how):
        check_needs(Needs(total_gpu_mem_mb=1), 2)
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("needs", "gpus"),
    [
        (NO_NEEDS, None),
        (NO_NEEDS, 0),
        (Needs(gpu_mem_mb=1), 2),
        (Needs(auto=True), None),
        (Needs(total_gpu_mem_mb=1), None),
        (Needs(cpus=1, mem_mb=1), 0),
    ],
)
def test_what_makes_sense_is_taken(needs: Needs, gpus: int | None) -> None:
    check_needs(needs, gpus)
