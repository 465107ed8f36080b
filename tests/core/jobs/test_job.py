"""What a job is called, and what is refused before it becomes one."""

from __future__ import annotations

import signal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import JobSpec, check_name, name_of_command, shorten


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python train.py --lr 1", "train"),
        ("python3.11 /home/me/exp/train.py", "train"),
        ("CUDA_LAUNCH_BLOCKING=1 OMP_NUM_THREADS=2 python -u train.py", "train"),
        ("torchrun --standalone train.py", "train"),
        ("uv run train.py", "train"),
        ("accelerate launch train.py", "train"),
        ("/usr/bin/env python", "env"),
        ("./a.out", "a"),
        ("train.v2.py", "train.v2"),
        ("make", "make"),
        ("echo 'hello world'", "echo"),
        ("bash -c 'sleep 1'", "sleep"),
        ("./.hidden", "hidden"),
        ("./größe.sh", "gr-e"),
        ("[ -f x ]", "x"),
        ("python", "job"),
        ("&& ||", "job"),
        ("x" * 50, "x" * 40),
    ],
)
def test_a_job_is_named_after_its_script_or_program(command: str, name: str) -> None:
    assert name_of_command(command) == name


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python 1.py", "job-1"),
        ("./2024-01-01.sh", "job-2024-01-01"),
        ("python last.py", "job-last"),
        ("7,8", "job-7-8"),
    ],
)
def test_a_script_may_have_any_name(command: str, name: str) -> None:
    assert JobSpec(command, "/").name == name


@given(st.text(min_size=1))
@example("python 1.py")
@example("last")
@example("--flag")
@example("=")
@example("…")
def test_a_name_made_from_a_command_is_short_and_fit_for_a_folder(command: str) -> None:
    name = name_of_command(command)
    assert 1 <= len(name) <= 40
    assert "/" not in name
    assert not name.startswith((".", "-"))
    assert name.isascii()
    check_name("name", name)


@pytest.mark.parametrize("name", ["train", "train-2", "lr=0.1,seed=3", "a.b+c@d", "_x", "1a", "x" * 100, "lasting"])
def test_a_sensible_name_is_taken(name: str) -> None:
    check_name("name", name)
    assert JobSpec("true", "/", name=name).name == name


@pytest.mark.parametrize("name", ["", ".", "..", ".x", "-x", "a/b", "a b", "a\n", "ä", "x" * 101, "last", "a\0"])
@pytest.mark.parametrize("what", ["name", "project"])
def test_a_name_that_could_not_be_a_folder_or_typed_is_refused(what: str, name: str) -> None:
    with pytest.raises(UsageError, match=f"cannot be a {what}. Use letters"):
        check_name(what, name)


@pytest.mark.parametrize("name", ["12", "10-12", "1,2", "3-"])
def test_a_name_that_reads_like_an_id_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="it reads like an id"):
        check_name("name", name)
    if name.isdigit():
        check_name("project", name)  # a project is never typed where an id could stand


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"command": ""}, "The command is empty"),
        ({"command": " \n\t"}, "The command is empty"),
        ({"command": "echo a\0b"}, "has a NUL byte in it"),
        ({"gpus": -1}, "A job cannot have -1 GPUs. Use 0"),
        ({"retries": -1}, "Retries cannot be negative: -1"),
        ({"timeout_s": -0.5}, "The time limit cannot be negative: -0.5"),
        ({"project": "a/b"}, "'a/b' cannot be a project"),
        ({"name": "a b"}, "'a b' cannot be a name"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_with_the_reason(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        JobSpec(**{"command": "true", "cwd": "/", **fields})
    assert said in str(caught.value)


def test_a_job_without_a_name_gets_one_from_its_command() -> None:
    assert JobSpec("python train.py", "/").name == "train"
    assert JobSpec("python train.py", "/", name="mine").name == "mine"


def test_a_job_that_says_nothing_gets_what_the_documents_promise() -> None:
    spec = JobSpec("true", "/")
    assert (spec.project, spec.priority, spec.gpus, spec.shell) == ("default", 30, None, "/bin/sh")
    assert (spec.retries, spec.backoff_s, spec.timeout_s, spec.grace_s) == (0, 10.0, None, 10.0)
    assert (spec.notice_signal, spec.notice_s) == (signal.SIGUSR2, 30.0)


def test_zero_gpus_is_a_request_and_a_limit_of_zero_is_none() -> None:
    assert JobSpec("true", "/", gpus=0).gpus == 0
    with pytest.raises(UsageError, match="A time limit of 0 would stop the job at once"):
        JobSpec("true", "/", timeout_s=0.0)


def test_a_short_text_is_only_put_on_one_line() -> None:
    assert shorten("  python\n  train.py\t--lr 1 ") == "python train.py --lr 1"
    assert shorten("x" * 60) == "x" * 60


def test_a_long_text_is_cut_in_the_middle() -> None:
    assert shorten("python train.py --lr 0.1 --out results/final", 20) == "python train…s/final"
    assert shorten("a" * 30 + "b" * 31) == "a" * 30 + "b" * 9 + "…" + "b" * 20


@given(st.text(), st.integers(1, 100))
def test_a_shortened_text_fits(text: str, width: int) -> None:
    short = shorten(text, width)
    assert len(short) <= width
    assert "\n" not in short


@pytest.mark.parametrize("name", ["", "mine"])
@pytest.mark.parametrize("command", ["python train.py --lr 1", "  /bin/true  ", "A=1 ./run.sh", "12", "# note\necho"])
def test_a_request_for_another_command_is_what_it_would_be_if_it_were_made_anew(command: str, name: str) -> None:
    asked: dict[str, Any] = {"project": "p", "retries": 2, "gpus": 1, "variables": {"A": "1"}}
    first = JobSpec("false", "/work", **asked)
    made = first.with_command(command, name)
    assert made == JobSpec(command, "/work", name=name, **asked)
    made.held = True
    assert not first.held


@pytest.mark.parametrize("command", ["", " \n", "a\0b"])
def test_another_command_that_cannot_run_is_refused_too(command: str) -> None:
    with pytest.raises(UsageError):
        JobSpec("true", "/").with_command(command)
