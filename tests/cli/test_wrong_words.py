"""What the verbs that look say of words that make no sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from duckrow.cli.main import run_cli
from tests.api.results.test_results import Bench


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--columns", "id,comand"], "no column 'comand'. Did you mean 'command'?"),
        (["--sort", "-tiem"], "no column 'tiem'. Did you mean 'time'?"),
        (["--state", "runing"], "no state 'runing'. Did you mean 'running'?"),
        (["--outcome", "queued"], "no outcome 'queued'."),
        (["--since", "yesterday"], "'yesterday' is not a time"),
        (["--watch"], "--watch needs a terminal"),
        (["--watch", "2", "--json"], "--watch and --json do not go together"),
        (["--limit", "0"], "0 is not in the range"),
        (["99"], "There is no job 99"),
    ],
)
def test_ls_says_what_is_wrong(capsys: pytest.CaptureFixture[str], words: list[str], sentence: str) -> None:
    assert run_cli(["ls", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--json"], "--json goes with --errors"),
        (["-f", "--attempt", "1"], "--follow shows the latest attempt"),
        (["--attempt", "0"], "0 is not in the range"),
        (["99"], "There is no job 99"),
        ([], "There is no job last"),
    ],
)
def test_logs_says_what_is_wrong(capsys: pytest.CaptureFixture[str], words: list[str], sentence: str) -> None:
    assert run_cli(["logs", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["dem"], "There is no sweep 'dem'. Did you mean 'demo'? Choose from: demo."),
        (["--sort", "modl"], "There is no column 'modl'. Did you mean 'model'? Choose from: id, name, state, lr, "),
        (["--columns", "id,x"], "There is no column 'x'. Choose from: "),
        (["--filter", "loss"], "'loss' is not a filter. Write lr=0.1, loss<0.3, "),
        (["--filter", "loss<"], "The filter 'loss<' does not say what to compare with."),
        (["--best", "los"], "No run of 'demo' has reported 'los'. Did you mean 'loss'? Reported: loss, step, note."),
        (["--per", "lr"], "--per and --max go with --best METRIC."),
        (["--max"], "--per and --max go with --best METRIC."),
        (["--csv", "--json"], "Either --csv or --json, not both."),
        (["--list", "demo"], "--list shows all sweeps."),
        (["--list", "--sort", "id"], "--list shows all sweeps."),
    ],
)
def test_wrong_requests_are_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    bench = Bench(tmp_path)
    (job,) = bench.sweep("demo", [{"lr": 0.1, "model": "a"}])
    bench.report(job, loss=1, step=1, note="x")
    bench.finish(job)
    bench.client.close()
    assert run_cli(["results", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"duckrow: {sentence}")
