"""Large data of calls: on disk once for all that share them, and whole again where the call is made."""

from __future__ import annotations

import hashlib
import os
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from duckrow.api.calls import data as call_data
from duckrow.api.calls import functions
from duckrow.api.calls.functions import Call, forget_call, store_call, value_of
from duckrow.api.machine.state_space import _size_below
from tests.api.calls.test_functions import make_call

MB = 1 << 20


@pytest.fixture(autouse=True)
def nothing_is_stored_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_data, "_stored", {})
    monkeypatch.setattr(call_data, "_LARGE_BYTES", MB)
    monkeypatch.setattr(functions, "_MUCH_DATA", 12 * MB)


def files_below(folder: Path) -> dict[int, int]:
    """The size of each file that is really there, whatever its names."""
    return {path.stat().st_ino: path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def digest_of(data: Any) -> Callable[[int], tuple[int, str]]:
    return lambda x: (x, hashlib.sha256(repr(data).encode() if isinstance(data, list) else data).hexdigest())


KINDS: dict[str, Callable[[], Any]] = {
    "bytes": lambda: random.Random(1).randbytes(2 * MB),
    "bytearray": lambda: bytearray(random.Random(1).randbytes(2 * MB)),
    "list": lambda: [random.Random(1).random(), *range(900_000)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_data_of_a_closure_are_on_disk_once_for_all_calls(tmp_path: Path, kind: str) -> None:
    data = KINDS[kind]()
    function = digest_of(data)
    for number in range(2):
        assert make_call(tmp_path / str(number), function, number).stderr == ""
        assert value_of(f"{tmp_path}/{number}", "") == function(number)
    alone = sum(files_below(tmp_path / "0").values())
    assert alone > 2 * MB
    assert sum(files_below(tmp_path).values()) < 1.5 * alone
    assert _size_below(str(tmp_path))[0] < 1.5 * alone
    assert {path.stat().st_mode & 0o777 for path in tmp_path.rglob("*") if path.is_file()} == {0o600}


def test_data_that_stand_behind_other_arguments_are_shared_too(tmp_path: Path) -> None:
    data = random.Random(1).randbytes(2 * MB)
    for number, text in enumerate(["short", "a longer one", "x" * 1000]):
        store_call(Call(max, (text, data), {"key": len, "default": data}, "max"), f"{tmp_path}/{number}")
    assert sum(files_below(tmp_path).values()) < 2.1 * MB


def test_data_go_with_the_last_call_that_has_them(tmp_path: Path) -> None:
    data = random.Random(1).randbytes(2 * MB)
    store_call(Call(len, (data,), {}, "len"), f"{tmp_path}/1")
    store_call(Call(len, (data,), {}, "len"), f"{tmp_path}/2")
    forget_call(f"{tmp_path}/1")
    assert sum(files_below(tmp_path).values()) > 2 * MB
    assert make_call(tmp_path / "3", len, data).returncode == 0, "what it would have been linked to is gone"
    assert value_of(f"{tmp_path}/3", "") == 2 * MB
    forget_call(f"{tmp_path}/2")
    forget_call(f"{tmp_path}/3")
    assert files_below(tmp_path) == {}


def test_a_call_that_is_stored_again_leaves_none_of_its_data(tmp_path: Path) -> None:
    make_call(tmp_path / "1", len, random.Random(1).randbytes(2 * MB))
    make_call(tmp_path / "1", len, b"few")
    assert value_of(f"{tmp_path}/1", "") == 3
    assert sorted(os.listdir(tmp_path / "1")) == ["call.pkl", "result.pkl"]


def test_where_nothing_can_be_linked_each_call_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    data = random.Random(1).randbytes(2 * MB)
    for number in range(2):
        make_call(tmp_path / str(number), len, data)
        assert value_of(f"{tmp_path}/{number}", "") == 2 * MB
    assert sum(files_below(tmp_path).values()) > 4 * MB


@pytest.fixture
def told() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        yield messages


def test_one_line_says_that_much_data_go_along(tmp_path: Path, told: list[warnings.WarningMessage]) -> None:
    data = bytes(20_000_000)
    for number in range(3):
        store_call(Call(len, (data,), {}, "fit"), f"{tmp_path}/{number}")
        store_call(Call(len, (bytes(2 * MB),), {}, "small"), f"{tmp_path}/small-{number}")
    assert [str(message.message) for message in told] == [
        "duckrow: A call of fit sends 20 MB of data. Calls with the same data share one copy of it on disk, "
        "and each reads it. If it is in a file anyway, let fit read that."
    ]
