"""A text is found in a log, forwards and backwards, in pieces of lines and of time."""

from __future__ import annotations

from pathlib import Path

import pytest

from duckrow.api.logs import search
from duckrow.api.logs.search import search_backwards, search_forwards
from duckrow.core.errors import UsageError

LINES = ["Loss 1", "nothing", "loss 2", "LOSS 3"]


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "job.log"
    path.write_text("\n".join(LINES) + "\n")
    return str(path)


@pytest.fixture(params=[1 << 20, 8], ids=["at once", "in small pieces"])
def _pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_CHUNK", request.param)


@pytest.mark.usefixtures("_pieces")
def test_every_line_with_the_text_is_found_whatever_its_case(log: str) -> None:
    forwards, backwards = search_forwards(log, "loss", -5, 10), search_backwards(log, "loss", 10_000, 10)
    found = [{"at": 0, "line": "Loss 1"}, {"at": 15, "line": "loss 2"}, {"at": 22, "line": "LOSS 3"}]
    assert forwards == {"hits": found, "next": None, "complete": True}
    assert backwards == {"hits": found[::-1], "next": None, "complete": True}


@pytest.mark.usefixtures("_pieces")
def test_a_search_goes_on_where_it_stopped(log: str) -> None:
    first = search_forwards(log, "loss", 0, 1)
    assert ([hit["at"] for hit in first["hits"]], first["complete"]) == ([0], False)
    assert [hit["at"] for hit in search_forwards(log, "loss", first["next"], 5)["hits"]] == [15, 22]
    last = search_backwards(log, "loss", 10_000, 1)
    assert [hit["at"] for hit in last["hits"]] == [22]
    rest = search_backwards(log, "loss", last["next"], 2)
    assert ([hit["at"] for hit in rest["hits"]], rest["complete"]) == ([15, 0], True)


def test_it_stops_when_its_time_is_over_and_says_where(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_CHUNK", 8)
    monkeypatch.setattr(search, "_SEARCH_S", -1.0)
    assert search_forwards(log, "loss", 0, 10) == {
        "hits": [{"at": 0, "line": "Loss 1"}],
        "next": 7,
        "complete": False,
    }
    assert search_backwards(log, "nothing", 7, 10) == {"hits": [], "next": 0, "complete": True}


def test_without_a_text_or_a_log_nothing_is_found(log: str) -> None:
    with pytest.raises(UsageError, match="There is no text to search for"):
        search_forwards(log, "", 0, 1)
    assert search_forwards(f"{log}.none", "x", 0, 1) == {"hits": [], "next": None, "complete": True}


def test_of_a_long_line_only_its_beginning_is_shown(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("loss" + "." * 1000)
    assert len(search_forwards(str(tmp_path / "x"), "loss", 0, 1)["hits"][0]["line"]) == 500
