"""What makes two jobs alike for their memory, and what they are called with."""

from __future__ import annotations

import json
from typing import Any

import pytest

from duckrow.core.errors import UsageError
from duckrow.core.memory.recipe import recipe_of


def called_with(command: str, *more: Any) -> dict[str, str]:
    text = recipe_of("/home/me", command, *more).parameters
    return dict(json.loads(text)) if text else {}


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("python train.py --lr 1", "/home/me/train.py"),
        ("python train.py", "/home/me/train.py"),
        ("  python   train.py\tmodel=big", "/home/me/train.py"),
        ("OMP_NUM_THREADS=1 X= python train.py", "/home/me/train.py"),
        ("exec /opt/venv/bin/python3.11 ./train.py --lr 1", "/home/me/train.py"),
        ("python -u train.py --lr 1", "/home/me/train.py"),
        ("python ../you/train.py", "/home/you/train.py"),
        ("python /srv/train.py", "/srv/train.py"),
        ("python my-code/train-it.py --config=c.py", "/home/me/my-code/train-it.py"),
        ("python 'train.py' --lr 1", "/home/me/train.py"),
        ("cd code && python train.py", "/home/me/code/train.py"),
        ("cd /srv; cd code; python train.py", "/srv/code/train.py"),
        ("torchrun --nproc_per_node=2 train.py --lr 1", "/home/me/train.py"),
        ("cd code && env A=1 python src/train.py --data x.py", "/home/me/code/src/train.py"),
        ("uv run python train.py", "/home/me/train.py"),
        ("bash run.sh 1 2", "/home/me/run.sh"),
        ("julia fit.jl", "/home/me/fit.jl"),
        ("./train --lr 1", "/home/me/train"),
        ("./train lr=1", "/home/me/train"),
        ("./train 32", "/home/me/train"),
        ("python -m pkg.train --lr 1", "/home/me: python -m pkg.train"),
        ("python -u -m pkg.train", "/home/me: python -m pkg.train"),
        ("/opt/venv/bin/python3.11 -m pkg.train", "/home/me: python -m pkg.train"),
        ("python -m torch.distributed.run --nproc_per_node=2 train.py", "/home/me/train.py"),
        ("bash -c 'python train.py --lr 1'", "/home/me/train.py"),
        ("A=1 sh -lc 'cd code && python train.py' x", "/home/me/code/train.py"),
        ("python -m pkg.train --config c.py", "/home/me: python -m pkg.train"),
        ("a b c d e f", "/home/me: a b c d"),
        ("train fit 32", "/home/me: train fit"),
        ("python -c 'print(1)'", "/home/me: python"),
        ("A=1", "/home/me: A=1"),
    ],
)
def test_the_script_counts_wherever_it_is_called_from(command: str, script: str) -> None:
    assert recipe_of("/home/me", command).recipe == script


def test_two_scripts_are_not_alike_whatever_stands_between_python_and_them() -> None:
    assert recipe_of("/", "python -u train.py").recipe != recipe_of("/", "python -u evaluate.py").recipe


def test_scripts_of_the_same_name_in_two_folders_are_two() -> None:
    assert recipe_of("/a", "python train.py").recipe != recipe_of("/b", "python train.py").recipe


def test_links_are_followed_by_whoever_knows_them() -> None:
    def follow(path: str) -> str:
        return path.replace("/link", "/real")

    assert recipe_of("/link", "python train.py", real_path=follow).recipe == "/real/train.py"
    assert recipe_of("/link", "python -m train", real_path=follow).recipe == "/real: python -m train"


@pytest.mark.parametrize("home", ["~", "$HOME", "${HOME}"])
@pytest.mark.parametrize("command", ["python {}/code/train.py", "cd {}/code && python train.py"])
def test_a_script_below_the_home_folder_is_the_same_from_everywhere(home: str, command: str) -> None:
    written = command.format(home)
    assert recipe_of("/a", written) == recipe_of("/b", written)


def test_a_module_is_the_script_that_lies_in_its_folder() -> None:
    def is_file(path: str) -> bool:
        return path in ("/code/train.py", "/code/pkg/__main__.py")

    by_path = recipe_of("/", "python /code/train.py --lr 1", is_file=is_file)
    assert recipe_of("/code", "python -m train --lr 1", is_file=is_file) == by_path
    assert recipe_of("/", "cd /code && python3 -u -m train --lr 1", is_file=is_file) == by_path
    assert recipe_of("/code", "python -m pkg", is_file=is_file).recipe == "/code/pkg/__main__.py"
    assert recipe_of("/code", "python -m other", is_file=is_file).recipe == "/code: python -m other"


def test_what_a_shell_is_told_to_run_is_taken_apart() -> None:
    assert called_with("A=1 bash -c 'python t.py --bs 8'") == {"A": "1", "bs": "8"}


def test_a_run_of_a_sweep_is_like_the_same_command_typed_by_hand() -> None:
    of_sweep = recipe_of("/", "python t.py --bs 8", "python t.py --bs {size}", (), {"size": 8})
    assert of_sweep == recipe_of("/", "python t.py --bs 8")


def test_the_runs_of_a_sweep_without_a_script_are_alike_by_their_template() -> None:
    first, second = (recipe_of("/", f"go {lr} x", "go {lr} x", (), {"lr": lr}) for lr in (0.1, 0.2))
    assert first.recipe == second.recipe == "/: go {lr} x"
    assert first.parameters != second.parameters


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("python t.py --lr 0.1 --fast", {"lr": "0.1", "fast": ""}),
        ("python t.py --batch-size=32", {"batch_size": "32"}),
        ("python t.py model=big +data.size=3", {"model": "big", "data.size": "3"}),
        ("python t.py --offset -5 in out", {"offset": "-5", "word 1": "in", "word 2": "out"}),
        ("BATCH=8 env SEED=1 python t.py", {"BATCH": "8", "SEED": "1"}),
        ("python t.py --name 'a b' --x \"\"", {"name": "a b", "x": ""}),
        ("python t.py --size 1 --size 2", {"size": "1 2"}),
        ("torchrun --nproc-per-node=2 t.py", {"launcher": "torchrun", "nproc_per_node": "2"}),
        ("python -u t.py", {}),
        ("python t.py it's", {"word 1": "it's"}),
    ],
)
def test_a_command_is_taken_apart_into_what_it_is_called_with(command: str, found: dict[str, str]) -> None:
    assert called_with(command) == found


def test_words_of_a_template_are_called_as_their_placeholders() -> None:
    assert called_with("python t.py 7 x", "python t.py {size} x") == {"size": "7", "word 2": "x"}


def test_what_is_very_long_is_shortened_and_still_tells_two_apart() -> None:
    one, other = (recipe_of("/", f"python t.py --data {'x' * 5000}{end}") for end in "ab")
    assert len(one.parameters) < 300
    assert one.parameters != other.parameters
    many, more = (recipe_of("/", "python t.py " + "x " * 500 + end) for end in "ab")
    assert len(many.parameters) < 10_000
    assert many.parameters != more.parameters


def test_a_function_is_called_with_its_arguments() -> None:
    recipe = recipe_of("/w", "python -m call 123", "call train:fit", (), {"size": 3})
    assert recipe.recipe == "/w: call train:fit"
    assert json.loads(recipe.parameters) == {"size": "3"}


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
def test_a_parameter_that_is_named_is_found_however_it_is_written(command: str) -> None:
    for name in ("batch_size", "batch-size"):
        recipe = recipe_of("/", command, None, [name])
        assert recipe.deciding == "batch_size"
        assert json.loads(recipe.parameters)["batch_size"] == "32"


def test_a_parameter_may_be_named_as_in_the_template() -> None:
    recipe = recipe_of("/", "python t.py --bs 7", "python t.py --bs {size}", ["size"], {"size": 7})
    assert recipe.deciding == "bs"
    hidden = recipe_of("/", "python t.py x7y", "python t.py x{size}y", ["size"], {"size": 7})
    assert hidden.deciding == "size"
    assert json.loads(hidden.parameters)["size"] == "7"


def test_a_parameter_that_is_not_there_is_told() -> None:
    with pytest.raises(UsageError, match="'width', which decides the memory, is not in: python"):
        recipe_of("/", "python t.py --size 3", None, ["width"])


def test_a_function_of_a_script_is_one_recipe_wherever_the_script_is_called_from() -> None:
    recipes = {recipe_of(cwd, "python -m call 1", "call /code/train.py:fit").recipe for cwd in ("/a", "/b")}
    assert recipes == {"call /code/train.py:fit"}
