"""After the start of a job on a GPU: is it where it was put, what does it cost, how did its GPUs go over time?"""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from duckrow.api.client import Client
from duckrow.api.devices.history import device_history
from duckrow.store.folder.state_folder import Folder
from tests.conftest import DEADLINE_S, Duckrow, until
from tests.fake_nvml import FakeGpus
from tests.system.test_memory import bring_up, gpus_used, lines

pytest_plugins = ("tests.fake_nvml.plugin",)


@pytest.fixture
def duckrow(duckrow: Duckrow, gpus: FakeGpus, tmp_path: Path) -> Duckrow:
    """One that sees the fake GPUs, and shares its locks with no other test."""
    duckrow.env |= {**gpus.env(), "DUCKROW_GPU_LOCKS": str(tmp_path / "locks")}
    return duckrow


def add(gpus: FakeGpus, count: int, memory_mb: int = 20_000) -> None:
    for _ in range(count):
        gpus.add("NVIDIA H200", memory_mb, temperature=44)


# -- on which GPU ---------------------------------------------------------------------------------------------------


def test_a_script_that_chooses_a_gpu_itself_is_warned_of_once(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 3)
    job = gpus.job("--ramp", "0:3000", "--until-read", "--hold", "1", "--override-gpu", "0")
    run = duckrow("run", "--devices", "2", "--gpu-mem", "5G", stdin=job)
    warning = "but was given GPU 2: does the script set CUDA_VISIBLE_DEVICES or cuda:N itself?"
    assert run.stderr.count(warning) == 1
    assert "Job 1: it uses GPU 0 (process " in run.stderr
    notes = [event for event in duckrow.job(1)["events"] if event["before"] == event["after"]]
    assert [warning in note["detail"] for note in notes] == [True]
    assert f"note: {notes[0]['detail']}" in duckrow("show", "1").stdout
    assert duckrow.job(1)["peak_memory_mb"] == 3000, "what it took where it was"


def test_a_job_that_is_where_it_was_put_is_not_warned_of(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 2)
    job = gpus.job("--ramp", "0:3000", "--until-read", "--fork", "2")
    run = duckrow("run", "--gpu-mem", "5G", stdin=lines(job, 2))
    assert "was given" not in run.stderr
    assert [event for event in duckrow.job(1)["events"] if event["before"] == event["after"]] == []


def test_a_note_stands_in_the_listing_and_survives_the_daemon(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 2)
    bring_up(duckrow, "--devices", "1")
    job = duckrow.submit("--gpu-mem", "5G", "--", gpus.job("--ramp", "0:3000", "--hold", "600", "--override-gpu", "0"))
    until(lambda: "uses GPU 0" in duckrow("ls", "-c", "id,detail").stdout, "the warning")
    duckrow.kill_daemon()
    bring_up(duckrow)
    gpus.record_calls()
    until(lambda: len(gpus.calls()) > 20, "readings by the new daemon")
    assert duckrow.sql("SELECT count(*) FROM events WHERE job_id = ? AND before = after", job) == [(1,)]


def test_what_a_strayed_job_takes_is_not_given_to_others(duckrow: Duckrow, gpus: FakeGpus) -> None:
    """GPU 0 has 5 GB left beside the job that should be on GPU 1: one of 9 GB waits for GPU 1."""
    add(gpus, 2)
    bring_up(duckrow)
    misplaced = gpus.job("--ramp", "0:15000", "--hold", "600", "--override-gpu", "0")
    duckrow("gpus", "drain", "0")
    first = duckrow.submit("--gpu-mem", "9G", "--", misplaced)
    duckrow.wait_for(first, "running")
    until(lambda: "uses GPU 0" in duckrow.sql("SELECT detail FROM jobs")[0][0], "the stray to be seen")
    duckrow("gpus", "undrain", "0")
    for _ in range(2):
        duckrow.wait_for(duckrow.submit("--gpu-mem", "9G", "--", "sleep 0.2"), "succeeded")
    assert gpus_used(duckrow) == {"1"}
    assert gpus.ooms() == []


# -- what it costs --------------------------------------------------------------------------------------------------


def test_gpu_seconds_are_gpus_times_seconds(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 2)
    duckrow("run", "--gpus", "2", stdin="sleep 0.5")
    duckrow("run", "--slots", "1", stdin="sleep 0.1")
    on_gpus, on_cpu = duckrow.job(1), duckrow.job(2)
    attempt = on_gpus["attempts_made"][0]
    assert attempt["gpu_seconds"] == pytest.approx(2 * (attempt["ended_at"] - attempt["started_at"]))
    assert on_gpus["gpu_seconds"] == attempt["gpu_seconds"] >= 1.0
    assert on_cpu["gpu_seconds"] == 0
    assert "of GPU time" in duckrow("show", "1").stdout
    listed = duckrow("ls", "--all", "--sort", "-gpu-time", "-c", "id,gpu-time,memory,busy").stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["ID", "1", "2"]
    assert listed[1].split()[1].endswith("s")


def test_the_runs_of_a_sweep_tell_what_they_took(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1)
    job = gpus.job("--ramp", "0:2000", "--until-read", "--hold", "0.5", "--util", "60")
    duckrow("sweep", f"SEED={{seed}} {job}", "-p", "seed", "1", "2", "--run", "--name", "s", "--gpu-mem", "5G")
    rows = json.loads(duckrow("results", "s", "--json").stdout)
    assert [row["peak_memory_mb"] for row in rows] == [2000, 2000]
    assert all(0 < row["utilization"] <= 100 and row["gpu_seconds"] > 0.5 for row in rows)
    header = duckrow("results", "s", "-c", "id,busy,gpu-time").stdout.splitlines()[0]
    assert header.split() == ["ID", "BUSY", "GPU-TIME"]


def test_the_curve_of_a_job_is_drawn_also_after_the_daemon_has_died(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1)
    bring_up(duckrow)
    job = duckrow.submit("--gpu-mem", "9G", "--", gpus.job("--ramp", "0:1000", "2:8000", "3:2000", "--hold", "600"))
    until(lambda: (duckrow.job(job)["peak_memory_mb"] or 0) >= 1000, "what was seen of a job that runs")
    before = duckrow.job(job)["attempts_made"][0]["curve"]
    duckrow.kill_daemon()
    bring_up(duckrow)
    until(lambda: gpus.used_mb(0) == 2000, "the end of the ramp")
    duckrow("gpus")
    duckrow("kill", str(job))
    duckrow.wait_for(job, "killed")
    curve = duckrow.job(job)["attempts_made"][0]["curve"]
    assert curve[: len(before)] == before
    assert len(curve) > len(before)
    assert duckrow.job(job)["peak_memory_mb"] == max(mb for _, mb, _ in curve)
    shown = duckrow("show", str(job), env={"PYTHONIOENCODING": "utf-8"}).stdout
    assert "█" in shown
    assert "#" in duckrow("show", str(job), env={"PYTHONIOENCODING": "ascii"}).stdout


# -- over time ------------------------------------------------------------------------------------------------------


def test_the_daemon_notes_how_its_gpus_go_also_while_nothing_runs(
    duckrow: Duckrow, gpus: FakeGpus, holder: subprocess.Popen[bytes]
) -> None:
    add(gpus, 2)
    gpus.allocate(holder.pid, 1, 4000, util=30)
    began = time.time()
    bring_up(duckrow, "--devices", "0,1")
    client = Client(Folder(duckrow.home))
    until(lambda: device_history(client), "a first reading")
    first, second = device_history(client, minutes=10)
    assert (first["name"], second["name"]) == ("0", "1")
    at, *figures = second["points"][-1]
    assert began - 1 < at < time.time() + 1
    assert figures == [4000, 30, 44]
    assert first["points"][-1][1] == 0
    client.database.close()


def test_the_driver_is_opened_once_for_many_readings(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1)
    bring_up(duckrow)
    duckrow.wait_for(duckrow.submit("--gpu-mem", "5G", "--", "true"), "succeeded")
    gpus.record_calls()
    duckrow.submit("--gpu-mem", "5G", "--", gpus.job("--ramp", "0:500", "--hold", "600"))
    daemon = duckrow.daemon_pid()
    read = "nvmlDeviceGetMemoryInfo"
    until(lambda: sum(read in call.function and call.pid == daemon for call in gpus.calls()) > 3, "readings")
    assert not [call for call in gpus.calls() if "Init" in call.function and call.pid == daemon]


def test_a_gpu_that_comes_back_after_a_reset_is_read_again(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1)
    bring_up(duckrow)
    duckrow.wait_for(duckrow.submit("--gpu-mem", "5G", "--", "true"), "succeeded")
    gpus.change(0, lost=True)
    blocked = duckrow.submit("--gpu-mem", "5G", "--", "true")
    until(lambda: "does not" in duckrow("gpus").stdout, "the loss")
    assert duckrow.state(blocked) == "queued"
    gpus.record_calls()
    gpus.change(0, lost=False)
    duckrow.wait_for(blocked, "succeeded")
    assert [call for call in gpus.calls() if "Init" in call.function], "the library was not opened anew"


def test_no_thread_of_the_library_takes_the_signals_that_others_wait_for(duckrow: Duckrow, gpus: FakeGpus) -> None:
    """The keeper of a run learns of its end by SIGCHLD, which no thread that is left of the search for GPUs may get."""
    add(gpus, 1)
    (duckrow.work / "jobs").write_text("touch there; while [ ! -e gate ]; do sleep 0.05; done\n")
    run = duckrow.spawn("run", "--pack", "jobs", stderr=subprocess.DEVNULL)
    until((duckrow.work / "there").exists, "the job")
    # The keeper's own, which reads signals from a file, and the library's.
    blocked = until(lambda: len(masks := blocked_signals(run.pid)) == 2 and masks, "two threads")
    assert sum(mask >> (signal.SIGCHLD - 1) & 1 for mask in blocked) == 2
    (duckrow.work / "gate").touch()
    assert run.wait(DEADLINE_S) == 0


def blocked_signals(pid: int) -> list[int]:
    """A mask for each thread of a process."""
    threads = [status.read_text() for status in Path(f"/proc/{pid}/task").glob("*/status")]
    return [int(line.split()[1], 16) for text in threads for line in text.splitlines() if line.startswith("SigBlk")]
