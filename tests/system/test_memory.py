"""GPU memory from end to end: real processes on fake GPUs, shared by what is given, seen and learned."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from duckrow.core.devices.inventory import WHOLE
from tests.conftest import DEADLINE_S, Duckrow, until
from tests.fake_nvml import FakeGpus

pytest_plugins = ("tests.fake_nvml.plugin",)

SOAK = bool(os.environ.get("DUCKROW_SOAK"))


@pytest.fixture
def duckrow(duckrow: Duckrow, gpus: FakeGpus, tmp_path: Path) -> Duckrow:
    """One that sees the fake GPUs, and shares its locks with no other test."""
    duckrow.env |= {**gpus.env(), "DUCKROW_GPU_LOCKS": str(tmp_path / "locks")}
    return duckrow


def bring_up(duckrow: Duckrow, *words: str) -> int:
    """A daemon that knows of the fake GPUs: one that is put into the background forgets all variables of ours."""
    before = time.time()
    daemon = duckrow.spawn("up", "--foreground", *words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    threading.Thread(target=daemon.wait, daemon=True).start()  # nobody else would bury it

    def is_up() -> bool:
        assert daemon.returncode is None
        if not (duckrow.home / "duckrow.db").exists():
            return False
        try:
            return bool(duckrow.sql("SELECT 1 FROM hosts WHERE id = 1 AND started_at > ?", before))
        except sqlite3.OperationalError:  # the database is just being made
            return False

    until(is_up, "the daemon")
    return duckrow.daemon_pid()


@pytest.fixture
def another(duckrow: Duckrow, tmp_path: Path) -> Iterator[Duckrow]:
    """Somebody else's duckrow on the same machine."""
    other = Duckrow(tmp_path / "another", duckrow.work)
    other.env = {**duckrow.env, "DUCKROW_HOME": str(other.home)}
    yield other
    other.kill_everything()


@pytest.fixture
def colleague() -> Iterator[subprocess.Popen[bytes]]:
    """Somebody whose process may hold memory."""
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        yield sleeper
        sleeper.kill()


def add(gpus: FakeGpus, count: int, memory_mb: int = 20_000, name: str = "NVIDIA H200") -> None:
    for _ in range(count):
        gpus.add(name, memory_mb)


def lines(command: str, count: int) -> str:
    return f"{command}\n" * count


# -- what the attempts have held ------------------------------------------------------------------------------------


def attempts(duckrow: Duckrow) -> list[tuple[int, float, float, dict[str, int], str]]:
    """(job, begin, end, holds, outcome) of all that has been tried, in order."""
    rows = duckrow.sql("SELECT job_id, started_at, ended_at, holds, outcome FROM attempts ORDER BY started_at")
    return [(job, began, ended, dict(json.loads(holds)), outcome) for job, began, ended, holds, outcome in rows]


def most_at_once(duckrow: Duckrow, weigh: Callable[[str, int], int]) -> dict[str, int]:
    """The largest sum, on each device, of what the attempts weigh that were there at the same time."""
    changes = []
    for _, began, ended, holds, _ in attempts(duckrow):
        for device, share in holds.items():
            changes += [(began, 1, device, weigh(device, share)), (ended, 0, device, -weigh(device, share))]
    now: dict[str, int] = {}
    most: dict[str, int] = {}
    for _, _, device, change in sorted(changes):
        now[device] = now.get(device, 0) + change
        most[device] = max(most.get(device, 0), now[device])
    return most


def neighbours(duckrow: Duckrow) -> dict[str, int]:
    """How many shared each GPU at most."""
    return most_at_once(duckrow, lambda device, share: 1)


def assert_never_promised_twice(duckrow: Duckrow) -> None:
    for device, share in most_at_once(duckrow, lambda device, share: share).items():
        assert share <= WHOLE, f"GPU {device}: {share / WHOLE:.3f} of it was given out"


def gpus_at_once(duckrow: Duckrow) -> int:
    """How many GPUs were in use at the same time, at most."""
    tried = attempts(duckrow)
    return max(
        len({gpu for _, began, ended, holds, _ in tried for gpu in holds if began <= moment < ended})
        for _, moment, *_ in tried
    )


def gpus_used(duckrow: Duckrow) -> set[str]:
    return {device for _, _, _, holds, _ in attempts(duckrow) for device in holds}


def outcomes(duckrow: Duckrow) -> dict[str, int]:
    return dict(duckrow.sql("SELECT outcome, count(*) FROM jobs GROUP BY 1"))


def holds_of(duckrow: Duckrow, job_id: int) -> dict[str, int]:
    rows = duckrow.sql("SELECT holds FROM attempts WHERE job_id = ? ORDER BY number DESC LIMIT 1", job_id)
    return dict(json.loads(rows[0][0])) if rows else {}


# -- memory that is given -------------------------------------------------------------------------------------------


def test_jobs_share_gpus_by_the_memory_that_they_ask_for(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 2)
    duckrow("run", "--gpu-mem", "9G", stdin=lines(gpus.job("--ramp", "0.1:9000", "--until-peak", 18_000), 10))
    assert gpus.ooms() == []
    assert (gpus.peak_mb(0), gpus.peak_mb(1)) == (18_000, 18_000)
    assert neighbours(duckrow) == {"0": 2, "1": 2}
    assert_never_promised_twice(duckrow)


def test_a_job_that_is_larger_than_any_gpu_is_refused(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 2)
    refused = duckrow("run", "--gpu-mem", "30G", stdin="true", ok=False)
    assert refused.returncode == 2
    assert "It asks for 30" in refused.stderr
    assert "the largest GPU has 19.5" in refused.stderr


def test_memory_in_all_takes_as_few_gpus_as_possible(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 3)
    for total, count in (("15G", 1), ("30G", 2), ("50G", 3)):
        duckrow("run", "--total-gpu-mem", total, stdin="true")
        assert len(attempts(duckrow)[-1][3]) == count, total


def test_jobs_on_several_gpus_share_them_too(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 2)
    job = gpus.job("--ramp", "0.1:9000", "--until-peak", 18_000, "--all")
    duckrow("run", "--gpu-mem", "9G", "--gpus", "2", stdin=lines(job, 4))
    assert gpus.ooms() == []
    assert all(set(holds) == {"0", "1"} for _, _, _, holds, _ in attempts(duckrow))
    assert neighbours(duckrow) == {"0": 2, "1": 2}


def test_gpus_without_a_library_are_what_the_user_says(duckrow: Duckrow, tmp_path: Path) -> None:
    duckrow.env |= {"LD_LIBRARY_PATH": str(tmp_path), "DUCKROW_FAKE_NVML": ""}
    four = "echo x >> here; until [ $(wc -l < here) -ge 4 ]; do sleep 0.05; done"
    duckrow("run", "--devices", "0:24G,1:24G", "--gpu-mem", "10G", stdin=lines(four, 8))
    assert neighbours(duckrow) == {"0": 2, "1": 2}
    assert_never_promised_twice(duckrow)


# -- the ramp -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ramp", [("0.7:9000",), ("0:400", "0.7:9000")], ids=["nothing at first", "little at first"])
def test_jobs_that_allocate_late_do_not_run_out_of_memory(
    duckrow: Duckrow, gpus: FakeGpus, ramp: tuple[str, ...]
) -> None:
    add(gpus, 3)
    duckrow("run", "--gpu-mem", "9G", stdin=lines(gpus.job("--ramp", *ramp, "--until-peak", 18_000), 12))
    assert outcomes(duckrow) == {"succeeded": 12}
    assert gpus.ooms() == []
    assert neighbours(duckrow) == {"0": 2, "1": 2, "2": 2}


def test_when_packing_the_first_wave_learns(duckrow: Duckrow, gpus: FakeGpus) -> None:
    """It is tried out at once, four on each GPU, and two have room: the others know better the second time."""
    add(gpus, 3)
    run = duckrow("run", "--pack", stdin=lines(gpus.job("--ramp", "0.7:8500", "--until-read"), 12))
    assert "each job: part of a GPU, by memory" in run.stderr
    assert outcomes(duckrow) == {"succeeded": 12}
    first_wave = attempts(duckrow)[:3]
    assert [list(holds) for _, _, _, holds, _ in first_wave] == [["0"], ["1"], ["2"]]
    assert all(0 < share < WHOLE / 5 for _, _, _, holds, _ in first_wave for share in holds.values())
    assert duckrow.sql("SELECT max(retries_used) FROM jobs") == [(0,)]


# -- out of memory --------------------------------------------------------------------------------------------------


def test_a_storm_of_jobs_that_ask_for_too_little_passes(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 4)
    count = 100 if SOAK else 20
    real = [2000 + (number * 1777) % 8000 for number in range(count)]  # 2 to 10 times what they ask for
    together = ("--meet", 16, "--hold", "0.3")
    jobs = [gpus.job("--ramp", f"0:{mb // 4}", f"0:{mb}", *together) for mb in real]
    duckrow("run", "--gpu-mem", "1000M", "--retries", "2", stdin="\n".join(jobs))
    assert outcomes(duckrow) == {"succeeded": count}
    assert duckrow.sql("SELECT max(retries_used) FROM jobs") == [(0,)]
    ends = [outcome for *_, outcome in attempts(duckrow)]
    assert ends.count("succeeded") == count
    assert set(ends) == {"succeeded", "out-of-memory"}
    assert len(gpus.ooms()) == ends.count("out-of-memory") > 0
    assert_never_promised_twice(duckrow)


@pytest.mark.parametrize("words", [("--gpu-mem", "4G"), ("--pack",), (), ("--gpu-mem", "4G", "--gpus", "2")], ids=str)
def test_a_job_that_is_too_large_for_the_largest_gpu_fails_and_says_so(
    duckrow: Duckrow, gpus: FakeGpus, words: tuple[str, ...]
) -> None:
    add(gpus, 1, 20_000)
    add(gpus, 1, 10_000)
    (duckrow.work / "jobs").write_text(gpus.job("--ramp", "0:2000", "0.1:30000"))
    with duckrow.spawn("run", *words, "--retries", "3", "jobs", stderr=subprocess.PIPE) as run:
        said = run.communicate(timeout=DEADLINE_S)[1].decode()
    assert run.returncode == 1
    assert "0 succeeded, 1 out-of-memory" in said
    job = duckrow.job(1)
    assert job["outcome"] == "out-of-memory"
    where = "0,1 of 9.8G" if "--gpus" in words else "0 of 19.5G"
    assert f"alone on GPU {where}: there is no larger one" in job["detail"].replace("1,0", "0,1")
    assert {outcome for *_, outcome in attempts(duckrow)} == {"out-of-memory"}
    assert duckrow.sql("SELECT retries_used FROM jobs") == [(0,)]


def test_memory_in_all_grows_until_there_is_no_more(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 2)
    (duckrow.work / "jobs").write_text(gpus.job("--ramp", "0:2000", "0.1:30000", "--all"))
    with duckrow.spawn("run", "--total-gpu-mem", "6G", "jobs", stderr=subprocess.DEVNULL) as run:
        assert run.wait(DEADLINE_S) == 1
    assert outcomes(duckrow) == {"out-of-memory": 1}
    assert [len(holds) for _, _, _, holds, _ in attempts(duckrow)][-1] == 2


def test_a_job_that_runs_out_of_memory_beside_a_colleague_waits_for_a_gpu_without_one(
    duckrow: Duckrow, gpus: FakeGpus, colleague: subprocess.Popen[bytes]
) -> None:
    add(gpus, 2)
    gpus.allocate(colleague.pid, 0, 15_000)
    gpus.allocate(os.getpid(), 1, 16_000)
    run = duckrow.spawn("run", "--pack", "-", stdin=subprocess.PIPE)
    assert run.stdin is not None
    run.stdin.write(gpus.job("--ramp", "0:2000", "0.1:12000", "--hold", "0.2").encode())
    run.stdin.close()
    until(lambda: len(gpus.ooms()) == 1, "the first try")
    until(lambda: duckrow.state(1) == "queued", "its return to the queue")
    gpus.free(os.getpid(), 1)
    # What others have used counts for a while, so it does not start at once; nor has it failed.
    assert duckrow.state(1) == "queued"
    assert "out of GPU memory; retried on a GPU that has" in duckrow.sql("SELECT detail FROM attempts")[0][0]
    run.kill()
    run.wait()


# -- the closed loop ------------------------------------------------------------------------------------------------


def test_an_unknown_recipe_holds_a_guess_until_its_use_is_flat(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1)
    bring_up(duckrow)
    trains = gpus.job("--ramp", "0:1000", "0.5:3000", "--hold", "600", "--util", "40")
    job = f"until [ -e go ]; do sleep 0.05; done; exec {trains}"
    first, second, third = (duckrow.submit("--pack", "--", job) for _ in range(3))
    for job_id in (first, second, third):
        duckrow.wait_for(job_id, "running")
        assert holds_of(duckrow, job_id) == {"0": 160_000}  # the mean, by ratio, of 512 MB and 20 GB
    (duckrow.work / "go").touch()
    until(lambda: all(holds_of(duckrow, job_id) != {"0": 160_000} for job_id in (first, second, third)), "all flat")
    shares = [holds_of(duckrow, job_id)["0"] * 20_000 / WHOLE for job_id in (first, second, third)]
    assert all(3300 < mb < 4000 for mb in shares), shares

    # The scheduler dies in the middle of packing: the next one keeps what was reserved, and knows what was learned.
    duckrow.kill_daemon()
    bring_up(duckrow)
    fourth, fifth, sixth = (duckrow.submit("--pack", "--", job) for _ in range(3))
    duckrow.wait_for(fifth, "running")
    assert shares == [holds_of(duckrow, job_id)["0"] * 20_000 / WHOLE for job_id in (first, second, third)]
    assert holds_of(duckrow, fourth)["0"] < WHOLE / 5
    duckrow("kill", *map(str, (first, second, third, fourth, fifth)))
    duckrow.wait_for(sixth, "running")
    assert gpus.ooms() == []
    duckrow("kill", str(sixth))
    for job_id in (first, second, third, fourth, fifth, sixth):
        duckrow.wait_for(job_id, "killed")
    assert_never_promised_twice(duckrow)


def test_a_known_recipe_is_packed_from_the_start(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1)
    job = gpus.job("--ramp", "0:4000", "--until-read")
    duckrow("run", "--pack", stdin=job)
    duckrow("run", "--pack", stdin=lines(job, 4))
    assert neighbours(duckrow) == {"0": 4}
    assert gpus.ooms() == []


def test_parameters_that_decide_the_memory_tell_jobs_apart(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1)
    small, large = (f"BATCH={mb} {gpus.job('--ramp', f'0:{mb}', '--until-read')}" for mb in (2000, 8000))
    duckrow("run", "--pack", "--memory-params", "BATCH", stdin=f"{small}\n{large}")
    known = duckrow.sql("SELECT parameters, peak_mb FROM recipe_runs")
    assert {json.loads(parameters)["BATCH"]: mb for parameters, mb in known} == {"2000": 2000, "8000": 8000}
    duckrow("run", "--pack", "--memory-params", "BATCH", stdin=lines(small, 5))
    assert neighbours(duckrow) == {"0": 5}


def test_what_a_recipe_takes_is_known_for_each_model(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1, 20_000, "NVIDIA H200")
    add(gpus, 1, 10_000, "NVIDIA A100")
    duckrow("run", "--pack", stdin=lines(gpus.job("--ramp", "0:4000", "--until-read"), 2))
    assert sorted(duckrow.sql("SELECT model, peak_mb FROM peaks")) == [("NVIDIA A100", 4000), ("NVIDIA H200", 4000)]


def test_a_recipe_that_nearly_fills_a_gpu_runs_again(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1)
    job = gpus.job("--ramp", "0:19000", "--until-read")
    duckrow("run", "--pack", stdin=job)
    duckrow("run", "--pack", stdin=lines(job, 2))
    assert outcomes(duckrow) == {"succeeded": 3}
    assert neighbours(duckrow) == {"0": 1}


# -- others ---------------------------------------------------------------------------------------------------------


def test_what_a_colleague_uses_is_not_free_nor_is_it_when_he_has_just_left(
    duckrow: Duckrow, gpus: FakeGpus, colleague: subprocess.Popen[bytes]
) -> None:
    add(gpus, 2)
    gpus.allocate(colleague.pid, 0, 15_000)
    job = gpus.job("--ramp", "0.1:9000", "--until-peak", 18_000)
    run = duckrow.spawn("run", "--gpu-mem", "9G", "-", stdin=subprocess.PIPE)
    assert run.stdin is not None
    run.stdin.write(lines(job, 6).encode())
    run.stdin.close()
    until(lambda: gpus.peak_mb(1) >= 9000, "our use")
    colleague.kill()
    colleague.wait()
    assert run.wait(DEADLINE_S) == 0
    assert gpus_used(duckrow) == {"1"}
    assert neighbours(duckrow) == {"1": 2}


def test_a_colleague_who_came_while_nobody_looked_is_not_overrun(
    duckrow: Duckrow, gpus: FakeGpus, colleague: subprocess.Popen[bytes]
) -> None:
    add(gpus, 2)
    bring_up(duckrow)
    duckrow.wait_for(duckrow.submit("--gpu-mem", "9G", "--", "true"), "succeeded")
    gpus.allocate(colleague.pid, 0, 5_000)
    gpus.allocate(colleague.pid, 1, 15_000)  # where nothing has ended that would have made us look again
    job = duckrow.submit("--gpu-mem", "9G", "--", gpus.job("--ramp", "0:9000", "--hold", "0.2"))
    duckrow.wait_for(job, "succeeded")
    assert holds_of(duckrow, job).keys() == {"0"}
    assert gpus.ooms() == []


def test_gpus_that_others_use_are_left_alone_when_asked(
    duckrow: Duckrow, gpus: FakeGpus, colleague: subprocess.Popen[bytes]
) -> None:
    add(gpus, 2)
    gpus.allocate(colleague.pid, 0, 2000)
    duckrow("run", "--only-idle-gpus", stdin=lines("true", 4))
    assert gpus_used(duckrow) == {"1"}
    duckrow("run", "--only-idle-gpus", "--gpu-mem", "1G", stdin=lines("true", 4))
    assert gpus_used(duckrow) == {"1"}


def test_a_display_server_does_not_make_a_gpu_less_idle_and_keeps_its_memory(
    duckrow: Duckrow, gpus: FakeGpus, display: subprocess.Popen[bytes]
) -> None:
    add(gpus, 1)
    gpus.allocate(display.pid, 0, 3000, kind="graphics")
    duckrow("run", "--only-idle-gpus", stdin="true")
    job = gpus.job("--ramp", "0:8000", "--until-peak", 19_000)
    duckrow("run", "--only-idle-gpus", "--gpu-mem", "8200M", stdin=lines(job, 4))
    assert outcomes(duckrow) == {"succeeded": 5}
    assert gpus.peak_mb(0) == 19_000, "3000 of the display, 8000 of each of two jobs"


def test_who_is_ignored_is_for_the_user_to_say(
    duckrow: Duckrow, gpus: FakeGpus, display: subprocess.Popen[bytes]
) -> None:
    add(gpus, 1)
    gpus.allocate(display.pid, 0, 3000, kind="graphics")
    bring_up(duckrow, "--only-idle-gpus", "--ignore-processes", "Xorg")
    waits = duckrow.submit("--gpu-mem", "1G", "--", "true")
    told = "GPUs that somebody else is using are not used"
    until(lambda: duckrow("gpus") and told in duckrow("why", str(waits)).stdout, "the reason")
    duckrow("down")
    duckrow.env["DUCKROW__RUN__IGNORE_PROCESSES"] = "Xorg, gnome-shell"
    duckrow("run", "--only-idle-gpus", "--gpu-mem", "1G", stdin="true")


@pytest.mark.parametrize("words", [(), ("--gpu-mem", "4G")], ids=["whole", "memory"])
def test_politeness(duckrow: Duckrow, gpus: FakeGpus, words: tuple[str, ...]) -> None:
    add(gpus, 3)
    job = lines("sleep 0.2", 8)
    duckrow("run", "--min-free-gpus", "1", *words, stdin=job)
    assert gpus_at_once(duckrow) == 2
    duckrow.sql("DELETE FROM attempts")
    duckrow("run", "--max-gpus", "1", "--prefer", "2", *words, stdin=job)
    assert gpus_at_once(duckrow) == 1
    assert "2" in attempts(duckrow)[0][3]


def test_a_number_of_jobs_limits_what_memory_would_allow(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 2)
    duckrow("run", "--jobs-per-gpu", "3", "--gpu-mem", "1G", stdin=lines("sleep 0.3", 12))
    assert neighbours(duckrow) == {"0": 3, "1": 3}


@pytest.mark.parametrize("words", [{"hidden_pids": True}, {"no_pids": True}, {"no_process_memory": True}], ids=str)
def test_in_a_container_memory_is_told_by_its_change(
    duckrow: Duckrow, gpus: FakeGpus, colleague: subprocess.Popen[bytes], words: dict[str, bool]
) -> None:
    gpus.add("NVIDIA H200", 20_000, **words)
    gpus.allocate(colleague.pid, 0, 3000)
    duckrow("run", "--gpu-mem", "8000M", stdin=lines(gpus.job("--ramp", "0.1:7500", "--until-read"), 4))
    assert gpus.ooms() == []
    assert neighbours(duckrow) == {"0": 2}
    alike = Duckrow(duckrow.home.parent / "other", duckrow.work)  # it has seen none of those
    alike.env = {**duckrow.env, "DUCKROW_HOME": str(alike.home)}
    alike("run", "--pack", stdin=lines(gpus.job("--ramp", "0.1:2000", "--until-read"), 3))
    assert alike.sql("SELECT peak_mb FROM peaks") == [(2000,)]


@pytest.mark.parametrize("by_option", [False, True], ids=["inherited", "typed"])
def test_gpus_that_are_named_by_uuid_are_read_and_handed_on_by_number(
    duckrow: Duckrow, gpus: FakeGpus, by_option: bool
) -> None:
    add(gpus, 3)
    chosen = f"{gpus.uuid(2)[:12]},{gpus.uuid(1)}"
    words = ("--devices", chosen) if by_option else ()
    env = {} if by_option else {"CUDA_VISIBLE_DEVICES": chosen}
    job = gpus.job("--ramp", "0:9000", "--until-read", "--gpu-index-from-env")
    duckrow("run", *words, "--gpu-mem", "9G", stdin=lines(job, 6), env=env)
    assert (gpus_used(duckrow), neighbours(duckrow)) == ({"1", "2"}, {"1": 2, "2": 2})
    assert duckrow.sql("SELECT max(peak_memory_mb) FROM attempts") == [(9000,)]


def test_instances_of_a_divided_gpu_are_handed_on_by_uuid(duckrow: Duckrow, gpus: FakeGpus) -> None:
    gpus.add("NVIDIA H200", 40_000, mig=[10_000, 10_000])
    second = gpus.uuid(0, mig=1)
    job = gpus.job("--ramp", "0:4000", "--until-read")
    duckrow("run", "--gpu-mem", "4500M", stdin=lines(job, 4), env={"CUDA_VISIBLE_DEVICES": second[:16]})
    assert (gpus_used(duckrow), neighbours(duckrow)) == ({second}, {second: 2})
    assert duckrow.sql("SELECT max(peak_memory_mb) FROM attempts") == [(4000,)]


@pytest.mark.parametrize("fault", [{"lost": True}, {"nonsense": True}, {"no_memory": True}], ids=str)
def test_a_gpu_that_talks_nonsense_is_never_free(duckrow: Duckrow, gpus: FakeGpus, fault: dict[str, bool]) -> None:
    add(gpus, 2)
    bring_up(duckrow)
    gpus.change(0, **fault)
    jobs = [duckrow.submit("--gpu-mem", "9G", "--", "sleep 0.2") for _ in range(3)]
    for job_id in jobs:
        duckrow.wait_for(job_id, "succeeded")
    assert gpus_used(duckrow) == {"1"}
    gpus.change(1, **fault)
    blocked = duckrow.submit("--gpu-mem", "9G", "--", "true")
    gpus.record_calls()
    until(lambda: len([call for call in gpus.calls() if "Init" in call.function]) > 2, "readings in vain")
    assert duckrow.state(blocked) == "queued"
    gpus.change(1, **dict.fromkeys(fault, False))
    duckrow.wait_for(blocked, "succeeded")
    assert gpus_used(duckrow) == {"1"}


def test_gpus_that_are_all_lost_before_they_are_read_are_not_taken_for_free(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1)
    bring_up(duckrow)
    gpus.change(0, lost=True)
    gpus.record_calls()
    job = duckrow.submit("--gpu-mem", "9G", "--", "true")
    until(lambda: len([call for call in gpus.calls() if "Init" in call.function]) > 3, "readings in vain")
    assert duckrow.state(job) == "queued"
    gpus.change(0, lost=False)
    duckrow.wait_for(job, "succeeded")


def test_nobody_asks_the_driver_while_nothing_waits_and_nothing_runs(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1)
    bring_up(duckrow)
    duckrow.wait_for(duckrow.submit("--gpu-mem", "9G", "--", gpus.job("--ramp", "0:500", "--hold", "0.2")), "succeeded")
    gpus.record_calls()
    until(lambda: is_quiet(gpus, 0.3), "the end of what was asked while it ran")
    assert is_quiet(gpus, 1.5)


def is_quiet(gpus: FakeGpus, seconds: float) -> bool:
    """Whether nobody asks the driver anything for so long."""
    begun, before = time.monotonic(), gpus.calls()
    until(lambda: time.monotonic() - begun > seconds, "a while to pass")
    return gpus.calls() == before


# -- two duckrows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ramp", [("0.5:9000",), ("0:300", "0.5:9000")], ids=["nothing at first", "little at first"])
def test_two_duckrows_never_pick_the_same_free_memory(
    duckrow: Duckrow, another: Duckrow, gpus: FakeGpus, ramp: tuple[str, ...]
) -> None:
    add(gpus, 2)
    jobs = duckrow.work / "jobs"
    jobs.write_text(lines(gpus.job("--ramp", *ramp, "--until-peak", 18_000), 5))
    runs = [each.spawn("run", "--gpu-mem", "9000M", str(jobs)) for each in (duckrow, another)]
    assert [run.wait(DEADLINE_S) for run in runs] == [0, 0]
    assert gpus.ooms() == []
    assert max(gpus.peak_mb(0), gpus.peak_mb(1)) == 18_000


def test_a_duckrow_that_dies_has_its_promises_kept_by_the_other(
    duckrow: Duckrow, another: Duckrow, gpus: FakeGpus
) -> None:
    add(gpus, 1)
    bring_up(duckrow)
    jobs = [
        duckrow.submit("--gpu-mem", "9000M", "--", gpus.job("--ramp", "1.5:9000", "--hold", "600")) for _ in range(2)
    ]
    for job_id in jobs:
        duckrow.wait_for(job_id, "running")
    duckrow.kill_daemon()
    rest = another.spawn("run", "--gpu-mem", "9000M", "-", stdin=subprocess.PIPE)
    assert rest.stdin is not None
    rest.stdin.write(lines(gpus.job("--ramp", "0:9000", "--hold", "0.1"), 2).encode())
    rest.stdin.close()
    until(lambda: '"queued"' in another("ls", "--json").stdout, "the other one's jobs")
    until(lambda: gpus.used_mb(0) == 18_000, "the memory of the dead one's jobs")
    assert another.state(1) == "queued"
    bring_up(duckrow)
    assert [duckrow.state(job_id) for job_id in jobs] == ["running"] * 2
    assert gpus.ooms() == []
    rest.kill()
    rest.wait()


def test_a_run_beside_the_daemon_shares_the_gpus_with_it(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1)
    bring_up(duckrow)
    long = gpus.job("--ramp", "0:6000", "--hold", "600")
    held = duckrow.submit("--gpu-mem", "6000M", "--", long)
    until(lambda: gpus.used_mb(0) == 6000, "the daemon's job")
    duckrow("run", "--gpu-mem", "6000M", stdin=lines(gpus.job("--ramp", "0.1:6000", "--until-peak", 18_000), 4))
    assert gpus.ooms() == []
    assert gpus.peak_mb(0) == 18_000, "what the daemon's job uses was counted twice"
    duckrow("kill", str(held))


# -- the machine, and what is told ----------------------------------------------------------------------------------


def test_cores_and_memory_of_the_machine_are_given_out_once(duckrow: Duckrow) -> None:
    cores = len(os.sched_getaffinity(0))
    bring_up(duckrow, "--slots", "8")
    first = duckrow.submit("--cpus", str(cores), "--mem", "10M", "--", "sleep 600")
    duckrow.wait_for(first, "running")
    second = duckrow.submit("--cpus", "1", "--", "true")
    assert "it needs 1 core" in duckrow("why", str(second)).stdout
    assert duckrow.state(second) == "queued"
    duckrow("kill", str(first))
    duckrow.wait_for(second, "succeeded")
    refused = duckrow("submit", "--cpus", "4000", "--", "true", ok=False)
    assert "4000 cores" in refused.stderr + refused.stdout + duckrow("why", "last").stdout


def test_a_run_beside_the_daemon_shares_the_cores_with_it(duckrow: Duckrow) -> None:
    cores = len(os.sched_getaffinity(0))
    bring_up(duckrow, "--slots", "8")
    first = duckrow.submit("--cpus", str(cores), "--", "sleep 600")
    duckrow.wait_for(first, "running")
    run = duckrow.spawn("run", "--slots", "2", "--cpus", "1", "-", stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert run.stdin is not None
    run.stdin.write(b"true\n")
    run.stdin.close()
    until(lambda: duckrow.state(first + 1) == "queued", "the job of the run")
    third = duckrow.submit("--", "true")  # whoever has seen that has had time to start the other
    duckrow.wait_for(third, "succeeded")
    assert duckrow.state(first + 1) == "queued"
    duckrow("kill", str(first))
    assert run.wait(DEADLINE_S) == 0


def test_why_tells_of_the_memory_that_a_job_waits_for(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1)
    bring_up(duckrow)
    first = duckrow.submit("--gpu-mem", "15G", "--", gpus.job("--ramp", "0:15000", "--hold", "600"))
    duckrow.wait_for(first, "running")
    second = duckrow.submit("--gpu-mem", "9G", "--", "true")
    told = until(lambda: re.search(r"(?s).*GPU 0 has .* free.*", duckrow("why", str(second)).stdout), "a reading")[0]
    assert "it needs 9" in told
    assert f"job {first}" in told


def test_why_tells_of_memory_that_no_process_has(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1)
    gpus.change(0, unowned_mb=20_000)
    bring_up(duckrow)
    job = duckrow.submit("--gpu-mem", "9G", "--", "true")
    until(lambda: "of GPU 0 belong to no visible process" in duckrow("why", str(job)).stdout, "the reason")
    assert duckrow.state(job) == "queued"
    gpus.change(0, unowned_mb=0)
    duckrow.wait_for(job, "succeeded")


def test_peaks_and_utilization_are_told(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1)
    duckrow("run", "--gpu-mem", "9G", stdin=lines(gpus.job("--ramp", "0:7000", "--until-read", "--util", "40"), 3))
    assert duckrow.job(1)["peak_memory_mb"] == 7000
    listed = json.loads(duckrow("ls", "--all", "--json").stdout)
    assert {job["peak_memory_mb"] for job in listed} == {7000}
    assert "7000 MB" in duckrow("show", "1").stdout
    for utilization, curve in duckrow.sql("SELECT utilization, curve FROM attempts"):
        assert 0 < utilization <= 100
        assert max(mb for _, mb, _ in json.loads(curve)) == 7000
    assert {0 < job["utilization"] <= 100 for job in listed} == {True}


def test_frameworks_that_share_a_gpu_are_told_so_unless_the_user_has(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1)
    names = ("XLA_PYTHON_CLIENT_PREALLOCATE", "TF_FORCE_GPU_ALLOW_GROWTH", "OMP_NUM_THREADS")
    show = "; ".join(f"echo {name}=${name}" for name in names)
    for name in names:
        duckrow.env.pop(name, None)
    duckrow("run", "--gpu-mem", "9G", stdin=show)
    told = duckrow("logs", "1").stdout
    assert "XLA_PYTHON_CLIENT_PREALLOCATE=false" in told
    assert "TF_FORCE_GPU_ALLOW_GROWTH=true" in told
    assert re.search(r"OMP_NUM_THREADS=\d+", told)
    duckrow("run", "--gpu-mem", "9G", "--env", "OMP_NUM_THREADS=77", stdin=show)
    assert "OMP_NUM_THREADS=77" in duckrow("logs", "2").stdout
    duckrow("run", stdin=show)
    assert "TF_FORCE_GPU_ALLOW_GROWTH=\n" in duckrow("logs", "3").stdout


@pytest.mark.parametrize("framework", ["jax", "tf"])
def test_frameworks_that_take_a_whole_gpu_by_default_are_packed(
    duckrow: Duckrow, gpus: FakeGpus, framework: str
) -> None:
    add(gpus, 1)
    job = gpus.job("--ramp", "0.1:4000", "--hold", "0.3", "--preallocate", framework)
    duckrow("run", "--gpu-mem", "4500M", stdin=lines(job, 4))
    assert gpus.ooms() == []
    assert neighbours(duckrow) == {"0": 4}
