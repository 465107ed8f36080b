"""How long a job will run, told by finished runs."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import pytest

from duckrow.core.schedule.run_times import RunTimes, TimeBasis, _arguments_in


class Job(NamedTuple):
    command: str
    name: str = "train"
    project: str = "p"
    cwd: str = "/home/me"
    needs: str | None = None


def train(**parameters: object) -> Job:
    return Job("python train.py " + " ".join(f"--{name} {value}" for name, value in parameters.items()))


def seconds_of(times: RunTimes, job: Job, sweep: str | None = None) -> float | None:
    told = times.expected(job, sweep)
    return None if told is None else told.seconds


def test_the_same_command_takes_what_it_took_before() -> None:
    times = RunTimes()
    for seconds in (10.0, 30.0, 20.0):
        times.note(train(lr=1), seconds)
    told = times.expected(train(lr=1))
    assert told is not None
    assert (told.seconds, told.at_most_s, told.basis, told.runs) == (20.0, 30.0, TimeBasis.SAME, 3)
    assert times.expected(Job("python test.py", name="test")) is None


def test_only_the_latest_twenty_runs_of_a_command_count() -> None:
    times = RunTimes()
    for seconds in [100.0] * 50 + [1.0] * 20:
        times.note(train(lr=1), seconds)
    assert seconds_of(times, train(lr=1)) == 1.0


def test_the_parameters_that_decide_are_learned_and_the_others_are_not_believed() -> None:
    random, times = Random(3), RunTimes()
    for number in range(24):
        epochs, model = random.choice([1, 2, 4, 8]), random.choice(["small", "large"])
        lasted_s = 60 * epochs * (5 if model == "large" else 1) * random.lognormvariate(0, 0.1)
        times.note(train(epochs=epochs, model=model, seed=number, lr=random.uniform(0.1, 1)), lasted_s)
    asked = train(epochs=4, model="large", seed=99, lr=0.5)
    told = times.expected(asked)
    assert told is not None
    assert told.seconds == pytest.approx(1200, rel=0.2)
    assert told.basis is TimeBasis.SIMILAR
    assert told.seconds < told.at_most_s < 1.5 * told.seconds
    assert seconds_of(times, train(epochs=16, model="small", seed=7, lr=0.5)) == pytest.approx(960, rel=0.3)


def test_where_nothing_decides_the_middle_of_all_runs_tells() -> None:
    random, times = Random(5), RunTimes()
    for seed in range(30):
        times.note(train(seed=seed), random.lognormvariate(4, 0.5))
    told = times.expected(train(seed=31))
    assert told is not None
    assert told.basis is TimeBasis.RECIPE
    assert told.seconds == pytest.approx(55, rel=0.3)
    assert told.at_most_s > 1.5 * told.seconds


def sleep(number: int) -> Job:
    return Job(f"sleep {number}", name="sleep")


def test_a_number_without_a_name_tells_nothing_before_it_is_known_what_it_does() -> None:
    times = RunTimes()
    for number in (4, 4, 4, 4, 4, 4):
        times.note(sleep(number), float(number), sweep="s")
    assert times.expected(sleep(60), sweep="s") is None, "neither does its name, nor its sweep"
    assert seconds_of(times, sleep(4)) == 4.0
    for number in (5, 8, 16, 32):
        times.note(sleep(number), float(number))
    assert seconds_of(times, sleep(60)) == pytest.approx(60.0, rel=0.05)


def test_a_number_without_a_name_that_changes_nothing_is_no_obstacle() -> None:
    times = RunTimes()
    for number in range(6):
        times.note(Job(f"./fit {number}", name="fit"), 30.0)
    assert seconds_of(times, Job("./fit 77", name="fit")) == 30.0


def test_a_number_far_beyond_all_that_ran_is_not_trusted_without_end() -> None:
    times = RunTimes()
    for epochs in (1, 2, 3, 4, 5, 6, 8):
        times.note(train(epochs=epochs), 10.0 * epochs)
    assert seconds_of(times, train(epochs=16)) == pytest.approx(160, rel=0.05)
    assert seconds_of(times, train(epochs=1_000_000)) == pytest.approx(160, rel=0.05)


def test_without_its_script_the_name_and_then_the_sweep_tell() -> None:
    times = RunTimes()
    times.note(Job("./a --lr 0.1", name="rates-lr=0.1"), 60.0, "rates")
    times.note(Job("./b --lr 0.2", name="rates-lr=0.2"), 80.0, "rates")
    assert seconds_of(times, Job("./c", name="rates-lr=0.1"), "rates") == 60.0
    assert seconds_of(times, Job("./c", name="rates-lr=0.3"), "rates") == 70.0
    assert seconds_of(times, Job("./c", name="rates-lr=0.3")) is None
    assert seconds_of(times, Job("./c", name="rates-lr=0.3", project="q"), "rates") is None


def test_a_python_call_is_known_by_its_function() -> None:
    def call(words: str, folder: str) -> Job:
        return Job(f"exec /usr/bin/python -m duckrow.api.call /state/{folder} # {words}", name="f")

    times = RunTimes()
    times.note(call("fit(lr=1)", "a"), 60.0)
    times.note(call("test(lr=1)", "b"), 5.0)
    assert seconds_of(times, call("fit(lr=1)", "c")) == 60.0
    assert seconds_of(times, call("fit(lr=2)", "d")) == 60.0
    assert seconds_of(times, call("test(lr=2)", "e")) == 5.0


def test_the_arguments_of_a_python_call_tell_how_long_it_takes() -> None:
    def call(number: int, words: str) -> Job:
        return Job(f"exec /usr/bin/python -m duckrow.api.call /state/{number} # train.main({words})", name=f"n{number}")

    times = RunTimes()
    for number, epochs in enumerate((1, 2, 3, 4, 5, 6, 8)):
        times.note(call(number, f"'a, b', model.epochs={epochs}, seed={number}, of=[1, 2]"), 10.0 * epochs)
    told = times.expected(call(100, "'a, b', model.epochs=7, seed=9, of=[1, 2]"))
    assert told is not None
    assert told.basis is TimeBasis.SIMILAR
    assert told.seconds == pytest.approx(70, rel=0.05)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        ("lr=0.1, seed=3", {"lr": "0.1", "seed": "3"}),
        ("3, x=1", {"0": "3", "x": "1"}),
        ("'a=b', x='c, d'", {"0": "'a=b'", "x": "'c, d'"}),
        (r"x='it\'s', y={'a': 1}, ...", {"x": r"'it\'s'", "y": "{'a': 1}", "2": "..."}),
        ("x=[[1], 2], y=3", {"arguments": "x=[[1], 2], y=3"}),
        ("(...), 3 calls", {"arguments": "(...), 3 calls"}),
    ],
)
def test_arguments_are_told_apart_by_their_names_and_places(text: str, arguments: dict[str, str]) -> None:
    assert _arguments_in(text) == arguments


def test_applications_with_functions_of_the_same_name_do_not_tell_about_each_other() -> None:
    def run(app: str, number: int) -> Job:
        return Job(f"exec /usr/bin/python -m duckrow.api.call /state/{app}{number} # {app}.main(x={number})", name=app)

    times = RunTimes()
    times.note(run("train", 1), 60.0)
    times.note(run("evaluate", 1), 5.0)
    assert (seconds_of(times, run("train", 2)), seconds_of(times, run("evaluate", 2))) == (60.0, 5.0)


def test_memory_is_bounded_however_many_commands_there_are() -> None:
    times = RunTimes()
    for number in range(20_000):
        times.note(Job(f"job {number}", name=f"n{number}"), 1.0)
    assert len(times._kinds) <= 16_384
