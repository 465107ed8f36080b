"""What the page of a job is told over HTTP: its error, its metrics, which of an array it is, who is ahead of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Duckrow
from tests.web.conftest import API, Server

_REPORT = "import duckrow, sys; [duckrow.report(loss=float(word), step=n) for n, word in enumerate(sys.argv[1:])]"
REPORT = f'{sys.executable} -c "{_REPORT}"'


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server and a daemon with two slots, which these tests share: each looks at its own jobs."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "work").mkdir()
    program = Duckrow(folder / "state", folder / "work")
    program.up("--slots", "2")
    server = Server(program)
    yield server
    server.end()
    program.kill_everything()


@pytest.fixture
def duckrow(queue: Server) -> Duckrow:
    return queue.duckrow


def legal(server: Server, path: str) -> Any:
    """The answer, in which no number may be one that JSON does not know."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    with server.script() as script:
        answer = script.get(f"{API}{path}")
        assert answer.status_code == 200, answer.text
        return json.loads(answer.text, parse_constant=refuse)


def test_a_failed_job_tells_its_error_and_others_tell_none(queue: Server, duckrow: Duckrow) -> None:
    trace = "print('\\n'.join(map(str, range(90)))); 1/0"
    jobs = queue.add(f'python3 -c "{trace}"\nseq 100; exit 3\necho fine\nexit 4')
    for job_id, outcome in zip(jobs, ("failed", "failed", "succeeded", "failed"), strict=True):
        duckrow.wait_for(job_id, outcome)
    python, shell, fine, mute = (queue.get(f"/jobs/{job_id}")["error"] for job_id in jobs)
    assert (python[0], python[-1]) == (
        "Traceback (most recent call last):",
        "ZeroDivisionError: division by zero",
    )
    assert shell == [str(number) for number in range(93, 101)]
    assert (fine, mute) == ([], [])


def test_metrics_that_are_not_finite_are_kept_and_the_answer_is_json(queue: Server, duckrow: Duckrow) -> None:
    pattern = f"{REPORT} {{first}} 0.5 nan inf 0.25"
    sweep = queue.post("/sweeps", {"pattern": pattern, "parameters": {"first": "1 -inf"}}, 201)
    for job_id in sweep["ids"]:
        duckrow.wait_for(job_id, "succeeded")
    told = [[0, 1], [1, 0.5], [2, "NaN"], [3, "Infinity"], [4, 0.25]]
    series = legal(queue, f"/sweeps/{sweep['sweep']}/metrics?metric=loss")["series"]
    assert [one["points"] for one in series] == [told, [[0, "-Infinity"], *told[1:]]]
    items = {item["metric"]: item for item in legal(queue, f"/jobs/{sweep['ids'][0]}/metrics")["items"]}
    assert items["loss"] == {"metric": "loss", "last": 0.25, "points": told}
    assert items["step"]["last"] == 4


def test_a_job_outside_a_sweep_has_metrics_too(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add(f"{REPORT} 3 2 1")
    duckrow.wait_for(job_id, "succeeded")
    assert "metrics    step=2 loss=1" in duckrow("show", str(job_id)).stdout.replace("loss=1 step=2", "step=2 loss=1")
    items = queue.get(f"/jobs/{job_id}/metrics", max_points=2)["items"]
    assert next(item["points"] for item in items if item["metric"] == "loss") == [[0, 3], [2, 1]]
    [silent] = queue.add("true")
    duckrow.wait_for(silent, "succeeded")
    assert queue.get(f"/jobs/{silent}/metrics") == {"items": [], "truncated": False}


def test_the_jobs_of_an_array_are_told_apart(queue: Server, duckrow: Duckrow) -> None:
    wanted = {"name": "seeds", "hold": True}
    ids = queue.post("/jobs", {"text": "true", "options": wanted, "array": "3-5"}, 201)["ids"]
    [other] = queue.add("true", hold=True)
    jobs = {job["id"]: job for job in queue.get("/jobs")["items"]}
    assert [(jobs[each]["array_id"], jobs[each]["array_index"]) for each in ids] == [(ids[0], n) for n in (3, 4, 5)]
    assert jobs[other]["array_index"] is None
    assert queue.get(f"/jobs/{ids[1]}")["array_index"] == 4
    assert "seeds[4]" in duckrow("show", str(ids[1])).stdout
    listed = duckrow("ls").stdout
    assert all(f"seeds[{n}]" in listed for n in (3, 4, 5))


def test_a_preview_counts_only_those_that_are_really_ahead(queue: Server, duckrow: Duckrow) -> None:
    def placement(**options: Any) -> str:
        text: str = queue.post("/jobs/preview", {"text": "true", "options": options})["jobs"][0]["placement"]
        return text

    queue.post("/queue/pause", {"project": "paused"})
    queue.add("true\ntrue", hold=True)
    queue.add("true\ntrue", project="paused")
    queue.add("true", begin="tomorrow")
    assert placement().startswith("it starts at once")
    running = queue.add("sleep 600\nsleep 600")
    for job_id in running:
        duckrow.wait_for(job_id, "running")
    assert placement() == "it waits for a free device"
    queue.add("true\ntrue")
    assert placement() == "it waits for a free device, after 2 jobs"
    assert placement(priority=90) == "it waits for a free device"
