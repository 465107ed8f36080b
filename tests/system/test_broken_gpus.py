"""A broken GPU must not eat the queue: it is set aside and told, and the jobs that failed on it run elsewhere."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S, Duckrow, until
from tests.fake_nvml import FakeGpus

pytest_plugins = ("tests.fake_nvml.plugin",)

BROKEN_3 = "test $CUDA_VISIBLE_DEVICES != 3 || exit 1; sleep 0.1"
"""A job that fails at once on GPU 3, and nowhere else."""

BROKEN_1 = "test $CUDA_VISIBLE_DEVICES != 1"
GATED = "until test -e gate; do sleep 0.02; done"


def outcomes(duckrow: Duckrow) -> dict[str, int]:
    return dict(duckrow.sql("SELECT coalesce(outcome, state), count(*) FROM jobs GROUP BY 1"))


def devices_of(duckrow: Duckrow, job_id: int) -> list[str]:
    """Where it was tried, in order."""
    rows = duckrow.sql("SELECT holds FROM attempts WHERE job_id = ? ORDER BY number", job_id)
    return [json.loads(holds)[0][0] for (holds,) in rows]


def set_aside(duckrow: Duckrow) -> dict[str, str]:
    return dict(duckrow.sql("SELECT device, why FROM set_aside"))


# -- failures in a row -------------------------------------------------------------------------------------------


def test_a_broken_gpu_among_four_is_set_aside_and_every_job_succeeds(duckrow: Duckrow) -> None:
    lines = [json.dumps({"command": BROKEN_3, "retries": number % 2}) + "\n" for number in range(40)]
    done = duckrow("run", "--devices", "0,1,2,3", "--format", "json", stdin="".join(lines))
    assert outcomes(duckrow) == {"succeeded": 40}
    assert duckrow.sql("SELECT sum(retries_used) FROM jobs") == [(0,)]
    assert done.stderr.count("GPU 3 is set aside: ") == 1
    assert done.stderr.count("GPU 3 stays set aside: ") == 1
    assert "To use it again: duckrow gpus add 3" in done.stderr
    assert "40 succeeded, in" in done.stderr
    there = [job for job in range(1, 41) if "3" in devices_of(duckrow, job)]
    assert 3 <= len(there) < 40
    assert all(devices_of(duckrow, job)[1] != "3" for job in there)


def fail_in_a_row(duckrow: Duckrow, command: str) -> list[int]:
    """A daemon over two GPUs: 0 has a job until the gate is opened, on 1 these fail one after the other."""
    duckrow.up("--devices", "0,1", "--slots", "1")
    duckrow("pause")
    duckrow.submit("--gpus", "1", GATED)
    duckrow("submit", "--gpus", "1", "--array", "1-4", command)
    duckrow.submit("--after", "ok:5", "true")
    duckrow("resume")
    duckrow.wait_for(6, "skipped")
    return [2, 3, 4, 5]


def test_wrong_commands_on_a_healthy_gpu_fail_elsewhere_too_and_it_comes_back(duckrow: Duckrow) -> None:
    fail_in_a_row(duckrow, "exit 3")
    (duckrow.work / "gate").touch()
    again = "GPU 1 is used again: jobs that failed on it within seconds fail elsewhere too."
    until(lambda: again in (duckrow.home / "daemon.log").read_text(), "the daemon to say so")
    until(lambda: set_aside(duckrow) == {}, "the tick that said so to be written")
    assert outcomes(duckrow) == {"succeeded": 1, "failed": 4, "skipped": 1}
    assert [devices_of(duckrow, job) for job in (2, 3, 4, 5)] == [["1", "0"], ["1", "0"], ["1", "0"], ["1"]]


def test_failures_that_come_back_do_not_count_for_max_failures(duckrow: Duckrow) -> None:
    job = "test $CUDA_VISIBLE_DEVICES = 0 && sleep 0.05 || { sleep 0.4; exit 1; }"
    duckrow("run", "--devices", "0,1", "--max-failures", "3", stdin=f"{job}\n" * 30)
    assert outcomes(duckrow) == {"succeeded": 30}


# -- what is told, and kept --------------------------------------------------------------------------------------


@pytest.fixture
def broken(duckrow: Duckrow) -> Duckrow:
    """A daemon over two GPUs, of which one is broken and set aside."""
    jobs = fail_in_a_row(duckrow, BROKEN_1)
    (duckrow.work / "gate").touch()
    for job in (*jobs, 6):  # also the one that was skipped because of these
        duckrow.wait_for(job, "succeeded")
    (duckrow.work / "gate").unlink()
    return duckrow


def test_everybody_tells_of_a_gpu_that_is_set_aside(broken: Duckrow) -> None:
    why = "4 jobs in a row failed on it within seconds, and job 2 then succeeded on GPU 0"
    advice = "o use it again: duckrow gpus add 1"
    assert f"GPU 1 is set aside: {why}. T{advice}" in broken("gpus").stdout
    told = {device["device"]: device["set_aside"] for device in json.loads(broken("gpus", "--json").stdout)}
    assert told == {"0": None, "1": why, "cpu0": None}
    assert "; GPU 1 is set aside (duckrow gpus)." in broken("ls").stderr
    broken.wait_for(broken.submit("--gpus", "1", GATED), "running")
    waiting = broken.submit("--gpus", "1", "true")
    assert f"GPU 1 is set aside: {why}; t{advice}" in broken("why", str(waiting)).stdout
    assert f"GPU 1 is set aside: {why}" in broken("doctor", ok=False).stdout
    assert f"GPU 1 stays set aside: {why}." in (broken.home / "daemon.log").read_text()
    story = [event["detail"] for event in broken.job(5)["events"]]
    assert f"it failed on GPU 1, which is set aside: {why}; it is requeued" in story


def test_it_is_kept_by_the_next_daemon_until_somebody_wants_it_back(broken: Duckrow) -> None:
    broken.kill_daemon()
    broken.up()
    broken.wait_for(broken.submit("--gpus", "1", GATED), "running")
    waiting = broken.submit("--gpus", "1", "true")
    assert "GPU 1 is set aside: " in broken("why", str(waiting)).stdout
    assert broken("gpus", "add", "1").stderr == "duckrow: GPU 1 is available to jobs.\n"
    broken.wait_for(waiting, "succeeded")
    assert devices_of(broken, waiting) == ["1"]
    assert set_aside(broken) == {}


def test_a_restart_of_the_machine_gives_it_out_again_and_so_does_a_word_to_no_daemon(broken: Duckrow) -> None:
    broken.kill_daemon()
    kept = broken.sql("SELECT host_id, device, why, at, boot_id FROM set_aside")[0]
    broken.sql("UPDATE set_aside SET boot_id = 'earlier'")
    broken.up()
    assert set_aside(broken) == {}
    broken("down")
    broken.sql("INSERT INTO set_aside (host_id, device, why, at, boot_id) VALUES (?, ?, ?, ?, ?)", *kept)
    assert broken("gpus", "undrain", "1").stderr == "duckrow: GPU 1 is available to jobs again.\n"
    broken.up()
    assert set_aside(broken) == {}


# -- what the driver says ----------------------------------------------------------------------------------------


@pytest.fixture
def seeing(duckrow: Duckrow, gpus: FakeGpus, tmp_path: Path) -> Duckrow:
    duckrow.env |= {**gpus.env(), "DUCKROW_GPU_LOCKS": str(tmp_path / "locks")}
    return duckrow


def begin(duckrow: Duckrow, gpus: FakeGpus, devices: str, *jobs: str) -> subprocess.Popen[bytes]:
    """A run whose jobs all run, and whose GPUs have been read."""
    gpus.record_calls()
    (duckrow.work / "list").write_text("".join(f"{job}\n" for job in jobs))
    run = duckrow.spawn("run", "--devices", devices, "list", stderr=subprocess.PIPE)
    until(lambda: "nvmlEventSetWait_v2" in {call.function for call in gpus.calls()}, "a reading")
    until(lambda: outcomes(duckrow) == {"running": len(jobs)}, "the jobs to run")
    return run


def test_gpus_with_faults_are_set_aside_and_their_jobs_run_elsewhere(seeing: Duckrow, gpus: FakeGpus) -> None:
    for _ in range(5):
        gpus.add()
    job = f"{GATED}; test $CUDA_VISIBLE_DEVICES = 0"
    with begin(seeing, gpus, "0,1,2,3,4", *[job] * 5) as run:
        gpus.change(1, xids="79")
        gpus.change(2, uncorrected=1)
        gpus.change(3, lost=True)
        gpus.change(4, recovery=1)
        (seeing.work / "gate").touch()
        told = run.communicate(timeout=DEADLINE_S)[1].decode()
    assert run.returncode == 0, told
    assert outcomes(seeing) == {"succeeded": 5}
    for gpu, why in {
        1: "the driver reports Xid 79 (it fell off the bus)",
        2: "1 memory error that ECC could not correct",
        3: "it fell off the bus",
        4: "the driver says that it must be reset",
    }.items():
        assert told.count(f"GPU {gpu} is set aside: {why}") == 1, told
    assert "5 succeeded, in" in told


def test_an_xid_of_a_program_is_its_own_fault(seeing: Duckrow, gpus: FakeGpus) -> None:
    gpus.add()
    gpus.add()
    with begin(seeing, gpus, "0,1", f"{GATED}; exit 1", GATED) as run:
        gpus.change(0, xids="31")
        (seeing.work / "gate").touch()
        told = run.communicate(timeout=DEADLINE_S)[1].decode()
    assert run.returncode == 1
    assert "set aside" not in told
    assert outcomes(seeing) == {"failed": 1, "succeeded": 1}


def test_a_run_without_a_gpu_left_waits_says_so_and_goes_on(seeing: Duckrow, gpus: FakeGpus) -> None:
    gpus.add()
    with begin(seeing, gpus, "0", f"{GATED}; test -e repaired") as run:
        gpus.change(0, xids="79")
        (seeing.work / "gate").touch()
        until(lambda: set_aside(seeing) != {}, "the GPU to be set aside")
        seeing.wait_for(1, "queued")  # it failed
        assert run.stderr is not None
        told = next(line for line in map(bytes.decode, run.stderr) if "set aside" in line)
        assert "GPU 0 is set aside: the driver reports Xid 79 (it fell off the bus). Jobs that fail on" in told
        assert told.endswith("No GPU is left, so jobs that need one wait. To use it again: duckrow gpus add 0\n")
        assert "GPU 0 is set aside" in seeing("why", "1").stdout
        (seeing.work / "repaired").touch()
        assert seeing("gpus", "add", "0").stderr == "duckrow: GPU 0 is available to jobs again.\n"
        run.communicate(timeout=DEADLINE_S)
    assert run.returncode == 0
    assert outcomes(seeing) == {"succeeded": 1}


def test_a_gpu_that_was_reset_is_given_out_again_by_itself(seeing: Duckrow, gpus: FakeGpus) -> None:
    gpus.add()
    with begin(seeing, gpus, "0", f"{GATED}; test -e repaired") as run:
        gpus.change(0, lost=True)
        (seeing.work / "gate").touch()
        until(lambda: set_aside(seeing) == {"0": "it fell off the bus"}, "the GPU to be set aside")
        seeing.wait_for(1, "queued")  # it failed
        (seeing.work / "repaired").touch()
        gpus.change(0, lost=False)
        told = run.communicate(timeout=DEADLINE_S)[1].decode()
    assert run.returncode == 0
    assert "GPU 0 is used again: it has recovered." in told
