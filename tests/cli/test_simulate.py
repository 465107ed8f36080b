"""`duckrow simulate`."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from duckrow.cli.main import run_cli

TRACE = "submit,duration,gpus,memory,command\n" + "".join(
    f"0,{100 + 10 * number},1,{10 + number}G,python train.py --n {number}\n" for number in range(12)
)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.csv"
    path.write_text(TRACE)
    return path


def test_it_prints_how_a_trace_would_go_beside_what_would_be_possible(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["simulate", "--devices", "2xH100-80G", "--trace", str(trace), "--search", "0"]) == 0
    told = capsys.readouterr()
    assert [line.split()[0] for line in told.out.splitlines()] == ["MAKESPAN", "duckrow", "in", "search", "bound"]
    assert told.err == "duckrow: 12 jobs on 2xH100-80G, simulated.\n"


def test_the_same_as_json_and_only_the_first_jobs(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "--devices", "1x80G", "--trace", str(trace), "--jobs", "1", "--search", "0", "--json"]
    assert run_cli(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["schedule"] for each in told] == ["duckrow", "in order", "search"]
    assert {each["jobs"] for each in told} == {1}
    assert told[0]["makespan_s"] == pytest.approx(100.0, abs=0.1)
    assert told[0]["lower_bound_s"] == 100.0


def test_it_says_how_many_jobs_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("duration,gpus\n60,1\n60,0\n")
    assert run_cli(["simulate", "--devices", "1x80G", "--trace", str(path), "--search", "0"]) == 0
    assert "duckrow: left out: 1 job that did not succeed, did not run, or had no GPU." in capsys.readouterr().err


def test_a_picture_has_a_box_for_each_job(trace: Path, tmp_path: Path) -> None:
    picture = tmp_path / "timeline.svg"
    run_cli(
        ["simulate", "--devices", "2x80G", "--trace", str(trace), "--search", "0", "--picture", str(picture)],
    )
    boxes = [each for each in ElementTree.parse(picture).iter() if each.tag.endswith("}title")]
    told = {(each.text or "").partition(":")[0]: each.text for each in boxes}
    assert sorted(told) == sorted(f"job {number}" for number in range(1, 13))
    assert told["job 1"] == "job 1: 1m 40s, python train.py --n 0"


@pytest.mark.parametrize(
    ("devices", "text", "why"),
    [
        ("8xH100", TRACE, "does not say which GPUs"),
        ("1x8G", TRACE, "A job of the trace (python train.py --n 0, 1m 40s) needs 10G on each GPU; 1x8G has 8G."),
        ("1x80G", "duration\nx\n", "line 2: 'x' is not a time"),
        ("1x80G", None, "cannot be read: No such file"),
        ("1x80G", b"\xff\xfe\x00", "is not a text file"),
    ],
)
def test_what_cannot_be_simulated_is_said_in_a_sentence(
    devices: str, text: str | bytes | None, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert run_cli(["simulate", "--devices", devices, "--trace", str(path)]) == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("picture", "why"),
    [
        ("x.png", "draws an SVG file: --picture {}/x.svg"),
        ("none/x.svg", "x.svg cannot be written"),
        ("folder.svg", "cannot be written"),
    ],
)
def test_a_picture_that_cannot_be_drawn_is_refused_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], picture: str, why: str
) -> None:
    (tmp_path / "folder.svg").mkdir()
    words = ["simulate", "--devices", "1x80G", "--trace", "missing.csv", "--picture", str(tmp_path / picture)]
    assert run_cli(words) == 2
    told = capsys.readouterr().err
    assert why.format(tmp_path) in told
    assert "missing.csv" not in told


def test_a_trace_may_begin_with_a_byte_order_mark(trace: Path) -> None:
    trace.write_text("\ufeff" + TRACE)
    assert run_cli(["simulate", "--devices", "1x80G", "--trace", str(trace), "--jobs", "1", "--search", "0"]) == 0
