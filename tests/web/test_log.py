"""Logs over HTTP: pieces, searches, what comes, and a log of a gigabyte."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from duckrow.api.logs.reading import read_piece
from duckrow.api.logs.search import search_backwards, search_forwards
from tests.conftest import Duckrow
from tests.web.conftest import API, Server


def events_of(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    kind = "message"
    for line in lines:
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))
            kind = "message"


def test_pieces_are_read_from_either_end(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add("printf 'one\\ntwo\\nthree\\n'")
    duckrow.wait_for(job_id, "succeeded")
    whole = queue.get(f"/jobs/{job_id}/log")
    assert whole == {"text": "one\ntwo\nthree\n", "from": 0, "to": 14, "size": 14, "ended": True, "attempt": 1}
    last = queue.get(f"/jobs/{job_id}/log", **{"from": -6})
    assert (last["text"], last["from"]) == ("three\n", 8)
    piece = queue.get(f"/jobs/{job_id}/log", **{"from": 4, "bytes": 4})
    assert (piece["text"], piece["to"]) == ("two\n", 8)
    assert queue.get(f"/jobs/{job_id}/log", **{"from": 10**12})["text"] == ""
    with queue.script() as script:
        answer = script.get(f"{API}/jobs/{job_id}/log/download")
        assert answer.text == "one\ntwo\nthree\n"
        assert answer.headers["content-disposition"] == f'attachment; filename="job-{job_id}-attempt-1.log"'
        assert script.get(f"{API}/jobs/{job_id}/log?attempt=2").status_code == 404


def test_whole_lines_are_had_for_the_asking(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add("echo first; echo second")
    duckrow.wait_for(job_id, "succeeded")
    assert queue.get(f"/jobs/{job_id}/log", **{"from": -10})["text"] == "st\nsecond\n"
    assert queue.get(f"/jobs/{job_id}/log", **{"from": -10}, lines=True)["text"] == "second\n"


def test_every_attempt_has_its_log(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add("echo attempt $DUCKROW_ATTEMPT; exit 1", retries=1, backoff="0s")
    duckrow.wait_for(job_id, "failed")
    assert queue.get(f"/jobs/{job_id}/log")["text"] == "attempt 2\n"
    assert queue.get(f"/jobs/{job_id}/log", attempt=1)["text"] == "attempt 1\n"


def test_a_log_is_followed_to_its_end(queue: Server, duckrow: Duckrow) -> None:
    gate = duckrow.work / "gate"
    [job_id] = queue.add(f"echo begun; while [ ! -e {gate} ]; do sleep 0.05; done; echo ended")
    duckrow.wait_for(job_id, "running")
    with queue.script() as script, script.stream("GET", f"{API}/jobs/{job_id}/log/stream") as stream:
        events = events_of(stream.iter_lines())
        kind, first = next(events)
        assert (kind, first["text"], first["from"]) == ("message", "begun\n", 0)
        gate.touch()
        assert [(kind, said.get("text")) for kind, said in events] == [("message", "ended\n"), ("end", None)]


def test_a_log_is_followed_from_before_its_first_line(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add("echo hello", hold=True)
    with queue.script() as script, script.stream("GET", f"{API}/jobs/{job_id}/log/stream") as stream:
        queue.post("/jobs/actions", {"action": "release", "ids": [job_id]})
        assert [kind for kind, _ in events_of(stream.iter_lines())][-1] == "end"
    duckrow.wait_for(job_id, "succeeded")


@pytest.mark.parametrize(
    ("begin", "count", "text"),
    [
        (0, 5, "one\n"),
        (0, 4, "one\n"),
        (0, 100, "one\ntwo\nlong line\nend"),
        (1, 100, "two\nlong line\nend"),
        (4, 100, "two\nlong line\nend"),  # just where a line begins
        (5, 5, "wo\n"),  # no whole line is in there
        (8, 5, "long "),  # nor here: there is always something, so that a reader gets on
        (-5, 100, "end"),
        (-3, 100, "end"),
        (100, 100, ""),
    ],
)
def test_a_piece_of_whole_lines_has_no_half_line_at_its_ends(tmp_path: Path, begin: int, count: int, text: str) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntwo\nlong line\nend")
    piece = read_piece(str(log), begin, count, whole_lines=True)
    assert piece["text"] == text
    assert log.read_text()[piece["from"] : piece["to"]] == text


def test_characters_are_never_cut(tmp_path: Path) -> None:
    log = tmp_path / "log"
    text = "añ€🦆" * 50
    log.write_text(text)
    for size in (4, 5, 6, 7, 11):
        at, found = 0, ""
        while at < len(text.encode()):
            piece = read_piece(str(log), at, size)
            assert piece["from"] == at
            found, at = found + piece["text"], piece["to"]
        assert found == text
    assert "\ufffd" not in read_piece(str(log), -7, 7)["text"]


def test_bytes_that_are_no_text_are_shown_as_such_and_never_stop_a_reader(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\x80" * 10 + b"ok\xf0\x9f")
    at, found = 0, ""
    for _ in range(30):
        piece = read_piece(str(log), at, 3)
        found, at = found + piece["text"], piece["to"]
    assert at == log.stat().st_size
    assert "ok" in found


def test_lines_are_found_forwards_and_backwards(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"line {number} {'Error' if number % 100 == 0 else 'fine'}\n" for number in range(1000)))
    found = search_forwards(str(log), "ERROR", 0, 3)
    assert [hit["line"] for hit in found["hits"]] == ["line 0 Error", "line 100 Error", "line 200 Error"]
    assert not found["complete"]
    rest = search_forwards(str(log), "error", found["next"], 100)
    assert (len(rest["hits"]), rest["complete"]) == (7, True)
    back = search_backwards(str(log), "error", log.stat().st_size, 2)
    assert [hit["line"] for hit in back["hits"]] == ["line 900 Error", "line 800 Error"]
    further = search_backwards(str(log), "error", back["next"], 100)
    assert further["hits"][0]["line"] == "line 700 Error"
    assert (len(further["hits"]), further["complete"]) == (8, True)


@pytest.mark.parametrize("begin", [0, 5])
def test_a_hit_is_where_its_line_begins(tmp_path: Path, begin: int) -> None:
    log = tmp_path / "log"
    log.write_text("first\nsecond here\nthird")
    [hit] = search_forwards(str(log), "here", begin, 10)["hits"]
    assert read_piece(str(log), hit["at"], 6)["text"] == "second"


def test_a_log_of_a_gigabyte_is_read_at_its_end_and_searched_in_steps(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add("echo begin")
    duckrow.wait_for(job_id, "succeeded")
    with open(queue.get(f"/jobs/{job_id}")["log"], "r+b") as file:
        file.truncate(1 << 30)
        file.seek(0, os.SEEK_END)
        file.write(b"\nthe last line\n")
    before = queue.memory_mb()
    piece = queue.get(f"/jobs/{job_id}/log", **{"from": -14})
    assert piece["text"] == "the last line\n"
    assert (
        queue.get(f"/jobs/{job_id}/log/search", q="last", before=piece["size"], limit=1)["hits"][0]["line"]
        == "the last line"
    )
    found: dict[str, Any] = {"next": (1 << 30) - (300 << 20), "hits": []}  # thrice what may be in memory
    steps = 0
    while not found["hits"]:
        found = queue.get(f"/jobs/{job_id}/log/search", q="the last line", **{"from": found["next"]})
        steps += 1
        assert steps < 1000
    assert queue.memory_mb() < before + 100


def test_a_download_does_not_hold_the_log_in_memory(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add("echo begin")
    duckrow.wait_for(job_id, "succeeded")
    with open(queue.get(f"/jobs/{job_id}")["log"], "r+b") as file:
        file.truncate(100 << 20)
    before, size = queue.memory_mb(), 0
    with queue.script() as script, script.stream("GET", f"{API}/jobs/{job_id}/log/download") as answer:
        assert isinstance(answer, httpx.Response)
        for data in answer.iter_raw():
            size += len(data)
    assert size == 100 << 20
    assert queue.memory_mb() < before + 50
