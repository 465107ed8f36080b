"""What a job asks for, with what jobs of its recipe have taken put in."""

from __future__ import annotations

from duckrow.core.devices.inventory import cpu_seats, parse_gpus
from duckrow.core.devices.machine import BARE, Machine
from duckrow.core.devices.needs import Ask, Needs, with_margin
from duckrow.core.memory.knowledge import Knowledge, RecipePeak, RunsOfRecipe
from duckrow.core.memory.parameters import text_of
from duckrow.core.memory.prediction import HostGpus, gpus_of, leaves_room, predicted_ask
from duckrow.core.memory.similar_runs import Run

AUTO = Needs(auto=True, recipe="train").as_text()
TWO = Machine(total_mb={"0": 24_000, "1": 48_000, "7": 80_000}, models={"0": "A", "1": "B", "7": "C"})


def known(peaks: dict[tuple[str, str], int]) -> Knowledge:
    return Knowledge({key: RecipePeak(mb) for key, mb in peaks.items()})


HERE = gpus_of(parse_gpus(["0,1"]), TWO)


def test_only_the_gpus_that_are_given_out_count() -> None:
    assert HostGpus(frozenset({"A", "B"}), (48_000, 24_000)) == HERE
    assert (HERE.largest_mb(), HERE.largest_mb(2), HERE.largest_mb(3), HERE.all_mb()) == (48_000, 24_000, None, 48_000)


def test_gpus_of_which_nothing_is_known_have_no_model_and_no_size() -> None:
    assert gpus_of(parse_gpus(["0"]), BARE) == HostGpus() == gpus_of(cpu_seats(2), TWO)
    assert HostGpus().all_mb() is None


def test_the_most_that_was_taken_on_a_model_of_this_host_is_asked_for() -> None:
    peaks = {("train", "A"): 5_000, ("train", "B"): 6_000, ("train", "C"): 50_000, ("other", "A"): 9_000}
    assert predicted_ask(None, AUTO, known(peaks), HERE) == Ask(mb=with_margin(6_000))


def test_what_was_learned_on_another_model_is_not_known_here() -> None:
    assert predicted_ask(None, AUTO, known({("train", "C"): 50_000}), HERE) == Ask(alone=True, unknown=True)


def test_a_job_beside_which_nothing_has_room_gets_a_gpu_to_itself() -> None:
    peaks = {("train", "B"): 40_000}
    assert predicted_ask(None, AUTO, known(peaks), HERE) == Ask(alone=True)
    assert predicted_ask(2, AUTO, known({("train", "B"): 20_000}), HERE) == Ask(
        gpus=2, alone=True
    )  # both must have room
    assert predicted_ask(1, AUTO, known({("train", "B"): 20_000}), HERE) == Ask(gpus=1, mb=with_margin(20_000))


def test_what_a_person_asks_for_is_asked_for() -> None:
    peaks = {("", "A"): 5_000, ("train", "A"): 5_000}
    assert predicted_ask(1, Needs(gpu_mem_mb=9_000).as_text(), known(peaks), HERE) == Ask(gpus=1, mb=9_000)
    assert predicted_ask(None, None, known(peaks), HERE) == Ask()


def test_what_a_person_asks_for_is_raised_to_what_its_kind_takes_once_it_ran_out() -> None:
    peaks, claim = known({("train", "A"): 15_000}), Needs(9_000, recipe="train")
    assert predicted_ask(1, claim.as_text(), peaks, HERE).mb == 9_000
    assert predicted_ask(1, claim._replace(ooms=1).as_text(), peaks, HERE).mb == with_margin(15_000)


def test_one_that_ran_out_asks_for_less_than_the_most_of_any_run_once_others_tell_what_its_size_takes() -> None:
    """Six runs have ended: memory rises with their size, whatever their seeds."""
    runs = RunsOfRecipe(
        [Run({"size": str(size), "seed": str(40 - size)}, size * 1000) for size in (2, 4, 6, 8, 16, 20)]
    )
    learned = Knowledge({("train", "A"): RecipePeak(20_000)}, lambda recipe, model: runs)
    here = HostGpus(frozenset({"A"}), (48_000,))
    parameters = text_of({"size": "5", "seed": "7"})
    again = Needs(22_000, auto=True, recipe="train", parameters=parameters, ooms=1, ran_out_mb=3000)

    def asked_mb(needs: Needs, known: Knowledge = learned) -> int | None:
        return predicted_ask(1, needs.as_text(), known, here).mb

    assert asked_mb(again) == with_margin(6000)
    assert asked_mb(again._replace(ran_out_mb=6500)) == 22_000  # they tell less than it wanted
    assert asked_mb(again._replace(gpu_mem_mb=5000)) == 5000  # nor does it ask for more because of them
    assert asked_mb(again, known({("train", "A"): 20_000})) == 22_000  # nobody tells what decides


def test_one_that_ran_out_does_not_keep_to_a_guess_once_others_that_took_as_much_have_ended() -> None:
    guessed = Needs(42_000, auto=True, recipe="train", parameters=text_of({"seed": "7"}), ooms=1, ran_out_mb=20_000)
    here = HostGpus(frozenset({"A"}), (141_000,))

    def asked_mb(*ended_mb: int) -> int | None:
        runs = RunsOfRecipe([Run({"seed": str(number)}, mb) for number, mb in enumerate(ended_mb)])
        learned = Knowledge({("train", "A"): RecipePeak(20_000)}, lambda recipe, model: runs)
        return predicted_ask(1, guessed.as_text(), learned, here).mb

    assert asked_mb(20_000, 20_000) == with_margin(20_000)
    assert asked_mb(8000) == 42_000  # which may be smaller ones
    assert asked_mb() == 42_000  # 20,000 is what it had itself


def test_a_size_that_nobody_knows_refuses_nothing() -> None:
    assert leaves_room(10**9, None)
    assert leaves_room(85, 100)
    assert not leaves_room(86, 100)
