"""The drop-in replacement for GPUPeasy: its server's routes work with old scripts, without the old faults."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import DEADLINE_S, Duckrow, is_running, until


class Door:
    """`duckrow dropin gpupeasy server`, and a script of old with just an address."""

    def __init__(self, duckrow: Duckrow, port: int, *words: str) -> None:
        self.duckrow = duckrow
        self.process = duckrow.spawn(
            "dropin",
            "gpupeasy",
            "server",
            "--port",
            str(port),
            *words,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdout is not None
        self.said: list[str] = []
        while "scripts use" not in "".join(self.said):
            line = self.process.stdout.readline().decode()
            assert line, self.said
            self.said.append(line)
        self.address = f"http://127.0.0.1:{port}"
        self.token = duckrow("web", "--token").stdout.strip()
        self.script = httpx.Client(
            base_url=f"http://gpupeasy:{self.token}@127.0.0.1:{port}", trust_env=False, timeout=DEADLINE_S
        )

    def get(self, path: str) -> Any:
        answer = self.script.get(path)
        assert answer.status_code == 200
        return answer.json()

    def post(self, body: Any) -> Any:
        answer = self.script.post("/addnewjob", json=body)
        assert answer.status_code == 200
        return answer.json()

    def add(self, name: str, outfile: Path | str, *words: str) -> int:
        answer = self.post({"job": {"jobName": name, "outFile": str(outfile), "jobCommand": list(words)}})
        assert answer == {"status": "successful", "message": "Job added successfully", "jobID": answer.get("jobID")}
        job_id: int = answer["jobID"]
        return job_id

    def end(self) -> None:
        self.script.close()
        self.process.terminate()
        self.process.wait(DEADLINE_S)
        assert self.process.stdout is not None
        self.process.stdout.close()


def a_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


@pytest.fixture
def free_port() -> int:
    return a_free_port()


@pytest.fixture
def door(duckrow: Duckrow, free_port: int) -> Iterator[Door]:
    opened = Door(duckrow, free_port, "--gpus", "0", "1")
    yield opened
    opened.end()


@pytest.fixture(scope="module")
def shared_door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """For tests that leave nothing which another would notice."""
    folder = tmp_path_factory.mktemp("door")
    (folder / "work").mkdir()
    program = Duckrow(folder / "state", folder / "work")
    opened = Door(program, a_free_port(), "--gpus", "0", "1")
    yield opened
    opened.end()
    program.kill_everything()


# -- its routes ---------------------------------------------------------------------------------------------------


def test_the_devices_are_those_that_were_given(shared_door: Door) -> None:
    assert shared_door.get("/availabledevices") == {"status": "successful", "value": ["0", "1"]}


def test_pairs_and_devices_for_several_jobs_are_written_as_before(duckrow: Duckrow, free_port: int) -> None:
    opened = Door(duckrow, free_port, "--gpus", "0,1", "2,3")
    assert opened.get("/availabledevices")["value"] == ["0,1", "2,3"]
    opened.end()


def test_a_job_goes_from_scheduled_over_running_to_successful(door: Door, duckrow: Duckrow) -> None:
    assert door.get("/scheduledjobs") == {"status": "successful", "value": []}
    gate, out = duckrow.work / "gate", duckrow.work / "out.txt"
    wait = f"until [ -e {gate} ]; do sleep 0.05; done; echo $CUDA_VISIBLE_DEVICES"
    first = door.add("first", out, "sh", "-c", wait)
    duckrow.wait_for(first, "running")
    [running] = door.get("/deviceutilization")["value"]
    assert set(running) == {"gpu", "jobCommand", "jobID", "jobName"}
    assert (running["jobID"], running["jobName"]) == (first, "first")
    assert running["gpu"] in ("0", "1")
    assert door.get(f"/jobinfo/{first}")["value"]["status"] == "Running"
    duckrow("pause")
    second = door.add("second", duckrow.work / "second.txt", "ls", "-l")
    assert door.get("/scheduledjobs")["value"] == [{"jobCommand": "ls -l", "jobID": second, "jobName": "second"}]
    assert door.get(f"/jobinfo/{second}")["value"] == {
        "jobid": second,
        "jobName": "second",
        "jobCommand": "ls -l",
        "outFile": str(duckrow.work / "second.txt"),
        "status": "Scheduled",
        "returnCode": None,
    }
    gate.touch()
    duckrow.wait_for(first, "succeeded")
    [done] = door.get("/successfuljobs")["value"]
    assert (done["jobID"], done["returnCode"]) == (first, 0)
    assert set(done) == {"jobCommand", "jobID", "jobName", "returnCode"}
    assert out.read_text() == f"{running['gpu']}\n"
    assert door.get(f"/jobinfo/{first}")["value"]["status"] == "Succeeded"


def test_a_job_that_failed_tells_its_return_code_and_both_streams_are_in_its_file(door: Door, duckrow: Duckrow) -> None:
    out = duckrow.work / "out.txt"
    job_id = door.add("bad", out, "sh", "-c", "echo one; echo two >&2; exit 3")
    duckrow.wait_for(job_id, "failed")
    [failed] = door.get("/failedjobs")["value"]
    assert (failed["jobID"], failed["returnCode"]) == (job_id, 3)
    assert door.get(f"/jobinfo/{job_id}")["value"]["status"] == "Failed"
    assert out.read_text() == "one\ntwo\n"


def test_a_program_runs_without_a_shell_around_it(shared_door: Door, tmp_path: Path) -> None:
    door, ways = shared_door, {"killed": ["sh", "-c", "kill -9 $$"], "missing": ["no-such-program", "x"]}
    ways |= {"not-a-program": ["/etc/passwd"], "own-127": ["sh", "-c", "exit 127"], "日本語": ["echo", "$HOME * #", ""]}
    ids = {name: door.add(name, tmp_path / name, *words) for name, words in ways.items()}
    for job_id in ids.values():
        until(lambda job_id=job_id: door.duckrow.job(job_id)["outcome"], f"the end of {job_id}")  # type: ignore[misc]
    infos = {name: door.get(f"/jobinfo/{job_id}")["value"] for name, job_id in ids.items()}
    codes = {name: info["returnCode"] for name, info in infos.items()}
    assert codes == {"killed": -9, "missing": -1, "not-a-program": -1, "own-127": 127, "日本語": 0}
    assert (tmp_path / "killed").read_text() == ""
    assert (tmp_path / "日本語").read_text() == "$HOME * # \n"
    assert {name: (info["jobName"], info["jobCommand"]) for name, info in infos.items()} == {
        name: (name if name.isascii() else "echo", shlex.join(words)) for name, words in ways.items()
    }


@pytest.mark.parametrize("job_id", ["99", "x", "-1", "1e3", "%2e%2e%2fetc", "<script>alert(1)</script>", "9" * 30])
def test_a_job_that_nobody_knows_is_told_as_before(shared_door: Door, job_id: str) -> None:
    answer = shared_door.script.get(f"/jobinfo/{job_id}")
    assert answer.headers["content-type"] == "application/json"  # so no script in it is ever run
    if answer.status_code == 200:
        told = answer.json()
        assert (told["status"], told["value"]) == ("failed", {})
        assert told["message"].startswith("There is no job")
    else:
        assert answer.status_code == 404


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (None, "There is no job"),
        ({}, "There is no job"),
        ({"job": []}, "There is no job"),
        ({"job": {"jobName": "a", "outFile": "a.txt", "jobCommand": []}}, "no command"),
        ({"job": {"jobName": "", "outFile": "a.txt", "jobCommand": ["ls"]}}, "no name"),
        ({"job": {"jobName": "a", "jobCommand": ["ls"]}}, "no output file"),
        ({"job": {"jobName": "a", "outFile": "/no/such/folder/a.txt", "jobCommand": ["ls"]}}, "cannot be opened"),
        ({"job": {"jobName": "a", "outFile": "there.txt", "jobCommand": ["ls"]}}, "already exists"),
        ({"job": {"jobName": "a", "outFile": "a.txt", "jobCommand": "ls"}}, "a list of words"),
        ({"job": {"jobName": "a", "outFile": "a\0.txt", "jobCommand": ["ls"]}}, "NUL"),
        ({"job": {"jobName": "a", "outFile": "a.txt", "jobCommand": ["ls", "\0"]}}, "NUL"),
    ],
)
def test_what_is_no_job_is_refused_with_a_message_and_the_server_goes_on(
    shared_door: Door, tmp_path: Path, body: Any, said: str
) -> None:
    (shared_door.duckrow.work / "there.txt").touch()
    answer = shared_door.post(body)
    assert answer["status"] == "failed"
    assert said in answer["message"]
    job_id = shared_door.add("good", tmp_path / "good.txt", "true")
    shared_door.duckrow.wait_for(job_id, "succeeded")


# -- what was wrong -----------------------------------------------------------------------------------------------


def test_without_the_token_nobody_runs_anything(shared_door: Door) -> None:
    door = shared_door
    job = {"job": {"jobName": "a", "outFile": "a.txt", "jobCommand": ["touch", "pwned"]}}
    with httpx.Client(base_url=door.address, trust_env=False, timeout=DEADLINE_S) as stranger:
        assert stranger.post("/addnewjob", json=job).status_code == 401
        assert stranger.post("/addnewjob", json=job, auth=("gpupeasy", "wrong")).status_code == 401
        for path in ("/availabledevices", "/scheduledjobs", "/jobinfo/1"):
            assert stranger.get(path).status_code == 401
        evil = {"Origin": "https://evil.example"}
        assert stranger.post("/addnewjob", json=job, auth=("x", door.token), headers=evil).status_code == 403
    assert not (door.duckrow.work / "pwned").exists()


def test_a_password_is_taken_from_programs_and_for_gpupeasys_routes_alone(shared_door: Door) -> None:
    """A browser would remember it, and send it by itself to whoever answers here later."""
    assert shared_door.script.get("/scheduledjobs").status_code == 200
    for headers in ({"Sec-Fetch-Mode": "navigate"}, {"Sec-Fetch-Site": "same-origin"}, {"Origin": shared_door.address}):
        assert shared_door.script.get("/scheduledjobs", headers=headers).status_code == 401
    for path in ("/api/v1/status", "/api/v1/jobs"):
        assert shared_door.script.get(path).status_code == 401
    bearer = {"Authorization": f"Bearer {shared_door.token}"}
    with httpx.Client(base_url=shared_door.address, trust_env=False, timeout=DEADLINE_S, headers=bearer) as program:
        assert program.get("/api/v1/status").status_code == 200


def test_the_token_is_no_password_where_gpupeasy_is_not_asked_for(duckrow: Duckrow) -> None:
    process = duckrow.spawn("web", "--no-browser", "--port", "0", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    port = process.stdout.readline().decode().split(".localhost:")[1].split("/")[0]
    token = duckrow("web", "--token").stdout.strip()
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=DEADLINE_S) as client:
        assert client.get("/api/v1/status", auth=("x", token)).status_code == 401
        assert client.get("/scheduledjobs", headers={"Authorization": f"Bearer {token}"}).status_code == 404
    process.terminate()
    process.wait(DEADLINE_S)
    process.stdout.close()


def test_jobs_outlive_the_server_and_are_there_again(door: Door, duckrow: Duckrow, free_port: int) -> None:
    job_id = door.add("long", duckrow.work / "long.txt", "sleep", "600")
    duckrow.wait_for(job_id, "running")
    pid = duckrow.job(job_id)["pid"]
    door.end()
    assert is_running(pid)
    assert Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x00600\x00"
    again = Door(duckrow, free_port)
    assert [job["jobID"] for job in again.get("/deviceutilization")["value"]] == [job_id]
    again.end()


def test_a_job_that_was_killed_from_outside_is_noticed(door: Door, duckrow: Duckrow) -> None:
    job_id = door.add("long", duckrow.work / "long.txt", "sleep", "600")
    duckrow.wait_for(job_id, "running")
    os.kill(until(lambda: duckrow.job(job_id)["pid"], "its process"), 9)
    duckrow.wait_for(job_id, "killed")
    assert door.get("/failedjobs")["value"][0]["returnCode"] == -9


def test_a_name_that_cannot_be_a_folder_is_made_one(door: Door, duckrow: Duckrow) -> None:
    job_id = door.add("../../my run (1)", duckrow.work / "out.txt", "true")
    assert door.get(f"/jobinfo/{job_id}")["value"]["jobName"] == "my-run-1"


def test_the_gui_is_the_page(duckrow: Duckrow, free_port: int) -> None:
    process = duckrow.spawn(
        "dropin", "gpupeasy", "gui", "--port", str(free_port), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    link = process.stdout.readline().decode().split()[-1]
    secret = link.partition("#login=")[2]
    address = f"http://127.0.0.1:{free_port}/login"
    answer = httpx.post(address, json={"link": secret}, trust_env=False, timeout=DEADLINE_S)
    assert answer.status_code == 200
    process.terminate()
    process.wait(DEADLINE_S)
    process.stdout.close()


def test_it_says_what_it_can_be(duckrow: Duckrow) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "duckrow.dropin.gpupeasy", "--help"], capture_output=True, text=True, env=duckrow.env
    )
    assert "server" in told.stdout
    assert "8888" in told.stdout
    assert "4004" in told.stdout
