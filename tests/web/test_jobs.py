"""Jobs over HTTP: looking at them, adding and controlling them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Duckrow, is_running, until
from tests.web.conftest import API, Server


def states(server: Server) -> dict[int, str]:
    return {job["id"]: job["outcome"] or job["state"] for job in server.get("/jobs")["items"]}


# -- looking ------------------------------------------------------------------------------------------------------


def test_jobs_are_listed_running_first_then_waiting_then_the_newest_that_are_done(
    queue: Server, duckrow: Duckrow
) -> None:
    queue.add("true\ntrue")
    for job_id in (1, 2):
        duckrow.wait_for(job_id, "succeeded")
    queue.add("sleep 600\nsleep 600\nsleep 600", name="long")
    for job_id in (3, 4):
        duckrow.wait_for(job_id, "running")
    page = queue.get("/jobs")
    assert [job["id"] for job in page["items"]] == [3, 4, 5, 2, 1]
    assert page["total"] == 5
    assert page["counts"] == {"queued": 1, "running": 2, "succeeded": 2}


def test_lists_are_filtered_sorted_searched_and_paged(queue: Server) -> None:
    queue.post("/queue/pause")
    queue.add("python fit.py --lr 0.1\npython fit.py --lr 100%", project="a")
    queue.add("echo under_score", project="b", priority=50)

    def ids(**query: Any) -> list[int]:
        return [job["id"] for job in queue.get("/jobs", **query)["items"]]

    assert ids(project="a") == [1, 2]
    assert ids(q="100%") == [2]  # % and _ mean themselves
    assert ids(q="r_s") == [3]
    assert ids(q="3") == [3]
    assert ids(q="FIT") == [1, 2]
    assert ids(sort="-id") == [3, 2, 1]
    assert ids(sort="priority") == [1, 2, 3]
    assert ids(status=["running", "failed"]) == []
    assert ids(per_page=2, page=2, sort="id") == [3]
    page = queue.get("/jobs", project="a", status="succeeded")
    assert (page["total"], page["counts"]) == (0, {"queued": 2})


def test_a_filter_that_cannot_be_is_told_with_what_there_is(idle: Server) -> None:
    with idle.script() as script:
        for query, said in (
            ("status=runing", "Did you mean 'running'?"),
            ("sort=size", "Choose from: id"),
            ("sweep=x", "no sweep"),
        ):
            answer = script.get(f"{API}/jobs?{query}")
            assert answer.status_code in (400, 404)
            assert said in answer.json()["error"]["sentence"]


def test_a_job_tells_everything_of_itself(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add("echo hello; exit 3", retries=1, backoff="0s", env={"API_TOKEN": "abc", "PLAIN": "1"})
    duckrow.wait_for(job_id, "failed")
    job = queue.get(f"/jobs/{job_id}")
    assert (job["exit_code"], job["attempts"]) == (3, 2)
    assert [attempt["outcome"] for attempt in job["attempts_list"]] == ["failed", "failed"]
    assert [event["text"] for event in job["events"]][-1].endswith("→ failed")
    assert "API_TOKEN" in job["environment_names"]
    variables = {each["name"]: each for each in queue.get(f"/jobs/{job_id}/environment")["variables"]}
    assert variables["PLAIN"] == {"name": "PLAIN", "value": "1", "masked": False}
    assert variables["API_TOKEN"] == {"name": "API_TOKEN", "value": "••••", "masked": True}
    assert queue.get(f"/jobs/{job_id}/curve") == {"attempt": 2, "points": [], "reserved_mb": None}


def test_a_job_that_is_not_there_is_a_404_with_a_sentence(idle: Server) -> None:
    with idle.script() as script:
        for path in ("", "/why", "/environment", "/curve", "/log", "/log/stream", "/log/download", "/log/search?q=x"):
            answer = script.get(f"{API}/jobs/7{path}")
            assert answer.status_code == 404, path
            assert "There is no job 7" in answer.json()["error"]["sentence"]


def test_why_a_job_waits_is_told_in_sentences(queue: Server) -> None:
    [job_id] = queue.add("true", hold=True)
    assert queue.get(f"/jobs/{job_id}/why")["reasons"] == [f"it is held: duckrow release {job_id}"]


# -- adding -------------------------------------------------------------------------------------------------------


def test_a_preview_says_what_would_be_added_and_where_and_adds_nothing(queue: Server) -> None:
    shown = queue.post("/jobs/preview", {"text": "# a comment\n\npython a.py 'x y'\nsleep 1\nsleep 2"})
    assert [job["command"] for job in shown["jobs"]] == ["python a.py 'x y'", "sleep 1", "sleep 2"]
    assert shown["jobs"][0]["words"] == ["python", "a.py", "x y"]
    assert [job["placement"] for job in shown["jobs"]] == [
        "it starts at once, on CPU 0",
        "it starts at once, on CPU 1",
        "it waits for a free device",
    ]
    assert shown["problems"] == []
    assert queue.get("/jobs")["total"] == 0


def test_jobs_in_the_form_of_gpupeasy_have_a_name_and_an_output_file(queue: Server, duckrow: Duckrow) -> None:
    text = f"one;;{duckrow.work}/one.txt;;echo 1;;;\ntwo words;;{duckrow.work}/two.txt;;echo 2;;;"
    assert [job["name"] for job in queue.post("/jobs/preview", {"text": text})["jobs"]] == ["one", "two-words"]
    text += f"three;;\n{duckrow.work}/three.txt;;\nprintf %s,\n    --lr 0.1\n    '$HOME *' #;;;"
    assert queue.post("/jobs/preview", {"text": text})["jobs"][2]["words"] == [
        "printf",
        "%s,",
        "--lr",
        "0.1",
        "$HOME *",
        "#",
    ]
    ids = queue.add(text)
    for job_id in ids:
        duckrow.wait_for(job_id, "succeeded")
    assert (duckrow.work / "two.txt").read_text() == "2\n"
    assert (duckrow.work / "three.txt").read_text() == "--lr,0.1,$HOME *,#,"


def test_all_are_checked_before_any_is_taken(queue: Server) -> None:
    """What may be wrong with them: tests/api/adding/test_previews.py."""
    wanted = {"text": "true\nfalse", "options": {"outfile": "/tmp/x"}}
    said = "An output file is for one job: several would overwrite each other's output."
    assert queue.post("/jobs", wanted, 400)["error"]["sentence"] == said
    assert queue.post("/jobs/preview", wanted) == {"jobs": [], "problems": [said]}
    assert queue.get("/jobs")["total"] == 0


def test_adding_a_job_starts_the_daemon(server: Server, duckrow: Duckrow) -> None:
    [job_id] = server.add("true")
    duckrow.wait_for(job_id, "succeeded")


# -- controlling --------------------------------------------------------------------------------------------------


def test_killing_ends_the_process_and_says_what_was_done_already(queue: Server, duckrow: Duckrow) -> None:
    first, second = queue.add("true\nsleep 600")
    duckrow.wait_for(first, "succeeded")
    duckrow.wait_for(second, "running")
    pid = until(lambda: queue.get(f"/jobs/{second}")["pid"], "its process")
    deed = queue.post("/jobs/actions", {"action": "kill", "ids": [first, second, 99]})
    assert deed["done"] == [second]
    assert {refused["id"]: refused["why"] for refused in deed["refused"]} == {
        first: f"job {first} is already done (succeeded)",
        99: "there is no job 99",
    }
    duckrow.wait_for(second, "killed")
    assert not is_running(pid)


def test_a_killed_job_that_waited_can_be_brought_back(queue: Server, duckrow: Duckrow) -> None:
    queue.post("/queue/pause")
    [job_id] = queue.add("true")
    deed = queue.post("/jobs/actions", {"action": "kill", "ids": [job_id]})
    duckrow.wait_for(job_id, "killed")
    queue.post("/jobs/actions", deed["undo"])
    duckrow.wait_for(job_id, "queued")


@pytest.mark.parametrize(
    ("action", "changed"),
    [
        ({"action": "hold"}, lambda job: job["held"]),
        ({"action": "priority", "priority": 77}, lambda job: job["priority"] == 77),
    ],
)
def test_what_was_done_to_waiting_jobs_can_be_undone(queue: Server, action: dict[str, Any], changed: Any) -> None:
    queue.post("/queue/pause")
    ids = queue.add("true\ntrue")
    queue.add("true", priority=40)
    deed = queue.post("/jobs/actions", {**action, "select": "status=queued"})
    assert set(deed["done"]) == {*ids, 3}
    assert all(changed(job) for job in queue.get("/jobs")["items"])
    queue.post("/jobs/actions", deed["undo"])
    jobs = {job["id"]: job for job in queue.get("/jobs")["items"]}
    assert not any(changed(job) for job in jobs.values())
    assert [jobs[job_id]["priority"] for job_id in (1, 2, 3)] == [30, 30, 40]


def test_waiting_jobs_are_moved_and_moved_back(queue: Server) -> None:
    queue.post("/queue/pause")
    queue.add("true\ntrue\ntrue\ntrue")

    def order() -> list[int]:
        return [job["id"] for job in queue.get("/jobs")["items"]]

    deed = queue.post("/jobs/actions", {"action": "first", "ids": [3, 4]})
    assert order() == [3, 4, 1, 2]
    queue.post("/jobs/actions", deed["undo"])
    assert order() == [1, 2, 3, 4]
    queue.post("/jobs/actions", {"action": "before", "before": 2, "ids": [4]})
    assert order() == [1, 4, 2, 3]
    queue.post("/jobs/actions", {"action": "last", "ids": [1]})
    assert order() == [4, 2, 3, 1]


def test_removing_forgets_a_job_and_its_log(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add("echo hello")
    duckrow.wait_for(job_id, "succeeded")
    log = Path(queue.get(f"/jobs/{job_id}")["log"])
    [running] = queue.add("sleep 600")
    duckrow.wait_for(running, "running")
    deed = queue.post("/jobs/actions", {"action": "remove", "ids": [job_id, running]})
    assert deed["done"] == [job_id]
    assert "kill it first" in deed["refused"][0]["why"]
    assert not log.exists()
    assert list(states(queue)) == [running]


def test_a_job_that_waits_is_edited_and_one_that_runs_is_not(queue: Server, duckrow: Duckrow) -> None:
    [held] = queue.add("true", hold=True)
    changed = queue.post(f"/jobs/{held}", {"command": "echo new", "timeout": "2h", "priority": 5}, method="PATCH")
    assert (changed["command"], changed["timeout_s"], changed["priority"]) == ("echo new", 7200, 5)
    assert "cannot be changed" in queue.post(f"/jobs/{held}", {"pid": 1}, 400, "PATCH")["error"]["sentence"]
    [running] = queue.add("sleep 600")
    duckrow.wait_for(running, "running")
    refused = queue.post(f"/jobs/{running}", {"priority": 5}, 409, "PATCH")
    assert "only queued jobs" in refused["error"]["sentence"]


def test_a_job_is_run_again_as_it_was_or_with_changes(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add("exit 1")
    duckrow.wait_for(job_id, "failed")
    assert queue.post(f"/jobs/{job_id}/rerun", {"changes": {"command": "true"}})["command"] == "true"
    duckrow.wait_for(job_id, "succeeded")
    [waiting] = queue.add("true", hold=True)
    assert "only finished jobs" in queue.post(f"/jobs/{waiting}/rerun", {}, 409)["error"]["sentence"]


def test_the_queue_is_paused_and_goes_on_as_a_whole_and_by_project(queue: Server, duckrow: Duckrow) -> None:
    queue.post("/queue/pause", {"project": "a"})
    [of_a] = queue.add("true", project="a")
    [of_b] = queue.add("true", project="b")
    duckrow.wait_for(of_b, "succeeded")
    assert states(queue)[of_a] == "queued"
    assert queue.get("/status")["paused_projects"] == ["a"]
    queue.post("/queue/resume", {"project": "a"})
    duckrow.wait_for(of_a, "succeeded")
    assert queue.post("/queue/resume", {"project": "z"}, 409)["error"]["sentence"] == "'z' is not paused."


def test_one_job_is_paused_and_goes_on(queue: Server, duckrow: Duckrow) -> None:
    [job] = queue.add("sleep 600")
    duckrow.wait_for(job, "running")
    paused = queue.post("/jobs/actions", {"action": "pause", "ids": [job]})
    assert (paused["done"], paused["undo"]) == ([job], {"action": "resume", "ids": [job]})
    assert queue.get("/jobs")["items"][0]["suspended"]
    queue.post("/jobs/actions", {"action": "resume", "ids": [job]})
    assert not queue.get("/jobs")["items"][0]["suspended"]


def test_an_action_on_nothing_or_on_everything_at_once_says_what_is_missing(queue: Server) -> None:
    for body in ({"action": "kill"}, {"action": "kill", "ids": [1], "select": ""}):
        assert "either 'ids' or 'select'" in queue.post("/jobs/actions", body, 400)["error"]["sentence"]
    wrong = queue.post("/jobs/actions", {"action": "kill", "select": "colour=red"}, 400)
    assert "Choose from: status, project, sweep, q" in wrong["error"]["sentence"]
    assert queue.post("/jobs/actions", {"action": "explode", "ids": [1]}, 422)["error"]["sentence"]
