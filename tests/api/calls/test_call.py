"""What runs in the process of a call, run in this one: the value, the error, the exit code, large data."""

from __future__ import annotations

import math
import pickle
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from duckrow.api import call
from duckrow.api.calls import data, script_again
from duckrow.api.calls.copied_generators import warn_of_copied_generators
from duckrow.api.calls.functions import Call, JobFailed, exception_of, name_of, store_call, value_of
from duckrow.api.calls.pickled_by_name import ByName

WHO = "Job 1"


@pytest.fixture(autouse=True)
def _paths_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(data, "_stored", {})


def made(folder: Path, function: Any, *args: Any) -> int:
    """The exit code of the call."""
    store_call(Call(function, args, {}, name_of(function)), str(folder))
    return call.forked_main([str(folder)])


def test_a_value_is_kept_and_another_attempt_begins_without_it(tmp_path: Path) -> None:
    assert made(tmp_path, divmod, 17, 5) == 0
    assert value_of(str(tmp_path), WHO) == (3, 2)
    assert made(tmp_path, divmod, 17, 0) == 1
    with pytest.raises(JobFailed):
        value_of(str(tmp_path), WHO)


def test_an_error_is_kept_with_its_type_and_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert made(tmp_path, _root, -1) == 1
    assert isinstance(exception_of(str(tmp_path), WHO), ValueError)
    said = capsys.readouterr().err
    assert said.endswith("ValueError: math domain error\n")
    assert "in _root" in said
    assert "in main" not in said, "our own frame is not shown"


def _root(number: float) -> float:
    return math.sqrt(number)


class Picky(Exception):
    """One that cannot be unpickled as it was pickled."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


def _picky() -> None:
    raise Picky(7, "no")


def _silent() -> None:
    raise Silent


def test_an_error_whose_init_wants_other_arguments_comes_back_with_what_it_knows(tmp_path: Path) -> None:
    assert made(tmp_path, _picky) == 1
    error = exception_of(str(tmp_path), WHO)
    assert isinstance(error, Picky)
    assert (str(error), error.code) == ("7: no", 7)


def test_an_error_that_cannot_be_told_is_told_by_its_type(tmp_path: Path) -> None:
    assert made(tmp_path, _silent) == 1
    assert call.words_of(Silent()) == f"{Silent.__module__}.Silent"


@pytest.mark.parametrize(("code", "exit_code"), [(None, 1), (0, 1), (3, 3), ("text", 1), (256 + 4, 4)])
def test_an_exit_is_no_value(tmp_path: Path, code: Any, exit_code: int) -> None:
    assert made(tmp_path, sys.exit, code) == exit_code
    assert isinstance(exception_of(str(tmp_path), WHO), Exception), "raised again, it would end the caller"


@pytest.mark.parametrize(("code", "exit_code"), [(None, 0), (0, 0), (3, 3), ("text", 1), (-1, 255)])
def test_the_code_of_an_exit_is_that_of_python(code: Any, exit_code: int) -> None:
    assert call.code_of(SystemExit(code)) == exit_code


def test_a_value_that_cannot_be_stored_says_what_to_return_instead(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert made(tmp_path, _same, lambda: 0) == 0, "cloudpickle knows functions without a name"
    assert made(tmp_path, _numbers) == 1
    said = capsys.readouterr().err
    assert "_numbers returned an object of type generator, which cannot be stored: " in said
    assert "Return plain data, or write it into a file and return its path." in said
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("result.pkl.")] == []


def _numbers() -> Iterator[int]:
    yield 1


def test_several_calls_are_one_job() -> None:
    assert call.each(divmod, [(7, 2), (9, 4)]) == [(3, 1), (2, 1)]


def test_a_call_that_an_earlier_version_stored_is_still_read(tmp_path: Path) -> None:
    with (tmp_path / "call.pkl").open("wb") as file:
        pickle.dump(list(sys.path), file)
        pickle.dump((divmod, (7, 2), {}), file)
    assert call.main(str(tmp_path)) == 0
    assert value_of(str(tmp_path), WHO) == (3, 1)


@pytest.mark.parametrize("given", [bytes(range(256)) * 64, bytearray(9000), list(range(3000)), ["a", bytes(9000), "b"]])
def test_large_data_is_put_back_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: Any) -> None:
    monkeypatch.setattr(data, "_LARGE_BYTES", 4096)
    store_call(Call(_same, (given, given), {}, "same"), str(tmp_path))
    assert [path for path in tmp_path.iterdir() if path.name.startswith("data-")]
    assert call.main(str(tmp_path)) == 0
    assert value_of(str(tmp_path), WHO) == (given, given)


def _same(*given: Any) -> tuple[Any, ...]:
    return given


def test_data_that_is_cut_short_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "_LARGE_BYTES", 4096)
    (tmp_path / "call.pkl").write_bytes(b"beginend")
    (tmp_path / "data-1").write_bytes(b"cut")
    with (tmp_path / data.INDEX).open("wb") as index:
        pickle.dump([(5, "data-1", 9)], index)
    with (tmp_path / "call.pkl").open("rb") as file:
        reader = data.with_data(file, str(tmp_path))
        assert reader.read(8) == b"begincut"
        with pytest.raises(EOFError, match="data-1 is incomplete"):
            reader.read(1)
        reader._data.close()


# -- scripts ---------------------------------------------------------------------------------------------------------

SCRIPT = """
import random
from duckrow.api.calls.script_again import executes_script, stop_if_there
steps.append("begin")
assert executes_script()
stop_if_there()
def train(): return __name__, __file__
stop_if_there()
steps.append("never")
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script that is `__main__` of this process."""
    path = tmp_path / "train.py"
    path.write_text("def train(): pass\n")
    module = ModuleType("__main__")
    module.__file__ = str(path)
    exec(path.read_text(), vars(module))
    monkeypatch.setitem(sys.modules, "__main__", module)
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    return path


def test_a_script_is_executed_until_it_has_what_the_run_needs(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr("builtins.steps", steps, raising=False)
    module = script_again.execute((str(script), "", [str(script), "--lr"], SCRIPT.encode()), "train")
    assert module.train() == ("__main__", str(script))
    assert (steps, sys.argv) == (["begin"], [str(script), "--lr"])
    assert not script_again.executes_script()
    script_again.stop_if_there()  # nobody executes one now


def test_a_function_of_a_script_goes_along_with_its_text_and_its_words(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main: Any = sys.modules["__main__"]
    monkeypatch.setattr(sys, "orig_argv", ["python", "-u", str(script), "--lr", "1"])
    assert script_again.script_of(main.train) == (str(script), "", [str(script), "--lr", "1"], script.read_bytes())
    monkeypatch.setattr(sys, "orig_argv", ["something", "else"])
    found = script_again.script_of(main.train)
    assert found is not None
    assert found[2] == sys.argv
    assert script_again.script_of(divmod) is None, "it is in a module"
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert script_again.script_of(main.train) is None, "what is typed cannot be executed again"


@pytest.mark.usefixtures("script")
def test_what_a_script_defines_is_pickled_by_its_name(tmp_path: Path) -> None:
    main: Any = sys.modules["__main__"]
    with (tmp_path / "x").open("wb") as file:
        ByName(file).dump([main.train, divmod])
    assert pickle.loads((tmp_path / "x").read_bytes()) == [main.train, divmod]
    assert b"code" not in (tmp_path / "x").read_bytes(), "and not by its code"


@pytest.mark.usefixtures("script")
def test_a_random_generator_that_a_function_takes_along_is_warned_of() -> None:
    main: Any = sys.modules["__main__"]
    exec(
        "def helper(): return generator.random()\n"
        "def train(): return helper() + (lambda: other.random())()\n"
        "def plain(): return safe.random()\n",
        vars(main),
    )
    main.generator, main.other, main.safe = random.Random(1), random.Random(2), random.SystemRandom()
    with pytest.warns(UserWarning, match="train uses the random generator generator and other of your script"):
        warn_of_copied_generators(main.train)
    warn_of_copied_generators(main.plain)
