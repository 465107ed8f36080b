"""What was learned about the memory of jobs: listed, asked for, corrected, forgotten."""

from __future__ import annotations

import pytest

from duckrow.api.devices.memory import Memory
from duckrow.core.devices.inventory import parse_gpus
from duckrow.core.errors import UsageError
from duckrow.store.devices.peaks import PeakStore
from duckrow.store.devices.readings import ReadingStore
from tests.api.quiet_queue import QuietQueue

GB = 1024


@pytest.fixture
def memory(queue: QuietQueue) -> Memory:
    """`python train.py` was run three times on an H200 and once on an A100, `python eval.py` once on an H200."""
    queue.offers(parse_gpus(["0"]), {"0": 80 * GB})
    memory, store = Memory(queue.client), PeakStore(queue.client.database)
    train, evaluate = (memory.recipe_of(f"python {name}.py") for name in ("train", "eval"))
    with queue.client.database.transaction():
        for _ in range(3):
            store.learn(train, "H200", 8 * GB, "")
        store.learn(train, "A100", 9 * GB, "")
        store.learn(evaluate, "H200", 2 * GB, "")
        ReadingStore(queue.client.database).keep("0", 1.0, {"mono": 1.0, "model": "L4", "processes": []})
    return memory


def sizes(memory: Memory, model: str) -> list[int]:
    return sorted(peak.peak_mb for peak in memory.peaks() if peak.model == model)


def test_each_recipe_is_listed_with_how_well_it_is_foretold(memory: Memory) -> None:
    train = next(one for one in memory.recipes() if one.peak.runs == 3)
    assert (train.peak.model, train.peak.peak_mb) == ("H200", 8 * GB)
    assert (train.foretold, train.compared) == (0, 1), "calls that are all alike tell nothing of each other"
    assert (train.deciding, train.pace) == ([], None)


def test_what_would_be_reserved_is_told_for_each_model_it_has_run_on(memory: Memory) -> None:
    a100, h200 = memory.would_reserve("python train.py")
    assert [a100.model, h200.model] == ["A100", "H200"]
    assert (h200.runs, h200.expected_mb, h200.basis, h200.together) == (3, 8 * GB, "same", None)
    assert h200.reserved_mb is not None
    assert 8 * GB < h200.reserved_mb < 9 * GB
    assert memory.would_reserve("python other.py") == []


def test_a_job_that_leaves_no_room_for_another_gets_a_gpu_to_itself(memory: Memory, queue: QuietQueue) -> None:
    queue.offers(parse_gpus(["0"]), {"0": 9 * GB})
    assert [would.reserved_mb for would in memory.would_reserve("python train.py")] == [None, None]


def test_what_a_person_says_counts_on_all_models_or_on_one(memory: Memory) -> None:
    earlier = memory.correct("train.py", 10 * GB, None)
    assert sorted(peak.peak_mb for peak in earlier) == [8 * GB, 9 * GB]
    assert sizes(memory, "A100") == [10 * GB]
    memory.correct("train.py", 11 * GB, "a100")
    assert (sizes(memory, "A100"), sizes(memory, "H200")) == ([11 * GB], [2 * GB, 10 * GB])


def test_a_model_on_which_it_has_not_run_yet_may_be_corrected_if_it_was_seen_here(memory: Memory) -> None:
    memory.correct("train.py", 12 * GB, "L4")
    assert sizes(memory, "L4") == [12 * GB]
    with pytest.raises(UsageError, match=r"No GPU model 'V100' has been seen here. Known: A100, H200, L4\."):
        memory.correct("train.py", 12 * GB, "V100")
    with pytest.raises(UsageError, match=r"'00' names several GPU models: A100, H200\. Be more specific\."):
        memory.correct("train.py", 12 * GB, "00")


def test_a_recipe_is_forgotten_by_its_number_or_words_and_all_at_once(memory: Memory) -> None:
    first = memory.peaks()[0]
    assert memory.forget("1") == [first]
    assert len(memory.peaks()) == 2
    assert len(memory.forget(None)) == 2
    assert memory.peaks() == []
    with pytest.raises(UsageError, match="Nothing has been learned yet"):
        memory.forget("train")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("4", "There is no number 4: `duckrow memory` shows 1 to 3."),
        ("0", "There is no number 0: `duckrow memory` shows 1 to 3."),
        ("absent", "No recipe has 'absent' in it. `duckrow memory` lists them."),
        (" ", "No recipe has ' ' in it. `duckrow memory` lists them."),
        (".py", "'.py' is in several recipes. Be more specific, or write its number:\n  "),
    ],
)
def test_words_that_name_no_recipe_or_several_are_refused(memory: Memory, words: str, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        memory.forget(words)
    assert str(refused.value).startswith(told)
    assert len(memory.peaks()) == 3


def test_of_many_recipes_only_some_are_named(memory: Memory, queue: QuietQueue) -> None:
    with queue.client.database.transaction():
        for number in range(9):
            PeakStore(queue.client.database).learn(f"extra {number}", "H200", 1, "")
    with pytest.raises(UsageError, match=r"and 4 more$"):
        memory.forget("extra")


def test_nothing_is_no_size(memory: Memory) -> None:
    with pytest.raises(UsageError, match=r"0 is not a size\."):
        memory.correct("train", 0, None)
