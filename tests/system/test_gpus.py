"""`duckrow gpus` and `duckrow memory` over GPUs that do not exist: what is shown, corrected and forgotten."""

from __future__ import annotations

import getpass
import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEADLINE_S, Duckrow, read_to_end, until
from tests.fake_nvml import FakeGpus
from tests.test_docs import DOCS, rows_of

pytest_plugins = ("tests.fake_nvml.plugin",)


@pytest.fixture
def machine(duckrow: Duckrow, gpus: FakeGpus, tmp_path: Path) -> Iterator[Duckrow]:
    """A daemon over two GPUs and two CPU slots. In the foreground: one in the background drops DUCKROW_FAKE_NVML."""
    gpus.add("NVIDIA H200", memory_mb=102_400, temperature=41)
    gpus.add("NVIDIA H200", memory_mb=102_400, temperature=30)
    duckrow.env |= {**gpus.env(), "DUCKROW_GPU_LOCKS": str(tmp_path / "locks")}  # shared with no other test
    ready, told = os.pipe()
    words = ("up", "--foreground", "--ready-fd", str(told), "--devices", "0,1", "--slots", "2")
    with duckrow.spawn(*words, pass_fds=(told,), stderr=subprocess.PIPE) as daemon:
        os.close(told)
        assert os.read(ready, 5) == b"ready"
        yield duckrow
        duckrow("down", "--kill", ok=False)
        os.close(ready)
        daemon.communicate()


@pytest.fixture
def colleague() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with duckrow."""
    with subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"]}) as sleeper:
        yield sleeper
        sleeper.kill()


def as_json(duckrow: Duckrow) -> dict[str, dict[str, Any]]:
    return {device["device"]: device for device in json.loads(duckrow("gpus", "--json").stdout)}


def hold(duckrow: Duckrow, gpus: FakeGpus, mb: int, util: int = 0) -> int:
    """A job on GPU 0 that has taken its memory; its number."""
    job = duckrow.submit("--gpus", "1", gpus.job("--ramp", f"0:{mb}", "--hold", "600", "--util", util))
    until(lambda: [each["used_mb"] for each in as_json(duckrow)["0"]["jobs"]] == [mb], "the job's memory")
    return job


# -- gpus --------------------------------------------------------------------------------------------------------


def test_what_is_on_each_gpu_is_drawn(machine: Duckrow, gpus: FakeGpus, colleague: subprocess.Popen[bytes]) -> None:
    hold(machine, gpus, 25_600, util=35)
    gpus.allocate(colleague.pid, 0, 51_200)
    machine("gpus", "drain", "1")
    until(lambda: as_json(machine)["0"]["foreign_mb"] == 51_200, "the colleague's memory")
    shown = machine("gpus").stdout
    shown = re.sub(r"[\d.]+s, pid \d+: \S+ -IS \S+", "1.0s, pid N: python fakegpu.py", shown)
    assert shown.replace(f"pid {colleague.pid}", "pid M").replace(getpass.getuser(), "alice") == (
        "GPU  MODEL        MEMORY                               BUSY               TEMP  HOST\n"
        "0    NVIDIA H200  [######++++++++++++......] 75G/100G  [####......]  35%   41C  daemon\n"
        "     job 1: 25G of 100G, 1.0s, pid N: python fakegpu.py --ramp 0:25600 --hold 600 --util 35\n"
        "     alice: 50G, pid M: sleep\n"
        "1    NVIDIA H200  [........................] 0M/100G   [..........]   0%   30C  daemon, drained\n"
        "\n"
        "2 of 2 CPU slots free\n"
    )


def test_a_process_that_is_ignored_is_shown_as_such(
    machine: Duckrow, gpus: FakeGpus, display: subprocess.Popen[bytes]
) -> None:
    gpus.allocate(display.pid, 0, 700, kind="graphics")
    (process,) = until(lambda: as_json(machine)["0"]["processes"], "the process")
    assert (process["program"], process["ignored"]) == ("gnome-shell", True)
    assert f"{getpass.getuser()} (ignored): 700M, pid {display.pid}: gnome-shell" in machine("gpus").stdout


def test_the_fields_of_a_device_are_those_that_are_documented(
    machine: Duckrow, gpus: FakeGpus, colleague: subprocess.Popen[bytes]
) -> None:
    job = hold(machine, gpus, 8_000)
    gpus.allocate(colleague.pid, 0, 2_000)
    until(lambda: as_json(machine)["0"]["foreign_mb"] == 2_000, "the colleague's memory")
    devices = as_json(machine)
    text = (DOCS / "json.md").read_text()
    first = devices["0"]
    assert {*first, *first["jobs"][0]} == rows_of(text, "A device")
    assert {*first["processes"][0]} == rows_of(text, "A process on a device")
    assert all(set(device) == set(first) for device in devices.values())
    figures = {key: first[key] for key in ("model", "uuid", "total_mb", "free_mb", "foreign_mb", "temperature")}
    assert figures == {
        "model": "NVIDIA H200",
        "uuid": gpus.uuid(0),
        "total_mb": 102_400,
        "free_mb": 92_400,
        "foreign_mb": 2_000,
        "temperature": 41,
    }
    assert (first["jobs"][0]["reserved_mb"], first["jobs"][0]["used_mb"]) == (102_400, 8_000)
    processes = {process["pid"]: process for process in first["processes"]}
    assert processes.pop(colleague.pid) == {
        "pid": colleague.pid,
        "mb": 2_000,
        "job_id": None,
        "ignored": False,
        "user": getpass.getuser(),
        "program": "sleep",
    }
    assert [process["job_id"] for process in processes.values()] == [job]
    assert devices["cpu0"]["total_mb"] is None


def test_a_job_of_a_run_beside_the_daemon_is_no_stranger(machine: Duckrow, gpus: FakeGpus) -> None:
    (machine.work / "list").write_text(gpus.job("--ramp", "0:4000", "--hold", "600"))
    run = machine.spawn("run", "--devices", "1", "list", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: gpus.used_mb(1) == 4_000, "the job's memory")
        until(lambda: as_json(machine)["1"]["processes"], "a reading of it")
        second = as_json(machine)["1"]
        assert [process["job_id"] for process in second["processes"]] == [1]
        assert (second["foreign_mb"], second["jobs"][0]["used_mb"]) == (0, 4_000)
    finally:
        run.kill()
        run.communicate()


def test_a_gpu_that_is_added_by_its_uuid_has_its_number(machine: Duckrow, gpus: FakeGpus) -> None:
    machine("gpus")  # it is read, so its UUID is known
    machine("gpus", "remove", "1")
    until(lambda: "1" not in as_json(machine), "GPU 1 to go")
    machine("gpus", "add", gpus.uuid(1)[:14])
    until(lambda: "1" in as_json(machine), "GPU 1 to come back")
    assert as_json(machine)["1"]["total_mb"] == 102_400


def test_a_gpu_is_drained_and_removed_by_the_beginning_of_its_uuid(machine: Duckrow, gpus: FakeGpus) -> None:
    assert machine("gpus", "drain", gpus.uuid(1)[:14]).stderr == "duckrow: GPU 1: it gets no new job.\n"
    assert as_json(machine)["1"]["drained"]
    machine("gpus", "remove", gpus.uuid(1))
    until(lambda: "1" not in as_json(machine), "GPU 1 to go")
    refused = machine("gpus", "drain", "GPU-0000", ok=False)
    assert refused.stderr == "duckrow: The daemon has no GPU GPU-0000. It has: 0.\n"


def test_a_gpu_that_is_lost_says_so(machine: Duckrow, gpus: FakeGpus) -> None:
    machine("gpus")
    gpus.change(1, lost=True)
    until(lambda: as_json(machine)["1"]["set_aside"] == "it fell off the bus", "the loss to be seen")
    lines = machine("gpus").stdout.splitlines()
    assert re.fullmatch(r"1    NVIDIA H200  does not \w+.*daemon, set aside", lines[2])
    assert lines[3].startswith("     GPU 1 is set aside: it fell off the bus. To use it again: ")
    second = as_json(machine)["1"]
    assert (second["free_mb"], second["model"]) == (None, "NVIDIA H200")
    assert second["problem"].startswith("it does not ")


def test_a_run_on_a_gpu_that_is_not_there_says_so_and_uses_the_others(duckrow: Duckrow, gpus: FakeGpus) -> None:
    gpus.add("NVIDIA H200", memory_mb=102_400)
    duckrow.env |= gpus.env()
    told = duckrow("run", "--devices", "0,3", stdin="true\ntrue\n").stderr
    assert "duckrow: The driver lists no GPU 3, only GPU 0. To see them: duckrow gpus\n" in told
    assert [duckrow.job(number)["devices"] for number in (1, 2)] == [["0"], ["0"]]


def test_a_gpu_that_was_added_and_is_not_there_is_what_a_job_waits_for(machine: Duckrow) -> None:
    machine("gpus", "add", "7")
    for gpu in ("0", "1"):
        machine("gpus", "remove", gpu)
    job = machine.submit("--gpus", "1", "true")
    until(lambda: "the driver lists no GPU 7, only GPUs 0-1" in machine("why", str(job)).stdout, "the reason")


def test_without_a_library_it_shows_what_is_held(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0:24G,1:24G", "--slots", "1")
    for _ in range(2):  # the second time it does not wait for an answer
        rows = [line.split() for line in duckrow("gpus").stdout.splitlines()]
        assert rows[1:] == [["0", "daemon", "free"], ["1", "daemon", "free"], ["cpu0", "daemon", "free"]]
    first = as_json(duckrow)["0"]
    assert (first["free_mb"], first["total_mb"]) == (None, 24 * 1024)


def test_without_a_daemon_it_says_so(duckrow: Duckrow) -> None:
    assert duckrow("gpus").stderr == "duckrow: the daemon is not running; `duckrow up` starts it.\n"


def test_without_a_daemon_it_shows_what_the_driver_sees(
    duckrow: Duckrow, gpus: FakeGpus, colleague: subprocess.Popen[bytes]
) -> None:
    duckrow.env |= gpus.env()
    for _ in range(2):
        gpus.add("NVIDIA H200", memory_mb=102_400, temperature=41)
    gpus.allocate(colleague.pid, 1, 51_200)
    shown = duckrow("gpus")
    assert shown.stdout.replace(f"pid {colleague.pid}", "pid M").replace(getpass.getuser(), "alice") == (
        "GPU  MODEL        MEMORY                               BUSY               TEMP  HOST\n"
        "0    NVIDIA H200  [........................] 0M/100G   [..........]   0%   41C\n"
        "1    NVIDIA H200  [++++++++++++............] 50G/100G  [..........]   0%   41C\n"
        "     alice: 50G, pid M: sleep\n"
    )
    assert shown.stderr == "duckrow: the daemon is not running; `duckrow up` starts it.\n"
    assert [device["host"] for device in as_json(duckrow).values()] == ["", ""]
    assert "NVIDIA H200" in duckrow().stdout


def in_a_terminal(duckrow: Duckrow, width: int, *words: str, until_seen: bytes = b"", **env: str) -> str:
    """What a terminal of this width gets; with `until_seen`, up to that, and then Ctrl-C."""
    ours, theirs = pty.openpty()
    with duckrow.spawn(
        *words, stdout=theirs, stderr=theirs, env={"COLUMNS": str(width), "LINES": "40", **env}
    ) as process:
        os.close(theirs)
        got = b""
        if until_seen:
            while until_seen not in got:
                got += os.read(ours, 65536)
            process.send_signal(signal.SIGINT)
        got += read_to_end(ours)
        process.wait(DEADLINE_S)
    return got.decode().replace("\r\n", "\n")


def test_a_terminal_gets_what_fits_into_it(machine: Duckrow, gpus: FakeGpus) -> None:
    hold(machine, gpus, 25_600)
    for width in (30, 60, 120):
        lines = in_a_terminal(machine, width, "gpus").splitlines()
        assert max(map(len, lines)) <= width, lines
        assert ("█" in lines[1]) == (width > 56)
        assert "25G/100G" in lines[1]
        assert lines[2].endswith("…")
    assert "\x1b[36m██████\x1b[0m" in in_a_terminal(machine, 120, "gpus", NO_COLOR="", TERM="xterm")


def test_watching_goes_on_until_somebody_ends_it(machine: Duckrow, gpus: FakeGpus) -> None:
    for words, sentence in ((["--json"], "Omit one of them"), ([], "--watch needs a terminal")):
        refused = machine("gpus", "--watch", "0.2", *words, ok=False)
        assert refused.returncode == 2
        assert sentence in refused.stderr
    shown = in_a_terminal(machine, 100, "gpus", "--watch", "0.1", until_seen=b"\x1b[J\x1b[H")
    assert shown.count("NVIDIA H200") >= 2


# -- memory ------------------------------------------------------------------------------------------------------


def learn(duckrow: Duckrow, *recipes: str, model: str = "NVIDIA H200", peak_mb: int = 8_192) -> None:
    duckrow("ls")  # so that there is a database
    for recipe in recipes:
        duckrow.sql("INSERT INTO peaks VALUES (?, ?, ?, 3, 0, unixepoch() - 7500)", recipe, model, peak_mb)


def test_a_packed_run_teaches_what_its_jobs_take(duckrow: Duckrow, gpus: FakeGpus) -> None:
    gpus.add("NVIDIA H200", memory_mb=102_400)
    duckrow.env.update(gpus.env())
    assert duckrow("memory").stderr.startswith("duckrow: nothing has been learned yet.")
    duckrow("run", "--pack", "--devices", "0", stdin=gpus.job("--ramp", "0:5000", "--until-read"))
    (peak,) = json.loads(duckrow("memory", "--json").stdout)
    assert set(peak) == rows_of((DOCS / "json.md").read_text(), "A peak")
    assert (peak["peak_mb"], peak["model"], peak["corrected"]) == (5_000, "NVIDIA H200", False)
    assert peak["recipe"].endswith("/fakegpu.py")


def test_what_was_learned_is_listed_corrected_and_forgotten(duckrow: Duckrow) -> None:
    learn(duckrow, "/w: python a.py", "/w: python b.py")
    learn(duckrow, "/w: python b.py", model="NVIDIA A100", peak_mb=4_096)
    assert duckrow("memory").stdout == (
        "NR  PEAK  RUNS  LAST        FORETOLD  DECIDES  AT A TIME  GPU          RECIPE\n"
        "1   8G    3     2h 05m ago  -         -        -          NVIDIA H200  /w: python a.py\n"
        "2   4G    3     2h 05m ago  -         -        -          NVIDIA A100  /w: python b.py\n"
        "3   8G    3     2h 05m ago  -         -        -          NVIDIA H200  /w: python b.py\n"
    )
    assert duckrow("memory", "set", "2", "12G").stderr == "duckrow: /w: python b.py: 12G on NVIDIA A100.\n"
    assert duckrow("memory", "set", "A.PY", "500M").stderr == "duckrow: /w: python a.py: 500M on NVIDIA H200.\n"
    assert duckrow("memory", "set", "a.py", "2G", "--model", "a100").stderr.endswith("2G on NVIDIA A100.\n")
    known = "SELECT recipe, model, peak_mb, runs, corrected FROM peaks ORDER BY recipe, model"
    assert duckrow.sql(known) == [
        ("/w: python a.py", "NVIDIA A100", 2_048, 0, 1),
        ("/w: python a.py", "NVIDIA H200", 500, 3, 1),
        ("/w: python b.py", "NVIDIA A100", 12_288, 3, 1),
        ("/w: python b.py", "NVIDIA H200", 8_192, 3, 0),
    ]
    assert "500M (set)" in duckrow("memory").stdout
    assert duckrow("memory", "forget", "b.py").stderr == (
        "duckrow: forgotten: /w: python b.py on NVIDIA A100.\nduckrow: forgotten: /w: python b.py on NVIDIA H200.\n"
    )
    assert duckrow("memory", "forget", "--all").stderr == "duckrow: 2 peaks forgotten.\n"
    assert duckrow.sql(known) == []


def test_what_cannot_be_meant_is_told(duckrow: Duckrow) -> None:
    assert "Nothing has been learned yet" in duckrow("memory", "forget", "1", ok=False).stderr
    learn(duckrow, "/w: python a.py", "/w: python b.py")
    for words, sentence in (
        (["set", "c.py", "1G"], "No recipe has 'c.py' in it."),
        (["set", "", "1G"], "No recipe has '' in it."),
        (
            ["set", "python", "1G"],
            "'python' is in several recipes. Be more specific, or write its number:\n  /w: python a.py\n",
        ),
        (["set", "3", "1G"], "There is no number 3: `duckrow memory` shows 1 to 2."),
        (["set", "1", "much"], "'much' is not a size."),
        (["set", "1", "0"], "0 is not a size"),
        (["set", "1", "1G", "--model", "B200"], "No GPU model 'B200' has been seen here. Known: NVIDIA H200."),
        (["forget"], "Say which recipe to forget"),
        (["forget", "1", "--all"], "Say which recipe to forget"),
    ):
        refused = duckrow("memory", *words, ok=False)
        assert refused.returncode == 2, words
        assert sentence in refused.stderr, words
    assert duckrow.sql("SELECT count(*) FROM peaks WHERE corrected = 0") == [(2,)]


def test_a_daemon_goes_by_what_was_corrected(machine: Duckrow, gpus: FakeGpus) -> None:
    """Two fill a GPU by what is said of them, although they take next to nothing."""
    command = gpus.job("--ramp", "0:100", "--hold", "600")
    machine("pause")
    first = machine.submit("--pack", "--gpus", "1", command)
    recipe = json.loads(machine.sql("SELECT needs FROM jobs WHERE id = ?", first)[0][0])["recipe"]
    until(lambda: machine("gpus").returncode == 0 and machine.sql("SELECT 1 FROM readings"), "a reading")
    learn(machine, recipe, peak_mb=100)
    machine("memory", "set", "1", "40G")
    machine("resume")
    machine.wait_for(first, "running")
    (job,) = [job for device in as_json(machine).values() for job in device["jobs"]]
    assert job["reserved_mb"] == 40 * 1024 * 11 // 10 + 64


@pytest.mark.parametrize("way", ["00", "uuid"])
def test_a_gpu_is_booked_as_one_however_it_is_written(machine: Duckrow, gpus: FakeGpus, way: str) -> None:
    written = {"00": "00", "uuid": gpus.uuid(0)}[way]
    job = machine.submit("--", "exec sleep 600")
    machine.wait_for(job, "running")
    (machine.work / "list").write_text("echo $CUDA_VISIBLE_DEVICES")
    run = machine.spawn("run", "--devices", written, "list", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: machine.state(job + 1) == "queued", "the job of the run")
    machine.wait_for(machine.submit("--", "true"), "succeeded")  # on GPU 1; who has seen that has looked at GPU 0 too
    assert machine.state(job + 1) == "queued"
    machine("kill", str(job))
    assert run.wait(DEADLINE_S) == 0
    assert machine("logs", str(job + 1)).stdout == "0\n"


def test_a_gpu_is_drained_and_added_by_a_number_with_zeros(machine: Duckrow) -> None:
    assert machine("gpus", "drain", "01").stderr == "duckrow: GPU 1: it gets no new job.\n"
    assert machine("gpus", "undrain", "001").stderr == "duckrow: GPU 1 is available to jobs again.\n"
    assert machine("gpus", "add", "00").stderr == "duckrow: GPU 0 is available to jobs.\n"
    assert sorted(as_json(machine)) == ["0", "1", "cpu0", "cpu1"]


def test_a_command_is_told_what_it_would_reserve_and_why(duckrow: Duckrow) -> None:
    duckrow("ls")
    (duckrow.work / "train.py").touch()
    (duckrow.work / "link.py").symlink_to("train.py")
    script = os.path.realpath(duckrow.work / "train.py")
    assert f"nothing is known of {script}." in duckrow("memory", "--", "python", "train.py").stderr
    duckrow.sql("INSERT INTO peaks VALUES (?, 'NVIDIA H200', 8192, 2, 0, unixepoch())", script)
    for size, mb in ((8, 4096), (32, 8192)):
        called = json.dumps({"size": str(size)}, separators=(",", ":"))
        duckrow.sql("INSERT INTO recipe_runs VALUES (?, 'NVIDIA H200', ?, ?, 1, unixepoch())", script, called, mb)
    for words, amount in (
        (("python", "train.py", "--size", "8"), "4.2G. The same command took 4G."),
        (("python -u ./link.py --size=8",), "4.2G. The same command took 4G."),
        (("python", "train.py", "size=16"), "Its memory is decided by size. Runs with as much or more took 8G."),
        (("python", "train.py", "size=40"), "It is beyond all runs so far: 10G is a guess."),
        (("python", "train.py", "size=640"), "a GPU to itself. By size it is far beyond all runs so far."),
        (("python", "train.py"), "No run was like it. The largest of 2 runs took 8G."),
    ):
        told = duckrow("memory", "--", *words).stderr
        assert told.startswith(f"duckrow: {script} on NVIDIA H200: "), told
        assert amount in told, words
    (told,) = json.loads(duckrow("memory", "--json", "--", "python", "train.py", "--size", "8").stdout)
    assert set(told) == rows_of((DOCS / "json.md").read_text(), "A reservation")
    assert "size" in duckrow("memory").stdout
    duckrow("memory", "set", "train.py", "2G")
    assert "You have set 2G." in duckrow("memory", "--", "python", "train.py", "--size", "8").stderr
    assert "There is no command after --" in duckrow("memory", "--", ok=False).stderr
