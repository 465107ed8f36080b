"""A sweep as a file: what is read from YAML, TOML and CSV, and what is refused in which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from duckrow.api.sweeps.files import SweepFile, read_sweep_file
from duckrow.core.errors import UsageError
from duckrow.core.sweeps.sweep import expand


def read(tmp_path: Path, name: str, text: str) -> SweepFile:
    (tmp_path / name).write_text(text)
    return read_sweep_file(str(tmp_path / name))


def points(found: SweepFile) -> list[dict[str, Any]]:
    return [dict(point) for point in expand(found.grids, None, None, 0)]


@pytest.mark.parametrize("name", ["sweep.yaml", "sweep.yml", "SWEEP.YAML"])
def test_yaml_holds_a_command_and_its_parameters(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, name, "command: train {lr}\nname: demo\nseed: 3\nparameters:\n  lr: [0.1, 1e-3]\n")
    assert (found.command, found.name, found.seed) == ("train {lr}", "demo", 3)
    assert points(found) == [{"lr": 0.1}, {"lr": 0.001}], "1e-3 is a number, not a text as in YAML 1.1"


def test_toml_holds_the_same(tmp_path: Path) -> None:
    found = read(tmp_path, "sweep.toml", 'project = "thesis"\nmode = "random"\nn_samples = 2\n[parameters]\nlr = [1]\n')
    assert (found.project, found.mode, found.n_samples) == ("thesis", "random", 2)
    assert points(found) == [{"lr": 1}]


def test_several_grids_are_united(tmp_path: Path) -> None:
    found = read(tmp_path, "s.yaml", "parameters:\n- {a: [1, 2]}\n- {b: [3]}\n- {}\n")
    assert points(found) == [{"a": 1}, {"a": 2}, {"b": 3}]


def test_each_row_of_a_csv_is_a_run(tmp_path: Path) -> None:
    found = read(tmp_path, "s.csv", "lr, model\n0.1, a\n\n0.2, b\n")
    assert points(found) == [{"lr": "0.1", "model": "a"}, {"lr": "0.2", "model": "b"}]


@pytest.mark.parametrize(
    ("name", "text"), [("s.csv", "lr\n1\n"), ("s.toml", "parameters.lr = [1]"), ("s.yaml", "parameters: {lr: [1]}")]
)
def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path, name: str, text: str) -> None:
    assert points(read(tmp_path, name, f"\ufeff{text}")) == points(read(tmp_path, name, text))


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("s.txt", "", "is not a sweep: its name must end in .yaml, .yml, .toml or .csv."),
        ("s.yaml", "a: [", "is not valid YAML: "),
        ("s.yaml", "parameters:\n  s: [1]\n  s: [3]\n", "is not valid YAML: it has s twice"),
        ("s.yaml", "- 1\n", "must hold `command:` and `parameters:`."),
        ("s.yaml", "comand: x\n", "there is no key 'comand'. Did you mean 'command'?"),
        ("s.yaml", "name: 3\n", "the value of 'name' cannot be 3."),
        ("s.yaml", "seed: true\n", "the value of 'seed' cannot be True."),
        ("s.yaml", "mode: sorted\n", "there is no mode 'sorted'. Choose from: "),
        ("s.yaml", "parameters: [3]\n", "`parameters` is a table of names and values, or a list of such tables."),
        ("s.yaml", "parameters: {1: [2]}\n", "`parameters` is a table of names and values, or a list of such tables."),
        ("s.csv", "lr\n", "has no rows. Its first line names the parameters, each other line is a run."),
        ("s.csv", "lr,lr\n1,2\n", "each column needs its own name in the first line."),
        ("s.csv", "lr,\n1,2\n", "each column needs its own name in the first line."),
        ("s.csv", "lr,model\n1,a\n2\n", "line 3: 1 values for 2 parameters."),
    ],
)
def test_a_file_that_is_no_sweep_is_refused(tmp_path: Path, name: str, text: str, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(tmp_path, name, text)
    assert told in str(refused.value)
    assert str(tmp_path / name) in str(refused.value)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot be read: No such file or directory\."):
        read_sweep_file(str(tmp_path / "none.yaml"))
    (tmp_path / "picture.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=r"is not text\."):
        read_sweep_file(str(tmp_path / "picture.csv"))
