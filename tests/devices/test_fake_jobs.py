"""Simulated jobs on fake GPUs: they take memory, run out of it and misbehave as real ones do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S, Duckrow, until
from tests.fake_nvml import FakeGpus, Place
from tests.fake_nvml.asking import Nvml
from tests.fake_nvml.fakegpu import OOM_TEXTS, CudaError

pytest_plugins = ("tests.fake_nvml.plugin",)

ROOT = Path(__file__).parents[2]


def start(gpus: FakeGpus, *words: str, **environment: str) -> subprocess.Popen[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CUDA_")}
    return subprocess.Popen(
        ["sh", "-c", f"exec {gpus.job(*words)}"],
        env={**inherited, **gpus.env(), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(gpus: FakeGpus, *words: str, **environment: str) -> tuple[int, str]:
    job = start(gpus, *words, **environment)
    _, errors = job.communicate(timeout=DEADLINE_S)
    return job.returncode, errors


def taken(gpus: FakeGpus) -> dict[str, int]:
    """The most that was held of each device."""
    peaks: Counter[str] = Counter()
    for event in gpus.history():
        peaks[str(event.place)] = max(peaks[str(event.place)], event.mb)
    return dict(peaks)


def test_a_job_climbs_its_ramp_while_nvml_looks_on(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add()
    before = time.time()
    job = start(gpus, "--ramp", "0:100", "0.2:8000", "--hold", "600", "--util", "50")
    until(lambda: nvml.used_mb() == 8000, "the second step")
    assert nvml.pids() == [job.pid]
    assert nvml("nvmlDeviceGetUtilizationRates(gpu(0)).gpu") == 50
    first, second = gpus.history()
    assert (first.mb, second.mb) == (100, 8000)
    assert second.at > before + 0.19
    job.terminate()
    output, errors = job.communicate(timeout=DEADLINE_S)
    assert (job.returncode, errors) == (-signal.SIGTERM, "")
    assert output.startswith(f"fakegpu: process {job.pid} holds 100 MB on GPU 0\n")
    assert nvml.used_mb() == 0


def test_a_job_gives_back_what_it_took(gpus: FakeGpus) -> None:
    gpus.add()
    assert finish(gpus, "--ramp", "0:100", "0:8000", "0:50", "--exit", "3") == (3, "")
    assert [(event.what, event.mb, event.used_mb) for event in gpus.history()] == [
        ("took", 100, 100),
        ("took", 8000, 8000),
        ("took", 50, 50),
        ("freed", 0, 0),
    ]
    assert (gpus.peak_mb(0), gpus.used_mb(0), gpus.ooms()) == (8000, 0, [])


@pytest.mark.parametrize("framework", OOM_TEXTS)
def test_a_job_dies_with_the_words_of_its_framework(gpus: FakeGpus, framework: str) -> None:
    gpus.add(memory_mb=10_000)
    gpus.allocate(os.getpid(), 0, 5000)
    code, errors = finish(gpus, "--ramp", "0:100", "0:8000", "--log-oom", framework)
    assert code == 1
    assert {
        "torch": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.71 GiB.",
        "torch-old": "RuntimeError: CUDA out of memory. Tried to allocate 7.71 GiB (GPU 0; 9.77 GiB total capacity;",
        "jax": "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8283750400 bytes.",
        "tf": "ResourceExhaustedError: {{function_node __wrapped__Mul_device_/job:localhost/replica:0/task:0/device:GPU"
        ":0}} OOM when allocating tensor with shape[7900,262144] and type float on /job:localhost",
        "cupy": "Out of memory allocating 8,283,750,400 bytes (allocated so far: 104,857,600 bytes).",
        "cublas": "CUBLAS_STATUS_ALLOC_FAILED",
        "cudnn": "CUDNN_STATUS_ALLOC_FAILED",
        "driver": "CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    }[framework] in errors
    assert [(event.mb, event.used_mb) for event in gpus.ooms()] == [(8000, 5100)]
    assert gpus.used_mb(0) == 5000


def test_a_job_may_be_killed_instead(gpus: FakeGpus) -> None:
    gpus.add(memory_mb=1000)
    assert finish(gpus, "--ramp", "0:1001", "--kill-oom") == (-signal.SIGKILL, "")


def test_jobs_that_start_at_once_never_get_more_than_there_is(gpus: FakeGpus) -> None:
    gpus.add(memory_mb=1000, reserved_mb=50)
    jobs = [start(gpus, "--ramp", "0:300", "--hold", "600") for _ in range(5)]
    until(lambda: len(gpus.history()) == 5, "all to have tried")
    assert (gpus.used_mb(0), len(gpus.ooms())) == (900, 2)
    for job in jobs:
        job.kill()
        job.communicate()
    assert gpus.used_mb(0) == 0


def test_a_job_may_stay_until_somebody_has_read_what_it_holds(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add()
    gpus.add()
    job = start(gpus, "--ramp", "0:10", "--until-read")
    until((gpus.folder.path / "calls").exists, "the job to wait")
    nvml.used_mb(1)
    assert job.poll() is None
    until(lambda: nvml.used_mb(0) == 0, "its end, now that it is read")
    assert job.wait(DEADLINE_S) == 0


def test_jobs_may_wait_for_each_other(gpus: FakeGpus) -> None:
    gpus.add(memory_mb=1000)
    jobs = [start(gpus, "--ramp", "0:100", "0:400", "--meet", "2", "--until-peak", "800") for _ in range(2)]
    assert [job.wait(DEADLINE_S) for job in jobs] == [0, 0]
    assert gpus.peak_mb(0) == 800
    assert [event.mb for event in gpus.history()][:2] == [100, 100]


@pytest.mark.parametrize(
    ("visible", "places"),
    [
        (None, ["0", "1", "2.0"]),
        ("", []),
        ("-1", []),
        ("1", ["1"]),
        ("1,0", ["1", "0"]),
        (" 1 , 0 ", ["1", "0"]),
        ("1,9,0", ["1"]),
        ("1,1", []),
        ("2", ["2.0"]),
        ("UUID1", ["1"]),
        ("UUID1,0", ["1", "0"]),
        ("PREFIX1", ["1"]),
        ("MIG", ["2.1"]),
        ("GPU-", []),
    ],
)
def test_a_job_sees_what_cuda_would_see(gpus: FakeGpus, visible: str | None, places: list[str]) -> None:
    for mig in (None, None, [1000, 1000]):
        gpus.add(mig=mig)
    names = {"UUID1": gpus.uuid(1), "PREFIX1": gpus.uuid(1)[:9], "MIG": gpus.uuid(2, 1)}
    environment = {}
    if visible is not None:
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(names.get(word, word) for word in visible.split(","))
    assert [str(place) for place in gpus.folder.visible(environment)] == places


def test_to_cuda_the_fastest_gpu_is_the_first_unless_the_order_is_that_of_the_bus(gpus: FakeGpus) -> None:
    gpus.add("old")
    gpus.add("new", speed=2)
    assert gpus.folder.visible({"CUDA_VISIBLE_DEVICES": "0"}) == [Place(1)]
    ordered = {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert gpus.folder.visible(ordered) == [Place(0)]
    gpus.change(0, gone=True)
    assert gpus.folder.visible(ordered) == [Place(1)]


def test_a_job_uses_the_devices_that_it_sees(gpus: FakeGpus) -> None:
    for _ in range(3):
        gpus.add()
    assert finish(gpus, "--ramp", "0:10", CUDA_VISIBLE_DEVICES="2,1") == (0, "")
    assert taken(gpus) == {"2": 10}
    assert finish(gpus, "--ramp", "0:20", "--all", CUDA_VISIBLE_DEVICES=f"{gpus.uuid(2)},1") == (0, "")
    assert taken(gpus) == {"2": 20, "1": 20}
    assert finish(gpus, "--ramp", "0:30", "--override-gpu", "0", CUDA_VISIBLE_DEVICES="1") == (0, "")
    assert taken(gpus) == {"2": 20, "1": 20, "0": 30}


def test_a_job_that_sees_no_device_fails_if_it_wants_one(gpus: FakeGpus) -> None:
    gpus.add()
    code, errors = finish(gpus, "--ramp", "0:10", CUDA_VISIBLE_DEVICES="")
    assert (code, errors.splitlines()[-1]) == (1, "RuntimeError: No CUDA GPUs are available")
    assert finish(gpus, "--exit", "3", CUDA_VISIBLE_DEVICES="") == (3, "")


def test_a_job_may_insist_on_numbers(gpus: FakeGpus) -> None:
    gpus.add()
    words = ("--ramp", "0:10", "--gpu-index-from-env")
    assert finish(gpus, *words, CUDA_VISIBLE_DEVICES="0") == (0, "")
    code, errors = finish(gpus, *words, CUDA_VISIBLE_DEVICES=gpus.uuid(0))
    assert code == 1
    assert "ValueError: invalid literal for int()" in errors


def test_children_may_hold_the_memory(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add(memory_mb=1000)
    job = start(gpus, "--ramp", "0:300", "--hold", "600", "--fork", "2")
    until(lambda: nvml.used_mb() == 600, "both children")
    assert len(nvml.pids()) == 2
    assert job.pid not in nvml.pids()
    os.killpg(job.pid, signal.SIGKILL)
    job.communicate(timeout=DEADLINE_S)
    until(lambda: nvml.used_mb() == 0, "the children's end")


def test_a_job_fails_if_its_children_do(gpus: FakeGpus) -> None:
    gpus.add(memory_mb=1000)
    code, errors = finish(gpus, "--ramp", "0:1100", "--fork", "2")
    assert code == 1
    assert errors.count("CUDA out of memory") == 2
    assert "the children ended with [1, 1]" in errors
    assert finish(gpus, "--ramp", "0:100", "--fork", "2") == (0, "")


def test_a_stubborn_job_only_yields_to_force(gpus: FakeGpus) -> None:
    gpus.add()
    job = start(gpus, "--ramp", "0:10", "0.5:20", "--hold", "600", "--stubborn")
    until(lambda: gpus.history(), "the first step")
    job.terminate()
    until(lambda: gpus.used_mb(0) == 20, "the second step")
    assert job.poll() is None
    job.kill()
    job.communicate(timeout=DEADLINE_S)
    assert gpus.used_mb(0) == 0


def test_a_job_may_leave_a_worker_behind_that_keeps_the_memory(gpus: FakeGpus, nvml: Nvml) -> None:
    gpus.add()
    job = start(gpus, "--ramp", "0:300", "--leave", "30")
    output, errors = job.communicate(timeout=DEADLINE_S)
    assert (job.returncode, errors) == (0, "")
    (worker,) = nvml.pids()
    assert f"process {worker} stays behind" in output
    assert nvml.used_mb() == 300
    assert os.getsid(worker) == worker != job.pid
    os.kill(worker, signal.SIGKILL)
    until(lambda: nvml.used_mb() == 0, "the worker's end")


@pytest.mark.parametrize(
    ("framework", "variable", "value", "mb"),
    [
        ("jax", "", "", 750),
        ("jax", "XLA_PYTHON_CLIENT_MEM_FRACTION", ".20", 200),
        ("jax", "XLA_PYTHON_CLIENT_PREALLOCATE", "false", 10),
        ("tf", "", "", 1000),
        ("tf", "TF_FORCE_GPU_ALLOW_GROWTH", "true", 10),
    ],
)
def test_some_frameworks_take_it_all_unless_they_are_told_not_to(
    gpus: FakeGpus, framework: str, variable: str, value: str, mb: int
) -> None:
    gpus.add(memory_mb=1000)
    assert finish(gpus, "--ramp", "0:10", "--preallocate", framework, **({variable: value} if variable else {})) == (
        0,
        "",
    )
    assert gpus.peak_mb(0) == mb


def test_a_gpu_may_refuse_a_process(gpus: FakeGpus, holder: subprocess.Popen[bytes]) -> None:
    gpus.add(compute_mode=3)
    gpus.allocate(holder.pid, 0, 10)
    code, errors = finish(gpus, "--ramp", "0:10")
    assert code == 1
    assert "CUDA-capable device(s) is/are busy or unavailable" in errors
    gpus.allocate(os.getpid(), 0, 10, kind="mps")
    gpus.change(0, lost=True)
    with pytest.raises(CudaError, match="launch failure"):
        gpus.allocate(os.getpid(), 0, 20)


def test_a_job_is_a_client_of_mps_where_there_is_a_control_daemon(gpus: FakeGpus, tmp_path: Path) -> None:
    gpus.add()
    for control in (False, True):
        if control:
            (tmp_path / "control").touch()
        job = start(gpus, "--ramp", "0:10", "--hold", "600", CUDA_MPS_PIPE_DIRECTORY=str(tmp_path))
        until(lambda: gpus.uses(), "the job")
        assert [use.kind for use in gpus.uses()] == ["mps" if control else "compute"]
        job.kill()
        job.communicate()


# -- duckrow on top of it -------------------------------------------------------------------------------------------


def test_duckrow_finds_the_gpus_and_its_jobs_use_them(gpus: FakeGpus, nvml: Nvml, duckrow: Duckrow) -> None:
    for _ in range(2):
        gpus.add(memory_mb=1000)
    duckrow.env.update(gpus.env())
    jobs = "\n".join(gpus.job("--ramp", "0:700", "--hold", "600") for _ in range(2))
    with duckrow.spawn("run", stdin=subprocess.PIPE) as run:
        assert run.stdin
        run.stdin.write(jobs.encode())
        run.stdin.close()
        until(lambda: (nvml.used_mb(0), nvml.used_mb(1)) == (700, 700), "both jobs")
        run.kill()
    assert gpus.ooms() == []


def test_the_gpus_are_those_of_the_product(gpus: FakeGpus) -> None:
    gpus.add("NVIDIA H200", 141_000)
    gpus.add("lost one", lost=True)
    gpus.add("dumb one", no_memory=True)
    script = "from duckrow.devices.nvml import NvmlSource; print([d.name for d in NvmlSource().devices()])"
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **gpus.env()}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "['0', '2']\n"


@pytest.mark.usefixtures("fake_nvml_library")
def test_a_shell_can_have_them_too(tmp_path: Path) -> None:
    script = (
        f'eval "$({sys.executable} -m tests.fake_nvml "{tmp_path}/the gpus" "NVIDIA H200:141000" "NVIDIA L4:24000")"'
        ' && CUDA_VISIBLE_DEVICES=1 sh -c "$fakegpu --ramp 0:23000"'
    )
    done = subprocess.run(["sh", "-ec", script], cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S)
    assert (done.returncode, done.stderr) == (0, "")
    assert "holds 23000 MB on GPU 1" in done.stdout
