"""`--help` fits a screen; where it shows only the common options, it says how to see all of them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest

from duckrow.api.adding.job_values import parse_notice
from duckrow.cli.main import run_cli
from duckrow.cli.options.option_groups import GROUPS, GroupedCommand
from duckrow.cli.verbs import ALIASES, EVERYDAY, VERBS
from duckrow.core.jobs.job import DEFAULT_NOTICE, DEFAULT_NOTICE_S, DEFAULT_NOTICE_SIGNAL
from duckrow.core.settings import SETTINGS, Setting

SCREEN_LINES, SCREEN_COLUMNS = 40, 100
SHORTENED = ["run", "sweep", "submit", "up"]


@pytest.fixture(autouse=True)
def screen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", str(SCREEN_COLUMNS))


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run_cli([*words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def options_of(verb: str) -> list[click.Option]:
    """Those that people may know of."""
    command = import_module(f"duckrow.cli.commands.{verb}").command
    return [each for each in command.params if isinstance(each, click.Option) and not each.hidden]


def is_listed(option: click.Option, text: str) -> bool:
    return len(re.findall(rf"^  (?:-\w, |--[\w-]+, )*{option.opts[-1]}[ ,\n]", text, re.MULTILINE)) == 1


@pytest.mark.parametrize("words", [(), *((verb,) for verb in VERBS)], ids=lambda words: " ".join(words) or "duckrow")
def test_the_help_fits_a_screen(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, *words, "--help").splitlines()
    assert len(lines) <= SCREEN_LINES


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_is_in_the_whole_help_once(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, verb, "--help-all")
    assert [option.opts for option in options_of(verb) if not is_listed(option, text)] == []


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_says_how_many_options_it_leaves_out(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, verb, "--help")
    left_out = [option.opts for option in options_of(verb) if not is_listed(option, text)]
    left_out = [names for names in left_out if names != ["--help-all"]]
    told = f"{len(left_out)} more options: duckrow {verb} --help-all"
    assert (text.splitlines()[-1] == told) is bool(left_out)
    assert bool(left_out) is (verb in SHORTENED)


def test_the_whole_help_comes_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    def groups(verb: str) -> list[str]:
        return re.findall(r"^(\w.*):$", shown(capsys, verb, "--help-all"), re.MULTILINE)

    what, job, where, sharing, cluster = GROUPS
    assert groups("run") == groups("sweep") == [what, job, where, sharing, cluster, "Options"]
    assert groups("submit") == [what, job, cluster, "Options"]
    assert groups("up") == [where, sharing, "Options"]


@pytest.mark.parametrize("verb", SHORTENED)
def test_every_common_option_is_an_option(verb: str) -> None:
    command = import_module(f"duckrow.cli.commands.{verb}").command
    assert isinstance(command, GroupedCommand)
    assert set(command.common) <= {option.name for option in options_of(verb)}


def test_the_help_of_duckrow_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "--help")
    assert set(EVERYDAY) < set(VERBS)
    for verb in VERBS:
        line = re.search(rf"^  {verb} +{re.escape(VERBS[verb])}$", text, re.MULTILINE)
        assert bool(line) is (verb in EVERYDAY), verb
        assert re.search(rf"^ .*\b{verb}\b", text, re.MULTILINE), verb
    assert text.splitlines()[-1] == "All commands with their meaning: duckrow --help-all"


def test_the_whole_help_of_duckrow_explains_every_command_and_alias(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "--help-all")
    for verb, line in [*VERBS.items(), *((alias, f"Same as {words}.") for alias, words in ALIASES.items())]:
        assert re.search(rf"^  {verb} +{re.escape(line)}$", text, re.MULTILINE), verb


def test_the_options_of_an_older_tool_are_left_to_it() -> None:
    words = ["dropin", "simple_hypersearch", "echo {x}", "-p", "x", "1", "--help-all"]
    done = subprocess.run([sys.executable, "-m", "duckrow", *words], capture_output=True, text=True)
    assert done.stderr.endswith("error: unrecognized arguments: --help-all\n")


def told_defaults() -> Iterator[tuple[Setting, str]]:
    """Each setting, with what the help of an option that it decides says of its default."""
    verbs = {"run": ["run"], "daemon": ["up"], "job": ["run", "submit"]}
    for setting in SETTINGS:
        for option in (each for verb in verbs.get(setting.section, []) for each in options_of(verb)):
            told = re.search(r"\[default: ([^],]*)", option.help or "")
            if f"--{setting.key.replace('_', '-')}" in option.opts and told:
                yield setting, told[1]


def test_a_default_in_the_help_is_that_of_the_settings() -> None:
    compared = {setting.name: (told, str(setting.default)) for setting, told in told_defaults() if setting.default}
    assert {"job.project", "job.priority", "job.backoff", "job.signal", "job.grace", "job.shell"} <= compared.keys()
    assert [name for name, (told, default) in compared.items() if told != default] == []


def test_the_notice_in_words_is_what_a_job_gets() -> None:
    assert parse_notice(DEFAULT_NOTICE) == (DEFAULT_NOTICE_SIGNAL, DEFAULT_NOTICE_S)
