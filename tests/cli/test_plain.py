"""Verbs with the simplest options are answered without click, exactly as click would have them answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from duckrow.cli import plain
from duckrow.cli.commands import ls, run, submit
from duckrow.cli.main import run_cli
from duckrow.cli.options.gpu_options import gpu_count
from duckrow.cli.options.sbatch_command import META
from duckrow.cli.options.slurm_options import take_slurm_options
from duckrow.cli.options.submitted_script import SubmittedScript
from duckrow.cli.options.typed_job_options import nothing_typed, take_job_values
from duckrow.cli.options.verb_options import DeviceOptions, RunOptions, take_run_options
from duckrow.cli.submitting import SubmitOptions
from duckrow.cli.views.job_list import ListOptions

HELP = ["-h", "--help"]  # as the program has it: click keeps it in the verb


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would be submitted."""
    found: list[list[str]] = []

    def take(words: list[str]) -> int:
        found.append(words)
        return 0

    monkeypatch.setattr("duckrow.cli.submitting.submit_plainly", take)
    return found


LISTED = [
    *([], ["--all"], ["-a"], ["--failed"], ["--json"], ["--limit", "30"], ["-l", "007"], ["-l", "2", "--limit", "3"]),
    ["--failed", "-l", "5", "--json", "--all"],
]


@pytest.mark.parametrize("words", LISTED)
def test_what_click_makes_of_simple_options_is_what_ls_is_given(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[ListOptions] = []

    def list_jobs(*, options: ListOptions) -> int:
        given.append(options)
        return 0

    monkeypatch.setattr("duckrow.cli.views.job_list.list_jobs", list_jobs)
    assert plain.answer(["ls", *words]) == 0
    values = ls.command.make_context("duckrow", list(words), help_option_names=HELP).params
    assert values.pop("words") == ()
    assert given == [ListOptions(**values)]


COMMANDS = [["true"], ["--", "true"], ["echo", "-n", "--help"], ["--", "-x"], ["--", "--", "a"], ["a", "--", "-b"]]


@pytest.mark.parametrize("words", COMMANDS)
def test_what_click_makes_of_a_command_alone_is_what_submit_takes_by_default(
    words: list[str], taken: list[list[str]]
) -> None:
    context = submit.command.make_context("duckrow", list(words), help_option_names=HELP)
    values: dict[str, Any] = {**context.params}
    assert plain.answer(["submit", *words]) == 0
    assert taken == [list(values.pop("words"))]
    assert (context.meta[META], values.pop("file"), gpu_count(values)) == (SubmittedScript(), None, None)
    assert take_job_values(values) == nothing_typed()
    assert take_slurm_options(values)[0] is None
    assert SubmitOptions(**values) == SubmitOptions()


RUNS = [
    *([], ["--slots", "2"], ["--devices", "0,1"], ["--devices", "0", "LIST"], ["LIST", "--slots", "16"]),
    *(["--devices", "0", "--slots", "2"], ["LIST"], ["--slots", "3", "LIST", "--devices", "2,0"]),
]


@pytest.mark.parametrize("words", RUNS)
def test_what_click_makes_of_a_list_and_its_devices_is_what_run_takes(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "LIST").write_text("true\n")
    monkeypatch.chdir(tmp_path)
    found: list[tuple[str | None, list[str], int | None]] = []

    def take(file: str | None, devices: list[str], slots: int | None) -> int:
        found.append((file, devices, slots))
        return 0

    monkeypatch.setattr("duckrow.cli.runs.local.run_plainly", take)
    assert plain.answer(["run", *words]) == 0
    ((file, devices, slots),) = found
    context = run.command.make_context("duckrow", list(words), help_option_names=HELP)
    values: dict[str, Any] = {**context.params}
    assert values.pop("file") == file
    gpus = gpu_count(values)
    assert take_job_values(values) == nothing_typed()
    assert take_slurm_options(values)[0] is None
    assert "duckrow.command" not in context.meta
    assert take_run_options(values, gpus) == RunOptions(DeviceOptions(tuple(devices), slots))


FOR_CLICK = [
    *([], ["--version"], ["ls", "3"], ["ls", "-h"], ["kill"], ["no-such-verb"]),
    *(["ls", "--limit"], ["ls", "--limit", "0"], ["ls", "--limit", "-3"], ["ls", "-l", "x"], ["ls", "--limit=3"]),
    *(["ls", "--all", "3"], ["ls", "--sort", "id"], ["ls", "-l", "\N{SUPERSCRIPT TWO}"], ["ls", "-l", "9" * 5000]),
    *(["submit"], ["submit", "--"], ["submit", "-h"], ["submit", "--hold", "true"], ["submit", __file__]),
    *(["run", "-h"], ["run", "--slots"], ["run", "--slots", "0"], ["run", "--slots", "x"], ["run", "--slots=2"]),
    *(
        ["run", "--devices", "0", "1"],
        ["run", "--devices", "0+1"],
        ["run", "--devices", "all"],
        ["run", "no-such-file"],
    ),
    *(["run", "--", "true"], ["run", "--resume"], ["run", "-"], ["run", "--gpus", "1"], ["run", __file__, __file__]),
    *(["run", "--slots", "1", "--slots", "2"], ["run", "--devices", "0", "--devices", "1"], ["run", "/"]),
]


@pytest.mark.parametrize("words", FOR_CLICK)
def test_anything_else_is_for_click(words: list[str], taken: list[list[str]]) -> None:
    assert plain.answer(words) is None
    assert taken == []


@pytest.mark.parametrize("words", [["ls"], ["status"], ["queue"]])
def test_a_verb_without_options_is_answered_under_each_of_its_names(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(words) == 0
    assert "No jobs yet" in capsys.readouterr().err


def test_a_shell_that_completes_gets_its_words_from_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_DUCKROW_COMPLETE", "bash_complete")
    assert plain.answer(["ls"]) is None
