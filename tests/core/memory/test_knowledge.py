"""What a job will take, by the runs there have been: shapes of memory are drawn at random, and none is known before."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duckrow.core.devices.needs import with_margin
from duckrow.core.memory.deciding import what_decides
from duckrow.core.memory.knowledge import MOST_RUNS, Basis, Knowledge, RecipePeak, RunsOfRecipe
from duckrow.core.memory.parameters import text_of
from duckrow.core.memory.similar_runs import MemoryEffect, Run

Parameters = dict[str, str]
Shape = Callable[[int, int, str], float]
"""MB by batch size, length and model."""

SEEDS = st.integers(0, 2**32)
MODELS = ("small", "base", "large")


def linear(random: Random) -> Shape:
    base, each = random.uniform(100, 2000), random.uniform(20, 200)
    return lambda size, length, model: base + each * size


def stairs(random: Random) -> Shape:
    heights = sorted(random.uniform(500, 20_000) for _ in range(5))
    return lambda size, length, model: heights[min(size // 13, 4)]


def product(random: Random) -> Shape:
    base, each = random.uniform(100, 1000), random.uniform(0.1, 1.0)
    return lambda size, length, model: base + each * size * length


def one_category(random: Random) -> Shape:
    sizes = (1000, random.uniform(2000, 5000), random.uniform(9000, 20_000))
    each = dict(zip(random.sample(MODELS, 3), sizes, strict=True))
    return lambda size, length, model: each[model]


DECIDE: dict[Callable[[Random], Shape], set[str]] = {
    linear: {"size"},
    stairs: {"size"},
    product: {"size", "length"},
    one_category: {"model"},
}


class World:
    """Runs of a script whose memory has a shape. Seed, rate and the folder of the output never matter."""

    def __init__(self, shape: Callable[[Random], Shape], seed: int, noise: float = 0.02) -> None:
        self.random = Random(seed)
        self._shape, self._noise = shape(self.random), noise

    def called(self, **fixed: object) -> Parameters:
        drawn = {
            "size": self.random.randrange(1, 65),
            "length": self.random.choice((128, 256, 512, 1024)),
            "model": self.random.choice(MODELS),
            "seed": self.random.randrange(10**6),
            "rate": 10 ** self.random.uniform(-5, -1),
            "out": f"runs/{self.random.randrange(10**9)}",
        }
        return {name: str(value) for name, value in (drawn | fixed).items()}

    def peak(self, called: Parameters) -> int:
        exact = self._shape(int(called["size"]), int(called["length"]), called["model"])
        return round(exact * self.random.uniform(1 - self._noise, 1 + self._noise))

    def runs(self, count: int, **fixed: object) -> list[Run]:
        return [Run(called, self.peak(called)) for called in (self.called(**fixed) for _ in range(count))]


def teller(runs: list[Run]) -> Callable[..., int | None]:
    """Tells what reservations are made of; None: the job gets a GPU to itself."""
    largest, learned = RecipePeak(max(run.peak_mb for run in runs)), RunsOfRecipe(runs)
    known = Knowledge({("r", "m"): largest}, lambda recipe, model: learned)

    def tell(called: Parameters, chosen: str = "") -> int | None:
        expected = known.expected("r", "m", text_of(called), chosen)
        assert expected is not None
        return expected.mb

    return tell


def told(runs: list[Run], called: Parameters, chosen: str = "") -> int | None:
    return teller(runs)(called, chosen)


@given(SEEDS, st.sampled_from(list(DECIDE)))
@settings(max_examples=40, deadline=None)
def test_a_command_that_ran_before_takes_what_it_took(seed: int, shape: Callable[[Random], Shape]) -> None:
    world = World(shape, seed)
    runs = world.runs(12)
    assert [told(runs, dict(run.parameters)) for run in runs] == [run.peak_mb for run in runs]


@given(SEEDS, st.sampled_from((linear, stairs)))
@settings(max_examples=40, deadline=None)
def test_a_number_between_two_that_were_seen_takes_no_more_than_the_next_and_no_less_than_the_last(
    seed: int, shape: Callable[[Random], Shape]
) -> None:
    world = World(shape, seed, noise=0)
    sizes = sorted(world.random.sample(range(1, 65), 6))
    runs = [Run(called, world.peak(called)) for called in (world.called(size=size, model="base") for size in sizes)]
    for size in range(sizes[0], sizes[-1] + 1):
        mb = told(runs, world.called(size=size, model="base"), chosen="size")
        assert mb is not None
        assert mb >= max(run.peak_mb for run, seen in zip(runs, sizes, strict=True) if seen <= size)
        assert mb <= min(run.peak_mb for run, seen in zip(runs, sizes, strict=True) if seen >= size)
        assert mb >= world.peak(world.called(size=size))  # memory that never falls is never told too small


@given(SEEDS, st.sampled_from(list(DECIDE)))
@settings(max_examples=30, deadline=None)
def test_what_decides_is_found_from_runs_that_differ_in_everything(seed: int, shape: Callable[[Random], Shape]) -> None:
    """Few are told too small, and much less is held in vain than with the largest of the script."""
    world = World(shape, seed)
    runs = world.runs(60)
    tell = teller(runs)
    lost, unknown, held, by_largest = 0, 0, 0, 0
    for called in (world.called() for _ in range(40)):
        mb, needed = tell(called), world.peak(called)
        if mb is None:  # far beyond all that was seen
            unknown += 1
            continue
        lost += with_margin(mb) < needed
        held += max(mb - with_margin(needed), 0)
        by_largest += max(run.peak_mb for run in runs) - needed
    assert lost <= 4
    assert unknown <= 4
    assert held <= by_largest / 2


@given(SEEDS, st.sampled_from(list(DECIDE)))
@settings(max_examples=20, deadline=None)
def test_in_a_grid_exactly_what_decides_is_named(seed: int, shape: Callable[[Random], Shape]) -> None:
    """Runs that differ in one parameter only: the usual sweep."""
    world = World(shape, seed)
    grid = [
        world.called(size=size, length=length, model=model, seed=number, rate="0.1", out="runs")
        for size in (2, 20, 60)
        for length in (128, 1024)
        for model in MODELS[:2]
        for number in (1, 2)
    ]
    runs = [Run(called, world.peak(called)) for called in grid]
    assert set(what_decides(runs[:32])) <= DECIDE[shape]
    assert "seed" not in what_decides(runs)


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_noise_of_a_few_percent_makes_nothing_decide(seed: int) -> None:
    world = World(lambda random: lambda size, length, model: 5000.0, seed, noise=0.04)
    assert what_decides(world.runs(40)) == {}


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_the_answer_is_the_same_every_time_and_only_the_latest_count(seed: int) -> None:
    world = World(product, seed)
    runs = world.runs(40)
    called = world.called()
    assert told(runs, called) == told(list(runs), dict(reversed(called.items())))
    assert len(RunsOfRecipe(runs * 20)) == MOST_RUNS


def run(mb: int, **called: object) -> Run:
    return Run({name: str(value) for name, value in called.items()}, mb)


def test_two_runs_that_differ_in_one_thing_tell_that_it_decides() -> None:
    assert what_decides([run(1000, size=8, seed=1), run(8000, size=64, seed=1)]) == {"size": MemoryEffect.RISES}
    assert what_decides([run(8000, shards=1), run(1000, shards=8)]) == {"shards": MemoryEffect.FALLS}
    assert what_decides([run(8000, model="large"), run(1000, model="small")]) == {"model": MemoryEffect.DIFFERS}
    assert what_decides([run(1000, size=8, seed=1), run(8000, size=64, seed=2)]) == {}  # either may


def test_a_number_of_which_more_is_not_always_more_counts_by_its_value() -> None:
    runs = [run(1000, layout=1), run(9000, layout=2), run(1000, layout=3)]
    assert what_decides(runs) == {"layout": MemoryEffect.DIFFERS}
    assert told(runs, {"layout": "4"}) == 9000


def test_a_number_is_judged_among_runs_that_are_alike_in_everything_else_that_decides() -> None:
    """A small batch of the large model takes more than a large batch of the small one."""
    takes_mb = {"small": 100, "large": 800}
    runs = [run(500 + takes_mb[model] * size, size=size, model=model) for size in (8, 32) for model in takes_mb]
    assert what_decides(runs) == {"model": MemoryEffect.DIFFERS, "size": MemoryEffect.RISES}
    assert told(runs, {"size": "16", "model": "small"}) == 500 + 100 * 32
    runs = [run(500 + size * length, size=size, length=length) for size in (8, 32) for length in (64, 1024)]
    assert what_decides(runs) == {"length": MemoryEffect.RISES, "size": MemoryEffect.RISES}
    assert told(runs, {"size": "16", "length": "64"}, chosen="size,length") == 500 + 32 * 64


@pytest.mark.parametrize("seed", range(10))
def test_numbers_that_raise_memory_are_not_judged_by_their_value_alone(seed: int) -> None:
    """A value that was never seen takes what the next larger one took, also after a random search."""
    random = Random(seed)
    drawn = [(random.choice([8, 16, 32, 64]), random.choice([128, 256, 512]), random.random()) for _ in range(32)]
    runs = [
        run(int((1000 + size * length) * random.uniform(0.98, 1.02)), size=size, length=length, lr=lr)
        for size, length, lr in drawn
    ]
    assert what_decides(runs) == {"length": MemoryEffect.RISES, "size": MemoryEffect.RISES}


@pytest.mark.parametrize("name", ["seed", "data_seed", "trainer.seed", "SEED"])
def test_a_seed_never_decides_even_if_runs_vary_by_chance(name: str) -> None:
    runs = [run(5000, **{name: 0}), run(6000, **{name: 1})]
    assert what_decides(runs) == {}
    assert told(runs, {name: "7"}) == 6000
    assert told(runs, {name: "0"}, chosen=name) == 5000


def test_beyond_the_largest_that_was_seen_it_is_a_guess_and_far_beyond_it_is_not_known() -> None:
    runs = RunsOfRecipe([run(1000, size=8), run(2000, size=16)])
    beyond = runs.expected(text_of({"size": "24"}))
    assert beyond is not None
    assert beyond.basis is Basis.BEYOND
    assert beyond.mb == 3000
    far = runs.expected(text_of({"size": "64"}))
    assert far is not None
    assert (far.mb, far.at_least_mb) == (None, 2000)


def test_what_rose_steeply_is_expected_to_go_on_so() -> None:
    runs = [run(1000, length=8), run(4000, length=16)]
    mb = told(runs, {"length": "32"})
    assert mb is not None
    assert mb > 12_000  # by the length alone it would be 8000


def test_numbers_may_have_a_unit() -> None:
    runs = [run(1000, model="1b"), run(7000, model="7b"), run(13_000, model="13b")]
    assert told(runs, {"model": "3b"}) == 7000


def test_a_value_that_was_never_seen_takes_the_largest_of_the_recipe() -> None:
    runs = [run(1000, model="small"), run(9000, model="large")]
    assert told(runs, {"model": "huge"}) == 9000


def test_a_person_says_what_decides() -> None:
    runs = [run(1000, size=8, seed=1), run(8000, size=64, seed=2)]
    assert told(runs, {"size": "8", "seed": "3"}) == 8000
    assert told(runs, {"size": "8", "seed": "3"}, chosen="size") == 1000
    assert told(runs, {"size": "30", "seed": "3"}, chosen="size") == 8000


def test_what_a_person_has_set_holds_for_every_run() -> None:
    set_by_hand = Knowledge({("r", "m"): RecipePeak(500, corrected=True)}, lambda *_: RunsOfRecipe([run(9000, size=1)]))
    expected = set_by_hand.expected("r", "m", text_of({"size": "1"}))
    assert expected is not None
    assert (expected.mb, expected.basis) == (500, Basis.SET)
    assert set_by_hand.expected("r", "another", "") is None


# -- where nothing decides --------------------------------------------------------------------------------------------


def told_of_a_stranger(peaks_mb: list[int]) -> tuple[int | None, Basis]:
    """What a command gets that is like none, when runs with one seed each have taken this."""
    runs = RunsOfRecipe([Run({"out": f"folder-{number}"}, mb) for number, mb in enumerate(peaks_mb)])
    known = Knowledge({("train.py", ""): RecipePeak(max(peaks_mb), runs=len(peaks_mb))}, lambda recipe, model: runs)
    expected = known.expected("train.py", "", text_of({"out": "another"}))
    assert expected is not None
    return expected.mb, expected.basis


@given(seed=SEEDS)
def test_one_large_run_among_many_does_not_make_all_others_large(seed: int) -> None:
    random = Random(seed)
    usual_mb, runs = random.randint(500, 6000), random.randint(12, 60)
    peaks = [random.randint(usual_mb, usual_mb * 103 // 100) for _ in range(runs)]
    peaks[random.randrange(runs)] = usual_mb * random.randint(5, 9)
    mb, basis = told_of_a_stranger(peaks)
    assert basis is Basis.MOST
    assert mb is not None
    assert usual_mb <= mb <= usual_mb * 103 // 100


@given(seed=SEEDS)
def test_peaks_that_are_spread_evenly_reserve_the_largest(seed: int) -> None:
    random = Random(seed)
    peaks = [1000 * number for number in range(5, 5 + random.randint(8, 40))]
    random.shuffle(peaks)
    assert told_of_a_stranger(peaks) == (max(peaks), Basis.LARGEST)


def test_few_runs_reserve_the_largest() -> None:
    assert told_of_a_stranger([6000] * 6 + [40_000]) == (40_000, Basis.LARGEST)
