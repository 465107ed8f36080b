"""Calls that cannot be made are refused before anything is queued. The message says what to write."""

from __future__ import annotations

import functools
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import duckrow
from duckrow.api.adding.options import Options
from duckrow.api.calls.signature import check_call
from duckrow.api.python.executor import Executor
from duckrow.api.python.submission import _told_apart


@pytest.fixture(autouse=True)
def nothing_is_queued(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    yield
    assert set(os.listdir(tmp_path)) <= {"state"}
    assert not os.path.exists(tmp_path / "state/duckrow.db")


def train(lr: float, seed: int = 0) -> float:
    return lr + seed


def named(name: str, lr: float = 0.1) -> str:
    return f"{name} {lr}"


def ways_to_call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Callable[[], Any]]:
    return [
        lambda: duckrow.submit(function, *args, kwargs=kwargs),
        lambda: Executor().submit(function, *args, **kwargs),
    ]


# -- the signature --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "kwargs", "told"),
    [
        ((0.1,), {"sed": 3}, "train() has no parameter 'sed'"),
        ((0.1,), {"sed": 3}, "Did you mean seed?"),
        ((0.1,), {"momentum": 3}, "Its parameters: lr, seed."),
        ((), {"seed": 3}, "train() cannot be called like this: missing a required argument: 'lr'."),
        ((1, 2, 3), {}, "train() cannot be called like this: too many positional arguments."),
        ((1,), {"lr": 2}, "train() cannot be called like this: multiple values for argument 'lr'."),
    ],
)
def test_a_call_that_python_would_refuse_is_refused(args: tuple[Any, ...], kwargs: Any, told: str) -> None:
    for call in ways_to_call(train, *args, **kwargs):
        with pytest.raises(duckrow.UsageError) as error:
            call()
        assert told in str(error.value)
        assert isinstance(error.value, TypeError), "what Python's own executors raise"


@pytest.mark.parametrize("chunksize", [1, 2])
def test_a_map_is_checked_before_its_first_call_is_queued(chunksize: int) -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'name'"):
        Executor().map(lambda lr, name: lr, [1, 2], chunksize=chunksize)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"lrr": [1]}, r"train\(\) has no parameter 'lrr'. Did you mean lr\?"),
        ([{"lr": [1]}, {"seed": [1]}], "missing a required argument: 'lr'"),
    ],
)
def test_the_parameters_of_a_sweep_are_those_of_the_function(parameters: Any, told: str) -> None:
    with pytest.raises(duckrow.UsageError, match=told):
        duckrow.sweep(train, parameters)


def only_the_wrapped_one_needs_it(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper() -> Any:
        return function(0.1)

    return wrapper


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (functools.partial(train, 0.1), (), {"seed": 1}),
        (only_the_wrapped_one_needs_it(train), (), {}),
        (dict, (), {"anything": 1}),
        (max, (1, 2), {}),
        (print, ("a",), {"sep": ""}),
        ("".join, (["a"],), {}),
        (lambda *args, **kwargs: None, (1,), {"self": 2, "function": 3}),
    ],
)
def test_a_call_that_python_can_make_is_left_alone(function: Any, args: Any, kwargs: Any) -> None:
    check_call(function, args, kwargs)


# -- options of the job, arguments of the function ------------------------------------------------------------------


def test_a_name_that_is_no_option_is_an_argument_of_the_function() -> None:
    apart = _told_apart(train, (0.1,), None, {"seed": 3, "gpus": 0, "timeout": "2h"})
    assert apart == ({"gpus": 0, "timeout": "2h"}, {"seed": 3})
    assert _told_apart(train, (), {"lr": 1}, {"seed": 3}) == ({}, {"lr": 1, "seed": 3})


def test_a_name_that_could_be_both_is_refused_with_what_to_write() -> None:
    with pytest.raises(duckrow.UsageError) as error:
        duckrow.submit(named, name="resnet")
    assert str(error.value) == (
        "name= is an option of the job, and named() has a parameter 'name' too. Put the function's argument into "
        "kwargs: kwargs={'name': ...}. With kwargs={}, name= belongs to the job."
    )
    assert _told_apart(named, (), {"name": "resnet"}, {"name": "job"}) == ({"name": "job"}, {"name": "resnet"})
    assert _told_apart(named, ("resnet",), None, {"name": "job"}) == ({"name": "job"}, {})


def test_what_neither_the_job_nor_the_function_knows_is_refused() -> None:
    with pytest.raises(duckrow.UsageError) as error:
        duckrow.submit(train, 0.1, gpu=1)
    assert str(error.value) == (
        "train() has no parameter 'gpu', and there is no such option. Did you mean gpus? Nothing was queued."
    )
    with pytest.raises(duckrow.UsageError, match="'seed' is given twice, by itself and in kwargs"):
        duckrow.submit(train, 0.1, seed=1, kwargs={"seed": 2})
    with pytest.raises(duckrow.UsageError, match="kwargs=3 must be a dict"):
        duckrow.submit(train, 0.1, kwargs=3)  # type: ignore[call-overload]
    with pytest.raises(duckrow.UsageError, match="There is no option seed="):
        duckrow.submit("echo", seed=1)  # type: ignore[call-overload]
    assert "seed" not in Options.__annotations__


# -- functions that are not called but driven -----------------------------------------------------------------------


async def fetch(url: str) -> str:
    return url


def count(n: int) -> Iterator[int]:
    yield n


async def stream(n: int) -> AsyncIterator[int]:
    yield n


class Driven:
    async def __call__(self, url: str) -> str:
        return url


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (fetch, "fetch is an async function, but a job makes a plain call. Submit a function that runs it: "
         "def run(*args, **kwargs): return asyncio.run(fetch(*args, **kwargs))"),
        (functools.partial(fetch, "a"), "fetch is an async function"),
        (Driven(), "Driven is an async function"),
        (count, "count is a generator, which has no result that could be stored. Submit a function that returns a "
         "list: def collect(*args): return list(count(*args))"),
        (stream, "stream is an async generator, which has no result that could be stored."),
    ],
)  # fmt: skip
def test_async_functions_and_generators_are_refused(function: Callable[..., Any], told: str) -> None:
    calls: list[Callable[[], Any]] = [
        *ways_to_call(function, 1),
        lambda: Executor().map(function, [1]),
        lambda: Executor().map(function, [1, 2], chunksize=2),
        lambda: duckrow.sweep(function, {"n": [1]}),
    ]
    for call in calls:
        with pytest.raises(duckrow.UsageError) as error:
            call()
        assert told in str(error.value)


# -- what other executors have --------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["initializer", "initargs", "mp_context", "max_tasks_per_child", "thread_name_prefix"])
def test_what_only_pools_of_workers_have_is_refused_in_a_sentence(key: str) -> None:
    options: dict[str, Any] = {key: None}
    with pytest.raises(duckrow.UsageError, match=f"There is no {key}=: each call is a job in its own process."):
        duckrow.Executor(**options)
