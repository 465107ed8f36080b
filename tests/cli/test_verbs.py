"""The verbs: their help, what is suggested for a wrong one, and how errors come out."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

from duckrow import __version__
from duckrow.cli import main as main_module
from duckrow.cli.group import cli
from duckrow.cli.main import run_cli
from duckrow.cli.verbs import ELSEWHERE, VERBS
from duckrow.core.errors import StateError, UsageError


@pytest.fixture(autouse=True)
def no_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A state folder that nobody could make."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path / "file" / "impossible"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("COLUMNS", "100")


def help_of(verb: str, capsys: pytest.CaptureFixture[str], flag: str = "--help") -> str:
    assert run_cli([verb, flag]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_every_verb_has_an_example_and_needs_no_state(
    verb: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = help_of(verb, capsys)
    assert re.search(rf"^ *duckrow {verb}( |$)", text, re.MULTILINE), f"`duckrow {verb} --help` shows no example"
    assert text.startswith(f"Usage: duckrow {verb}")
    assert not (tmp_path / "xdg").exists()


@pytest.mark.parametrize("verb", VERBS)
def test_a_short_h_is_help_too(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert help_of(verb, capsys, "-h") == help_of(verb, capsys)


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_of_a_verb_says_what_it_is_for(verb: str) -> None:
    command = import_module(f"duckrow.cli.commands.{verb}").command
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    silent = [option.opts[0] for option in options if not option.help]
    assert not silent


@pytest.mark.parametrize("verb", ["ls", "queue"])
def test_help_of_a_verb_may_come_first(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert help_of("help", capsys, verb) == help_of("ls", capsys)


def test_help_alone_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["help"]) == 0
    listed = capsys.readouterr().out
    assert all(re.search(rf"^  .*\b{verb}\b", listed, re.MULTILINE) for verb in VERBS)


@pytest.mark.parametrize(("verb", "ours"), ELSEWHERE.items(), ids=list(ELSEWHERE))
def test_a_verb_of_another_tool_is_answered_with_ours(verb: str, ours: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli([verb, "--whatever"]) == 2
    assert f"Use: {ours}" in capsys.readouterr().err
    assert all(named in VERBS for named in re.findall(r"duckrow (\w+)", ours))


def test_every_verb_has_its_file_and_every_file_its_verb() -> None:
    folder = Path(main_module.__file__).parent / "commands"
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == set(VERBS)


def test_the_help_loads_no_verb() -> None:
    code = (
        "import sys; from duckrow.cli.main import run_cli; run_cli(['--help']);"
        "sys.exit(str([name for name in sys.modules if name.startswith('duckrow.cli.commands')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == "[]"


def test_a_verb_loads_itself_alone() -> None:
    code = (
        "import sys; from duckrow.cli.main import run_cli; run_cli(['pause', '--help']);"
        "print(*(name for name in sys.modules if name.startswith('duckrow.cli.commands.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "duckrow.cli.commands.pause"


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["--version"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"duckrow {__version__}"


@pytest.mark.parametrize(("typed", "meant"), [("sumbit", "submit"), ("lgos", "logs"), ("kil", "kill"), ("gpu", "gpus")])
def test_for_a_verb_that_is_not_there_the_nearest_is_suggested(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli([typed, "12"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"There is no command '{typed}'. Did you mean `duckrow {meant}`?" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run --devces 0", "There is no option --devces. Did you mean --devices? See: duckrow run --help-all"),
        ("run --blokcs", "There is no option --blokcs. See: duckrow run --help-all"),  # --blocks is hidden
        ("up extra", "Got unexpected extra argument (extra). See: duckrow up --help-all"),
        ("logs --attempt x", "Invalid value for '--attempt': 'x' is not a whole number."),
        (
            "gpus drian 0",
            "No such command 'drian'. (Did you mean one of: 'drain', 'undrain'?) See: duckrow gpus --help",
        ),
        ("edit", "Missing argument 'ID'. See: duckrow edit --help"),
        ("stats", "There is no command 'stats'. Did you mean `duckrow status`?"),
    ],
)
def test_wrong_usage_is_answered_in_one_line(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(words.split()) == 2
    assert capsys.readouterr().err == f"duckrow: {said}\n"


def test_for_a_verb_like_no_other_the_help_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["xyzzy"]) == 2
    assert "There is no command 'xyzzy'. `duckrow --help` lists the commands." in capsys.readouterr().err


def test_an_option_that_is_not_there_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["ls", "--nonsense"]) == 2
    assert "--nonsense" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["kill"], ["kill", "--all", "3"], ["wait"], ["rerun"]])
def test_a_verb_that_needs_jobs_asks_which(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(words) == 2
    assert capsys.readouterr().err.startswith("duckrow: Say which jobs to ")


def test_a_state_folder_that_cannot_be_made_is_told_in_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run_cli(["ls"]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"duckrow: The state folder {tmp_path}/file/impossible cannot be created")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UsageError("No."), 2, "duckrow: No.\n"),
        (StateError("Full."), 1, "duckrow: Full.\n"),
        (KeyboardInterrupt(), 130, ""),
        (click.Abort(), 130, ""),
    ],
)
def test_errors_come_out_as_sentences_and_exit_codes(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cli, "main", fail)
    assert run_cli([]) == code
    assert capsys.readouterr().err == said


def test_what_follows_a_ctrl_c_in_a_terminal_begins_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "main", interrupted)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run_cli([]) == 130
    assert capsys.readouterr().err == "\n"


def test_a_reader_that_has_gone_ends_us_quietly() -> None:
    done = subprocess.run(["sh", "-c", f"{sys.executable} -m duckrow --help | true"], capture_output=True, text=True)
    assert done.stderr == ""
