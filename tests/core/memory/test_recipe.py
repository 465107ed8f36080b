"""What makes two jobs alike for their memory."""

from __future__ import annotations

import pytest

from duckrow.core.errors import UsageError
from duckrow.core.memory.recipe import recipe_of


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("python train.py --lr 1", "python train.py"),
        ("python train.py", "python train.py"),
        ("  python   train.py\tmodel=big", "python train.py"),
        ("OMP_NUM_THREADS=1 X= python train.py", "python train.py"),
        ("exec python train.py --lr 1", "python train.py"),
        ("python -u train.py --lr 1", "python train.py"),
        ("python -m pkg.train --lr 1", "python -m pkg.train"),
        ("python -u -m pkg.train", "python -m pkg.train"),
        ("torchrun --nproc_per_node=2 train.py --lr 1", "torchrun train.py"),
        ("cd code && env A=1 python src/train.py --data x.py", "cd code && env src/train.py"),
        ("uv run python train.py", "uv run python train.py"),
        ("bash run.sh 1 2", "bash run.sh"),
        ("./train --lr 1", "./train"),
        ("./train lr=1", "./train"),
        ("julia fit.jl", "julia fit.jl"),
        ("a b c d e f", "a b c d"),
        ("python -c 'print(1)'", "python"),
        ("A=1", "A=1"),
    ],
)
def test_the_script_counts_and_not_its_arguments(command: str, script: str) -> None:
    assert recipe_of("/home/me", command) == f"/home/me: {script}"


def test_two_scripts_are_not_alike_whatever_stands_between_python_and_them() -> None:
    assert recipe_of("/", "python -u train.py") != recipe_of("/", "python -u evaluate.py")


def test_the_same_script_elsewhere_is_another_one() -> None:
    assert recipe_of("/a", "python train.py") != recipe_of("/b", "python train.py")


def test_the_runs_of_a_sweep_are_alike_by_their_template() -> None:
    first, second = (recipe_of("/", f"./go {lr} x", "./go {lr} x") for lr in (0.1, 0.2))
    assert first == second == "/: ./go {lr} x"


def test_parameters_that_decide_make_a_difference_and_others_none() -> None:
    def recipe(command: str) -> str:
        return recipe_of("/", command, None, ["batch_size"])

    assert recipe("python t.py --batch_size 32 --lr 1") == recipe("python t.py --lr 2 --batch_size 32")
    assert recipe("python t.py --batch_size 32") != recipe("python t.py --batch_size 64")


@pytest.mark.parametrize(
    "command",
    [
        "python t.py --batch_size 32",
        "python t.py --batch-size 32",
        "python t.py --batch-size=32",
        "python t.py -batch_size 32",
        "python t.py batch_size=32",
        "python t.py --batch_size '32'",
        "python t.py --other_batch_size 7 --batch_size 32",
    ],
)
def test_a_parameter_is_found_however_it_is_written(command: str) -> None:
    for name in ("batch_size", "batch-size"):
        assert recipe_of("/", command, None, [name]).endswith(f" {name}=32")


def test_the_point_of_a_sweep_says_what_a_parameter_is() -> None:
    recipe = recipe_of("/", "./go 7", "./go {size}", ["size", "model"], {"size": 7, "model": "big"})
    assert recipe == "/: ./go {size} size=7 model=big"


def test_a_parameter_that_is_not_there_is_told() -> None:
    with pytest.raises(UsageError, match="'width', which decides the memory, is not in: python"):
        recipe_of("/", "python t.py --size 3", None, ["width"])
