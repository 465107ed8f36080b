"""GPU memory on a real SLURM with fake GPUs: what one pilot has learned helps the next, and comes home."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fake_nvml import FakeGpus
from tests.hydra.conftest import Application
from tests.slurm.conftest import SlurmDuckrow

pytest_plugins = ("tests.fake_nvml.plugin",)

# The third and the fourth run begin to use the GPU when both are there: each of them alone would wait in vain.
SCRIPT = """
number=$(basename $DUCKROW_RUN_DIR)
if test $number -ge 2; then
    touch here.$number
    tries=0
    until test -e here.2 && test -e here.3; do
        sleep 0.1; tries=$((tries + 1)); test $tries -lt 600 || exit 1
    done
fi
exec {job}
"""


@pytest.fixture
def gpu(duckrow: SlurmDuckrow, gpus: FakeGpus, tmp_path: Path) -> FakeGpus:
    """Every node has the same one."""
    gpus.add(memory_mb=10_000)
    duckrow.env |= {**gpus.env(), "DUCKROW_GPU_LOCKS": str(tmp_path / "locks")}
    return gpus


def test_what_a_slurm_job_has_learned_is_known_to_the_next_one_and_at_home(
    duckrow: SlurmDuckrow, gpu: FakeGpus
) -> None:
    job = gpu.job("--ramp", "0:2000", "--until-read")
    (duckrow.work / "train.sh").write_text(SCRIPT.replace("{job}", job))
    words = ["--gres", "gpu:1", "--pack", "--runs-per-job", "2", "--fixed-chunks", "--max-jobs", "1"]
    duckrow("run", "--on", "slurm", *words, stdin="sh train.sh\n" * 4)
    assert duckrow.states() == ["succeeded"] * 4
    (peak,) = json.loads(duckrow("memory", "--json").stdout)
    assert peak["peak_mb"] == 2000


def test_what_is_known_at_home_is_known_to_the_first_slurm_job(duckrow: SlurmDuckrow, gpu: FakeGpus) -> None:
    job = gpu.job("--ramp", "0:2000", "--until-read")
    (duckrow.work / "train.sh").write_text(SCRIPT.replace("{job}", job))
    duckrow("run", "--devices", "0", "--pack", stdin="sh train.sh\n")
    words = ["--gres", "gpu:1", "--pack", "--max-jobs", "1"]
    lines = [{"command": "sh train.sh", "folder": f"runs/{number}"} for number in (2, 3)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    duckrow("run", "--on", "slurm", "--format", "json", *words, stdin=text)
    assert duckrow.states() == ["succeeded"] * 3


def test_hydra_leaves_the_memory_of_its_runs_to_duckrow_in_a_slurm_job(duckrow: SlurmDuckrow, gpu: FakeGpus) -> None:
    app = Application(duckrow)
    job = gpu.job("--ramp", "0:3000", "--until-read")
    app.write(f"note(os.environ['CUDA_VISIBLE_DEVICES'])\nassert os.system({job!r}) == 0")
    keys = {"gres": "'gpu:1'", "gpu_mem": "auto", "max_jobs": "1"}
    app("x=range(3)", *(f"hydra.launcher.{key}={value}" for key, value in keys.items()), launcher="duckrow_slurm")
    assert app.said() == ["0", "0", "0"]
    assert [row["peak_memory_mb"] for row in app.results()] == [3000] * 3
    assert [peak["peak_mb"] for peak in json.loads(duckrow("memory", "--json").stdout)] == [3000]
