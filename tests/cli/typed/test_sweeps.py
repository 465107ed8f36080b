"""`duckrow sweep`: printed, run here, queued; each run in its own folder; continued where it stopped."""

from __future__ import annotations

import json
import sys

import pytest

from duckrow.cli.main import run_cli
from tests.cli.typed.dry_duckrow import DryDuckrow

# -- printing -------------------------------------------------------------------------------------------------------


def test_a_grid_is_printed_as_commands_in_order(duckrow: DryDuckrow) -> None:
    done = duckrow("sweep", "train --lr {lr} --seed {seed}", "-p", "lr", "0.1", "1e-2", "-p", "seed", "0..1")
    assert done.stdout == (
        "train --lr 0.1 --seed 0\ntrain --lr 0.1 --seed 1\ntrain --lr 1e-2 --seed 0\ntrain --lr 1e-2 --seed 1\n"
    )
    assert done.stderr == ""


def test_negative_numbers_are_values_and_options_end_them(duckrow: DryDuckrow) -> None:
    done = duckrow("sweep", "f {x}", "-p", "x", "-1", "-0.5", "-2..-1", "--mode", "grid")
    assert done.stdout == "f -1\nf -0.5\nf -2\nf -1\n".replace("f -2\nf -1\n", "f -2\n")


def test_several_grids_are_united(duckrow: DryDuckrow) -> None:
    done = duckrow("sweep", "f {m} {z}", "-p", "m", "a", "-p", "z", "1", "2", "--or", "-p", "m", "b", "-p", "z", "3")
    assert done.stdout == "f a 1\nf a 2\nf b 3\n"


def test_points_are_drawn_and_the_same_seed_draws_the_same(duckrow: DryDuckrow) -> None:
    words = ["sweep", "f {lr}", "-p", "lr", "log:1e-5..1e-1", "--n-samples", "5"]
    first, again, other = (duckrow(*words, "--seed", seed).stdout for seed in ("1", "1", "2"))
    assert first == again
    assert first != other
    assert len(set(first.split("\n")[:-1])) == 5


def test_a_command_behind_two_dashes_keeps_its_words(duckrow: DryDuckrow) -> None:
    assert duckrow("sweep", "-p", "x", "1", "--", "echo", "a b", "--x={x}").stdout == "echo 'a b' '--x=1'\n"


def test_the_points_as_json(duckrow: DryDuckrow) -> None:
    told = json.loads(duckrow("sweep", "f {x}", "-p", "x", "a", "--json").stdout)
    assert told == [{"command": "f a", "parameters": {"x": "a"}}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sweep.yaml", "command: f {lr} {seed}\nparameters:\n  lr: [0.1, 1e-3]\n  seed: 0..1\n"),
        ("sweep.toml", 'command = "f {lr} {seed}"\n[parameters]\nlr = [0.1, 0.001]\nseed = "0..1"\n'),
        (
            "sweep.yml",
            "command: f {lr} {seed}\nparameters:\n  - {lr: 0.1, seed: [0, 1]}\n  - {lr: [0.001], seed: [0, 1]}\n",
        ),
    ],
)
def test_a_sweep_may_stand_in_a_file(duckrow: DryDuckrow, name: str, text: str) -> None:
    (duckrow.work / name).write_text(text)
    assert duckrow("sweep", "--from", name).stdout == "f 0.1 0\nf 0.1 1\nf 0.001 0\nf 0.001 1\n"
    assert duckrow("sweep", "--from", name, "-p", "seed", "7").stdout == "f 0.1 7\nf 0.001 7\n"


def test_a_table_of_points_may_stand_in_a_file(duckrow: DryDuckrow) -> None:
    (duckrow.work / "points.csv").write_text('lr,name\n0.1,"a, b"\n0.2,c\n')
    assert duckrow("sweep", "f {lr} {name}", "--from", "points.csv").stdout == "f 0.1 'a, b'\nf 0.2 c\n"


def test_a_file_may_say_how_to_draw(duckrow: DryDuckrow) -> None:
    (duckrow.work / "s.yaml").write_text(
        "command: f {x}\nmode: random\nn_samples: 3\nseed: 4\nparameters: {x: 0..99}\n"
    )
    typed = duckrow("sweep", "f {x}", "-p", "x", "0..99", "--mode", "random", "--n-samples", "3", "--seed", "4").stdout
    assert duckrow("sweep", "--from", "s.yaml").stdout == typed


@pytest.mark.parametrize("terminals", [{"stdout", "stderr"}, {"stdout"}, {"stderr"}, set()])
def test_in_a_terminal_printed_commands_end_with_how_to_run_them(
    terminals: set[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in terminals:
        monkeypatch.setattr(getattr(sys, name), "isatty", lambda: True)
    assert run_cli(["sweep", "f {x}", "-p", "x", "1", "2"]) == 0
    hint = "duckrow: 2 commands; --run runs them here, --submit queues them.\n"
    assert capsys.readouterr() == ("f 1\nf 2\n", hint if len(terminals) == 2 else "")


def test_a_dry_run_of_a_sweep_shows_what_would_run_where_and_writes_nothing(duckrow: DryDuckrow) -> None:
    nowhere = duckrow.work / "state"
    words = ["sweep", "touch {x}", "-p", "x", "1..3", "--run", "--dry-run", "--devices", "0,1"]
    shown = duckrow(*words, env={"DUCKROW_HOME": str(nowhere)})
    assert [line.split() for line in shown.stdout.splitlines()] == [
        ["GPU", "0", "touch", "1"],
        ["GPU", "1", "touch", "2"],
        ["next", "free", "touch", "3"],
    ]
    assert shown.stderr == "duckrow: 3 jobs. 2 of them would start now. Nothing was run.\n"
    assert list(duckrow.work.iterdir()) == []


def test_a_dry_run_of_a_sweep_shows_what_is_left_of_it(duckrow: DryDuckrow) -> None:
    words = ["sweep", "exit {x}", "-p", "x", "0", "1", "--run"]
    duckrow(*words, "--devices", "3", "--timeout", "1h", ok=False)
    before = sorted(duckrow.work.rglob("*"))
    shown = duckrow("sweep", "exit {x}", "-p", "x", "0", "1", "2", "--run", "--dry-run")
    assert [line.split() for line in shown.stdout.splitlines()] == [
        ["GPU", "3", "exit", "1", "(limit", "1h", "00m)"],
        ["next", "free", "exit", "2"],
    ]
    said = "1 new, 1 that did not succeed run again, 1 skipped (succeeded before)"
    assert shown.stderr.startswith(f"duckrow: sweep exit: {said}.\nduckrow: 2 jobs. 1 of them would start now.")
    assert sorted(duckrow.work.rglob("*")) == before
    assert duckrow.sql("SELECT outcome FROM jobs ORDER BY id") == [("succeeded",), ("failed",)]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--cpus", "100000"], "No job can ever start."),
        (["--name", "a/b"], "a/b"),
        (["--devices", "zero"], "does not name GPUs"),
    ],
)
def test_a_dry_run_of_a_sweep_refuses_what_the_run_would_refuse(
    duckrow: DryDuckrow, words: list[str], sentence: str
) -> None:
    refused = duckrow("sweep", "f {x}", "-p", "x", "1", "--run", "--dry-run", *words, ok=False)
    really = duckrow("sweep", "f {x}", "-p", "x", "1", "--run", *words, ok=False)
    assert (refused.returncode, refused.stderr) == (2, really.stderr.removeprefix("duckrow: sweep f: 1 new.\n"))
    assert sentence in refused.stderr


@pytest.mark.parametrize("words", [["--run", "--slots", "1"], ["--submit"]])
def test_a_sweep_that_can_never_start_leaves_nothing_to_resume(duckrow: DryDuckrow, words: list[str]) -> None:
    refused = duckrow("sweep", "f {x}", "-p", "x", "1", *words, "--cpus", "100000", ok=False)
    assert (refused.returncode, "can ever start" in refused.stderr or "never start" in refused.stderr) == (2, True)
    assert duckrow.sql("SELECT count(*) FROM sweeps") == [(0,)]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "There is no command."),
        (["f {x}"], "The command has the placeholder {x}, but there is no value for it."),
        (["f {x}", "-p", "y", "1"], "no parameter is called x"),
        (["f {x}", "-p"], "-p takes a name and its values"),
        (["f {x}", "-p", "x"], "has no value"),
        (["f {x}", "-p", "x", "1", "-p", "x", "2"], "The parameter 'x' is given twice"),
        (["f {x}", "-p", "x", "log:1..2"], "--n-samples"),
        (["f {x}", "-p", "x", "1", "--run", "--submit"], "Either --run or --submit"),
        (["f {x}", "-p", "x", "1", "--submit", "--dry-run"], "Omit --submit, or omit --dry-run."),
        (["f {x}", "-p", "x", "1", "--resume", "--dry-run"], "--dry-run does not go with --resume."),
        (["f {x}", "-p", "x", "1", "--timeout", "1h"], "--timeout is for a sweep that runs. Add --run or --submit"),
        (["f {x}", "-p", "x", "1", "--submit", "--devices", "0"], "How many each run gets is --gpus."),
        (["--from", "no.yaml"], "The file no.yaml cannot be read"),
        (["--from", "bad.txt"], "must end in .yaml"),
        (["--from", "broken.yaml"], "broken.yaml is not valid YAML"),
        (["--from", "broken.toml"], "broken.toml is not valid TOML"),
        (["--from", "keys.yaml"], "there is no key 'parameter'. Did you mean 'parameters'?"),
        (["f", "--from", "short.csv"], "short.csv, line 2: 1 values for 2 parameters"),
        (["--resume"], "There is no sweep below"),
        (["--resume", "--name", "nosuch"], "There is no sweep 'nosuch', and no other yet."),
    ],
)
def test_wrong_input_gets_a_sentence(duckrow: DryDuckrow, words: list[str], sentence: str) -> None:
    (duckrow.work / "bad.txt").touch()
    (duckrow.work / "broken.yaml").write_text("a: [")
    (duckrow.work / "broken.toml").write_text("a = ")
    (duckrow.work / "keys.yaml").write_text("parameter: {}")
    (duckrow.work / "short.csv").write_text("a,b\n1\n")
    done = duckrow("sweep", *words, ok=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
