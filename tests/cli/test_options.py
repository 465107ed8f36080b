"""The options that say what a job needs, and the words of a command line that name devices."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from duckrow.api.adding.job_values import parse_notice
from duckrow.cli.main import run_cli
from duckrow.cli.options.command_words import command_of
from duckrow.cli.options.gpu_options import DeviceCommand, fold_devices
from duckrow.cli.options.job_options import (
    device_options,
    job_options,
    parse_variable,
)
from duckrow.cli.options.typed_job_options import take_job_options
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import JobSpec


@pytest.mark.parametrize(
    ("typed", "folded"),
    [
        ("", ""),
        ("--devices 0", "--devices 0"),
        ("--devices 0,1 file", "--devices 0,1 file"),
        ("--devices 0 1 2", "--devices 0 --devices 1 --devices 2"),
        ("--devices 0,1 2,3 file --name x", "--devices 0,1 --devices 2,3 file --name x"),
        ("--devices 0+1 2+3", "--devices 0+1 --devices 2+3"),
        ("--devices 0 1 --slots 2", "--devices 0 --devices 1 --slots 2"),
        ("--name x --devices 0 0", "--name x --devices 0 --devices 0"),
        ("--devices all file", "--devices all file"),
        ("--devices 0 --devices 1 2", "--devices 0 --devices 1 --devices 2"),
        ("--devices nonsense 1", "--devices nonsense --devices 1"),
        ("file 1 2", "file 1 2"),
        ("--slots 2 3", "--slots 2 3"),
        ("--devices", "--devices"),
    ],
)
def test_gpus_take_all_the_words_that_look_like_devices(typed: str, folded: str) -> None:
    assert fold_devices(typed.split()) == folded.split()


def test_an_empty_word_among_the_devices_is_one_of_them() -> None:
    assert fold_devices(["--devices", "0", "", "file"]) == ["--devices", "0", "--devices", "", "file"]


def test_folding_does_not_change_what_was_typed() -> None:
    typed = ["--devices", "0", "1"]
    fold_devices(typed)
    assert typed == ["--devices", "0", "1"]


@click.command(cls=DeviceCommand)
@click.argument("file", required=False)
@device_options
def sample(**_: object) -> None: ...


def parsed(*words: str) -> click.Context:
    return sample.make_context("sample", list(words))


def test_what_follows_the_dashes_is_kept_apart() -> None:
    ctx = parsed("--devices", "0", "1", "--", "python", "--devices", "7", "--", "x")
    assert ctx.params["devices"] == ("0", "1")
    assert ctx.params["file"] is None
    assert ctx.meta["duckrow.command"] == ["python", "--devices", "7", "--", "x"]


def test_without_dashes_there_is_no_command() -> None:
    assert "duckrow.command" not in parsed("--devices", "0", "commands.txt").meta


def test_dashes_with_nothing_behind_them_are_an_empty_command() -> None:
    assert parsed("--").meta["duckrow.command"] == []


def test_the_file_may_follow_the_devices() -> None:
    assert parsed("--devices", "0,1", "2,3", "commands.txt").params["file"] == "commands.txt"


@pytest.mark.parametrize("words", [["--slots", "0"], ["--jobs-per-gpu", "0"], ["a", "b"]])
def test_what_cannot_be_is_refused(words: list[str]) -> None:
    with pytest.raises(click.UsageError):
        parsed(*words)


def test_one_word_is_shell_text_and_several_are_kept_apart() -> None:
    assert command_of(["a | b > 'c d'"]) == "a | b > 'c d'"
    assert command_of(["echo", "a b", "$HOME", "it's"]) == """echo 'a b' '$HOME' 'it'"'"'s'"""


def test_no_word_is_no_command() -> None:
    with pytest.raises(UsageError, match="There is no command after --"):
        command_of([])


# -- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "notice"),
    [
        ("USR2@30s", (12, 30.0)),
        ("TERM@1m", (15, 60.0)),
        ("sigusr1@90", (10, 90.0)),
        ("usr1", (10, 30.0)),
        ("@60", (12, 60.0)),
        ("10@5s", (10, 5.0)),
        ("INT@", (2, 30.0)),
        ("none", (None, 0.0)),
        ("None", (None, 0.0)),
    ],
)
def test_a_notice_is_a_signal_and_a_time(text: str, notice: tuple[int | None, float]) -> None:
    assert parse_notice(text) == notice


@pytest.mark.parametrize(
    ("text", "said"),
    [("WHAT@30s", "'WHAT' is not a signal. Write USR2@30s"), ("USR2@soon", "'soon' is not a time"), ("30s", "'30s'")],
)
def test_what_is_no_notice_is_refused_with_examples(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_notice(text)
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["0@30s", "999@30s", "-3", "²@1", "SIG@1"])
def test_a_number_that_is_no_signal_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a signal"):
        parse_notice(text)


@pytest.mark.parametrize(
    ("text", "variable"), [("A=1", ("A", "1")), ("A=", ("A", "")), ("A=b=c", ("A", "b=c")), ("A= x ", ("A", " x "))]
)
def test_a_variable_is_a_name_and_a_value(text: str, variable: tuple[str, str]) -> None:
    assert parse_variable(text) == variable


def test_a_variable_without_a_value_is_taken_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "s=cret")
    assert parse_variable("TOKEN") == ("TOKEN", "s=cret")


def test_a_variable_that_is_not_set_cannot_be_taken_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOKEN", raising=False)
    with pytest.raises(UsageError, match=r"--env TOKEN: this variable is not set\. Write --env TOKEN=VALUE"):
        parse_variable("TOKEN")


@pytest.mark.parametrize("text", ["=x", "A=\0"])
def test_what_is_no_variable_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a variable"):
        parse_variable(text)


@click.command()
@job_options
def job_sample(**_: object) -> None: ...


def spec_of(*words: str, gpus: int | None = None, outfile: str | None = None) -> JobSpec:
    params = dict(job_sample.make_context("sample", list(words)).params)
    options = take_job_options(params)
    assert params == {}, "take_job_options leaves none of its own behind"
    return options.spec("python train.py", gpus, outfile)


def test_without_options_a_job_is_as_its_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert spec_of() == JobSpec("python train.py", str(tmp_path))


def test_every_option_reaches_the_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    words = (
        "-n mine -p thesis --retries 3 --backoff 2m --timeout 1:30:00 --signal TERM@1m --grace 5s "
        "--cwd sub --shell /bin/bash --max-log 10M"
    )
    assert spec_of(*words.split(), gpus=2, outfile="out.txt") == JobSpec(
        command="python train.py",
        cwd=os.path.join(tmp_path, "sub"),
        name="mine",
        project="thesis",
        gpus=2,
        shell="/bin/bash",
        retries=3,
        backoff_s=120.0,
        timeout_s=5400.0,
        notice_signal=15,
        notice_s=60.0,
        grace_s=5.0,
        outfile=os.path.join(tmp_path, "out.txt"),
        max_log_bytes=10 << 20,
    )


def test_a_folder_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    for name in ("sub", "file"):
        with pytest.raises(UsageError) as caught:
            spec_of("--cwd", name)
        assert str(caught.value) == f"The folder {tmp_path}/{name} does not exist. Create it, or choose another."


def test_a_shell_without_a_folder_is_looked_for_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mysh").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert spec_of("--shell", "mysh").shell == f"{tmp_path}/mysh"
    with pytest.raises(UsageError, match=r"There is no shell 'bash' here\. Write its path, such as /bin/bash\."):
        spec_of("--shell", "bash")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--timeout", "soon"], "'soon' is not a time"),
        (["--max-log", "big"], "'big' is not a size"),
        (["--signal", "X@1"], "'X' is not a signal"),
        (["--env", "=1"], "'=1' is not a variable"),
        (["--retries", "-1"], "-1"),
    ],
)
def test_a_bad_value_is_told_with_its_option(words: list[str], said: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        job_sample.make_context("sample", list(words))
    assert said in caught.value.format_message()
    assert words[0] in caught.value.format_message()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "python", "train.py"], "To run one command: duckrow run -- python train.py\n"),
        (["run", "--resume", "night", "l.txt"], "by its name with another file: duckrow run --resume=night l.txt\n"),
        (["run", __file__, __file__], f"To run several: cat {__file__} {__file__} | duckrow run\n"),
        (["run", "--file", "x"], "duckrow: There is no option --file. See: duckrow run --help-all\n"),
    ],
)
def test_a_run_that_is_typed_in_another_way_is_told_what_was_meant(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(words) == 2
    assert capsys.readouterr().err.endswith(said)
