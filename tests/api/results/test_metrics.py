"""What runs report, and how it is read back."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.api.results import metrics as module
from duckrow.api.results.metrics import last_metrics, read_metrics, report


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "metrics.jsonl"
    monkeypatch.setenv("DUCKROW_METRICS", str(path))
    return path


def strictly(text: str) -> Any:
    """As a reader that keeps to the letter of JSON would take it."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


class Scalar:
    """What numpy and torch make of a number."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def item(self) -> Any:
        return self._value

    def __str__(self) -> str:
        return "scalar"


class Array:
    def item(self) -> Any:
        raise ValueError("can only convert an array of size 1")

    def __str__(self) -> str:
        return "[1 2]"


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no")


# -- writing --------------------------------------------------------------------------------------------------------


def test_a_report_is_a_line_of_json_with_its_time(file: Path) -> None:
    before = time.time()
    assert report(loss=0.3, step=10) is True
    assert report(loss=0.2) is True
    first, second = [strictly(line) for line in file.read_text().splitlines()]
    assert before <= first.pop("_time") <= time.time()
    assert first == {"loss": 0.3, "step": 10}
    assert second["loss"] == 0.2


def test_outside_a_run_nothing_happens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DUCKROW_METRICS", raising=False)
    monkeypatch.chdir(tmp_path)
    assert report(loss=0.3) is False
    assert os.listdir(tmp_path) == []


def test_nothing_to_report_writes_nothing(file: Path) -> None:
    assert report() is False
    assert not file.exists()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (True, True), (None, None), ("a\nb", "a\nb"), (10**30, 10**30), (math.nan, "NaN"), (-math.inf, "-Infinity"),
        (Scalar(0.5), 0.5), (Scalar(3), 3), (Scalar(math.inf), "Infinity"), (Scalar(2j), "2j"), (Scalar([1]), "[1]"),
        (Array(), "[1 2]"), (Path("/a"), "/a"), ([1, Scalar(2)], [1, 2]), ({"a": (1, 2)}, {"a": [1, 2]}),
        ({(1, 2): 3}, "{(1, 2): 3}"), ([math.nan], "[nan]"), ("\udcff", "\udcff"),
    ],
)  # fmt: skip
def test_every_value_finds_a_form_that_is_json(file: Path, value: Any, written: Any) -> None:
    assert report(value=value)
    assert strictly(file.read_text())["value"] == written


def test_a_value_that_cannot_even_be_printed_harms_nobody(file: Path) -> None:
    assert report(value=Unprintable()) is False
    assert not file.exists()


@pytest.mark.parametrize("path", ["/nonexistent/folder/metrics.jsonl", "/dev/full", "/"])
def test_a_place_that_cannot_be_written_to_harms_nobody(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUCKROW_METRICS", path)
    assert report(loss=0.3) is False


def test_lines_of_several_writers_do_not_mix(file: Path) -> None:
    threads = [
        threading.Thread(target=lambda: [report(text="x" * 3000, number=number) for number in range(50)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [strictly(line) for line in file.read_text().splitlines()]
    assert sorted(line["number"] for line in lines) == sorted([*range(50)] * 4)


def test_to_report_loads_next_to_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules); import duckrow.api.results.metrics; print(*(set(sys.modules) - before))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    ours = {name for name in loaded if name.startswith("duckrow")}
    assert ours == {"duckrow", "duckrow.api", "duckrow.api.results", "duckrow.api.results.metrics"}
    assert not {"typing", "sqlite3", "subprocess", "numpy", "click"} & set(loaded)


# -- reading --------------------------------------------------------------------------------------------------------


def test_what_was_reported_is_read_back(file: Path) -> None:
    report(loss=math.inf, step=1)
    report(loss=0.5, text="NaN or so")
    first, second = read_metrics(str(file))
    assert (first["loss"], first["step"], second["loss"], second["text"]) == (math.inf, 1, 0.5, "NaN or so")
    assert "_time" in first


def test_broken_lines_and_other_things_are_left_out(file: Path) -> None:
    file.write_bytes(
        b'\xef\xbb\xbf{"loss": 1}\r\n\n{"loss": 2, \n[1, 2]\n7\nnull\nnot json\n{"a": "\xff"}\n'
        + b"[" * 100_000 + b"\n" + b'{"big": ' + b"1" * 5000 + b"}\n"
        + b'{"loss": NaN, "x": null}\n{"loss": 3'
    )  # fmt: skip
    read = read_metrics(str(file))
    assert [line.get("loss") for line in read[:1]] == [1]
    assert read[1] == {"a": "\ufffd"}
    assert math.isnan(read[-1]["loss"])
    assert math.isnan(last_metrics(str(file))["loss"])


@pytest.mark.parametrize("path", ["/nonexistent", "/"])
def test_no_file_is_no_metrics(path: str) -> None:
    assert read_metrics(path) == []
    assert last_metrics(path) == {}


def test_the_last_value_of_each_metric_counts(file: Path) -> None:
    file.write_text(
        '{"loss": 3, "lr": 0.1, "_time": 1}\n{"val": 0.5, "note": "a", "_private": 2, "": 1}\n'
        '{"loss": 2, "lr": null, "_time": 2}\n{"loss": 1, "_time": 3, "lr": null}\n'
    )
    assert last_metrics(str(file)) == {"loss": 1, "val": 0.5, "note": "a", "lr": 0.1}


def test_a_run_that_diverged_does_not_show_its_last_good_value(file: Path) -> None:
    report(loss=0.1)
    report(loss=math.nan)
    assert math.isnan(last_metrics(str(file))["loss"])


_VALUES = st.none() | st.integers() | st.text('ab"\\:,', max_size=3) | st.lists(st.integers(), max_size=2)
_LINES = st.lists(
    st.dictionaries(st.text('ab"\\', min_size=1, max_size=2), _VALUES, max_size=3).map(json.dumps) | st.text('a"{}:1,')
)


@given(_LINES)
def test_lines_are_skipped_only_if_they_add_nothing(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("metrics") / "metrics.jsonl"
    path.write_text("\n".join(lines))
    expected: dict[str, Any] = {}
    for metrics in read_metrics(str(path)):
        expected.update({name: value for name, value in metrics.items() if value is not None and name})
    assert last_metrics(str(path)) == expected


def test_of_a_huge_file_only_the_end_is_read(file: Path) -> None:
    line = json.dumps({"step": 123456, "loss": 0.123456789, "_time": 1700000000.123}).encode() + b"\n"
    with open(file, "wb") as huge:
        huge.write(b'{"early": 1}\n')
        huge.truncate(100 << 20)
        huge.seek(0, os.SEEK_END)
        huge.write(b"\n" + line * (2 * module._TAIL_BYTES // len(line)) + b'{"loss": 7}\n')
    begun = time.process_time()
    assert last_metrics(str(file)) == {"loss": 7, "step": 123456}
    assert time.process_time() - begun < 1.0  # it takes a hundredth of that


def test_a_file_of_a_megabyte_is_read_whole(file: Path) -> None:
    line = b'{"step": 123456}\n'
    file.write_bytes(b'{"early": 1}\n' + line * ((module._TAIL_BYTES - 20) // len(line)))
    assert last_metrics(str(file)) == {"early": 1, "step": 123456}
