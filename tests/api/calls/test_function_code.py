"""When a function counts as edited, so that what it has returned before is not taken for what it returns now."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from duckrow.api.calls.function_code import Code, code_of_function, what_changed

ROOT = Path(__file__).parents[3]

SCRIPT = '''
import enum, functools, json
from dataclasses import dataclass

EPOCHS = 10
NAMES = {"adam", "sgd", "lamb"}
STARTED = object()
count = 0

def scale(x):
    return 2 * x

class Model:
    size = 3

    def loss(self, lr):
        return self.size * lr

def train(lr, decay=0.5):
    """Train it."""
    global count
    count += 1
    model = Model()
    names = [name for name in NAMES if name in {"adam", "sgd"}]
    return json.dumps([scale(model.loss(lr)) * EPOCHS, str(STARTED), names])

def maker(factor):
    def made(lr):
        return factor * lr
    return made

def decorate(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args) + 1
    return inner

@decorate
def decorated(lr):
    return scale(lr)

made, bound, method = maker(3), functools.partial(train, decay=0.1), Model().loss
'''


def code_in(source: str, name: str = "train") -> Code:
    """Of this function of a script."""
    cell: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<script>", "exec"), cell)
    return code_of_function(cell[name])


def edited(old: str, new: str, name: str = "train") -> list[str]:
    assert old in SCRIPT
    return what_changed(code_in(SCRIPT, name), code_in(SCRIPT.replace(old, new), name))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("return json.dumps([", "return json.dumps([1, ", ["train"]),
        ("decay=0.5", "decay=0.6", ["train"]),
        ("lr, decay", "lr, other, decay", ["train"]),
        ("return 2 * x", "return 3 * x", ["scale"]),
        ("self.size * lr", "self.size + lr", ["Model.loss"]),
        ("size = 3", "size = 4", ["Model.size"]),
        ("EPOCHS = 10", "EPOCHS = 20", ["EPOCHS"]),
        ("EPOCHS = 10", "EPOCHS = 10.0", ["EPOCHS"]),
        ('"lamb"', '"lion"', ["NAMES"]),
        ('in {"adam"', 'in {"adamw"', ["train"]),
    ],
)
def test_what_a_function_does_has_changed(old: str, new: str, told: list[str]) -> None:
    assert edited(old, new) == told


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("EPOCHS = 10", "\n\n# a comment\nEPOCHS = 5 * 2  # and another\n"),
        ("Train it.", "Train it well."),
        ("count = 0", "count = 7"),  # what the function itself changes
        ("def maker(factor):", "def maker(factor, unused=None):"),
        ("made, bound, method =", "left_out = 1\nmade, bound, method ="),
    ],
)
def test_what_a_function_does_has_not_changed(old: str, new: str) -> None:
    assert edited(old, new) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("made", "maker(3)", "maker(4)", ["factor"]),
        ("made", "factor * lr", "factor - lr", ["made"]),
        ("bound", "decay=0.1", "decay=0.2", ["the arguments of train"]),
        ("bound", "return 2 * x", "return 3 * x", ["scale"]),
        ("method", "size = 3", "size = 4", ["Model.size"]),
        ("decorated", "return scale(lr)", "return -scale(lr)", ["decorated"]),
        ("decorated", "return 2 * x", "return 3 * x", ["scale"]),
        ("decorated", "+ 1", "+ 2", ["decorated"]),
    ],
)
def test_closures_partials_methods_and_decorators_count(name: str, old: str, new: str, told: list[str]) -> None:
    assert edited(old, new, name) == told


def test_it_is_the_same_in_every_process() -> None:
    code = f"from tests.api.calls.test_function_code import *; print(code_in({SCRIPT!r}))"
    said = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, cwd=ROOT, stdout=subprocess.PIPE
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
    assert b"EPOCHS" in said.pop()


@pytest.mark.no_cover  # thousands of functions
def test_a_project_may_be_as_deep_as_it_likes() -> None:
    def chain(end: str) -> str:
        links = [f"def f{number}():\n    return f{number + 1}()\n" for number in range(3000)]
        return "".join([*links, f"def f3000():\n    return {end}\n"])

    first, second = code_in(chain("1"), "f0"), code_in(chain("2"), "f0")
    assert what_changed(first, code_in(chain("1"), "f0")) == []
    assert what_changed(first, second) == ["other functions"]
    assert len(first) < 200, "each run keeps it"


def test_of_a_module_only_what_the_function_uses_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # files of one second look alike to Python's cache
    script = "import models_of_mine\ndef train(lr):\n    return models_of_mine.build(lr)\n"

    def code_with(source: str) -> Code:
        (tmp_path / "models_of_mine.py").write_text(source)
        sys.modules.pop("models_of_mine", None)
        importlib.invalidate_caches()
        return code_in(script)

    first = code_with("def build(x):\n    return x\n\ndef other(x):\n    return x\n")
    assert what_changed(first, code_with("def build(x):\n    return x\n\ndef other(x):\n    return -x\n")) == []
    changed = what_changed(first, code_with("def build(x):\n    return -x\n\ndef other(x):\n    return x\n"))
    assert changed == ["models_of_mine.build"]


def test_what_is_not_known_or_of_another_python_is_not_called_edited() -> None:
    now = code_in(SCRIPT)
    assert what_changed(None, now) == []
    assert what_changed({**now, "(python)": "cpython-27-O0", "train": "other"}, now) == []


@pytest.mark.parametrize("function", [max, "".join, dict, print, str.upper, type, sys.exit])
def test_every_callable_has_a_code(function: Callable[..., Any]) -> None:
    assert what_changed(code_of_function(function), code_of_function(function)) == []
