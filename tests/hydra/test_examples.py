"""examples/hydra: the three commands of clusterduck's document, and the configurations of our pages."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from duckrow.hydra.keys import ClusterduckSlurmConf, LocalConf, SlurmConf
from tests.conftest import DEADLINE_S, Duckrow
from tests.fork_server import HydraScript, run_to_end

ROOT = Path(__file__).parent.parent.parent
COMMANDS = re.findall(r"^    python (.+)$", (ROOT / "examples/hydra/train.py").read_text(), re.MULTILINE)


def typed(duckrow: Duckrow, command: str, *more: str) -> subprocess.CompletedProcess[str]:
    if not (duckrow.work / "examples").exists():
        shutil.copytree(ROOT / "examples", duckrow.work / "examples")
    return run_to_end(HydraScript, [*shlex.split(command), *more], duckrow.work, duckrow.env, DEADLINE_S)


def test_the_plain_command_runs_without_duckrow(duckrow: Duckrow) -> None:
    done = typed(duckrow, COMMANDS[0])
    assert done.returncode == 0, done.stderr
    assert len(list(duckrow.work.glob("multirun/*/*/[0-3]/train.log"))) == 4


def test_the_debug_platform_runs_on_this_machine(duckrow: Duckrow) -> None:
    done = typed(duckrow, COMMANDS[1])
    assert done.returncode == 0, done.stderr
    rows = json.loads(duckrow("results", "train", "--json").stdout)
    assert [(row["model"], row["iteration"], row["state"]) for row in rows] == [
        ("convnet", 0, "succeeded"),
        ("convnet", 1, "succeeded"),
        ("transformer", 0, "succeeded"),
        ("transformer", 1, "succeeded"),
    ]
    assert all(row["loss"] < 10 for row in rows)


def test_the_platform_of_a_cluster_says_what_is_missing_where_there_is_none(duckrow: Duckrow) -> None:
    duckrow.env |= {"SLURM_CONF": str(duckrow.work / "none"), "PATH": "/nowhere"}
    done = typed(duckrow, COMMANDS[2])
    assert done.returncode == 1
    assert "sbatch" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_platform_with_gpus_gives_each_run_one(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0,1")
    done = typed(duckrow, COMMANDS[0], "+platform=gpus")
    assert done.returncode == 0, done.stderr
    logs = [path.read_text() for path in duckrow.work.glob("multirun/*/*/[0-3]/train.log")]
    assert len(logs) == 4
    assert all(re.search("on GPU [01]\n", log) for log in logs)


@pytest.mark.parametrize("page", ["hydra.md", "coming-from-clusterduck.md"])
def test_the_configurations_of_the_pages_have_keys_that_there_are(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    launchers = [
        yaml.safe_load(block)["hydra"]["launcher"] for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    ]
    known = vars(ClusterduckSlurmConf()) if "clusterduck" in page else vars(LocalConf())
    assert launchers
    assert all(launcher.keys() <= known.keys() for launcher in launchers)


def test_every_key_is_on_the_page() -> None:
    rows = re.findall(r"^\| (`.+?) \|", (ROOT / "docs/hydra.md").read_text(), re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert ({*vars(LocalConf()), *vars(SlurmConf())} - {"_target_"}) <= told
