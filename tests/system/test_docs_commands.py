"""Every command that a page tells you to type is run here as it is written, unless `NOT_RUN` says why not.

The programs that jobs call are stand-ins, and the GPUs are numbers: what is tested is that duckrow takes the command.
"""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.conftest import DEADLINE_S, Duckrow
from tests.shown import CONSOLE, Terminal, differences
from tests.test_docs import DOCS

_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)

# What a line contains, and why it is not run here.
NOT_RUN = {
    r"\b(uv|pipx?) (tool |pip )?(install|uninstall)\b": "installs a package",
    r"\bsudo\b|\bsystemctl\b|\bloginctl\b|--service\b": "changes the machine",
    r"\btail -f\b|--watch\b|duckrow web$|dropin gpupeasy|^ssh ": "ends only with Ctrl-C",
    r"--on \w+|duckrow batches": "needs a cluster (tests/slurm, tests/clusters)",
    r"--preload torch": "needs PyTorch (tests/system/test_warm.py)",
    r"^python train.py .*(-m |--multirun)": "needs Hydra (tests/hydra/test_examples.py)",
    r"\| jq\b": "needs jq",
    r"^touch 'results|^for folder in results": "for results of an older tool",
    r"^duckrow down": "the pages after it need the daemon",
    r"--devices all|--gpu-mem|--total-gpu-mem|--pack": "needs a GPU that can be read (tests/system/test_memory.py)",
    r"^duckrow run --gpus 2": "needs two GPUs",
    r"memory (set|forget)": "needs jobs that duckrow has learned from (tests/system/test_memory.py)",
    r"logs -f": "ends only when its job does, and here that is held",
    r"clean --run": "needs an interrupted run",
    r"failed:\$id": "here, the job before it has already succeeded (tests/system/test_control.py)",
}
PAGES = [
    "results.md",  # first: it shows the newest sweep
    *("cli.md", "jobs.md", "run.md", "sbatch-scripts.md", "settings.md", "sweeps.md"),
    *("memory.md", "shared-machine.md", "daemon.md"),
]
# Run by other tests (test_tutorial.py, tests/web, tests/hydra, tests/dropin), or only commands that are in `NOT_RUN`.
ELSEWHERE = {
    *("tutorial.md", "http.md", "slurm.md", "hydra.md", "web.md", "warm-starts.md", "json.md"),
    *("coming-from-clusterduck.md", "coming-from-gpu-task-scheduler.md", "coming-from-gpupeasy.md"),
    "coming-from-simple-gpu-scheduler.md",
}

# Reports what trainings report, and prints a command for whoever pipes it.
PROGRAM = """#!/bin/sh
if [ -n "$DUCKROW_METRICS" ]; then echo '{"loss": 0.1, "accuracy": 0.5}' >> "$DUCKROW_METRICS"; fi
case "$0" in *jobs) echo '{"command": "true"}' ;; *) echo true ;; esac
"""
FILES = {
    "commands.txt": "python train.py --lr 0.1\npython train.py --lr 0.01\npython train.py --lr 0.001\n",
    "points.csv": "lr,model\n0.1,cnn\n",
    "sweep.yaml": "command: python train.py --lr {lr} --seed {seed}\nparameters: {lr: [0.1], seed: 0..1}\n",
    "tell-me.sh": "#!/bin/sh\n",
}


def reason_not_to_run(line: str) -> str | None:
    return next((why for pattern, why in NOT_RUN.items() if re.search(pattern, line.partition(" #")[0].rstrip())), None)


def scripts(page: str) -> Iterator[str]:
    """The blocks of a page, without what is not run here. Scripts of jobs are tested elsewhere."""
    for body in _BLOCK.findall((DOCS / page).read_text()):
        lines = body.replace("\\\n", " ").splitlines()
        kept = [line for line in lines if not reason_not_to_run(line)]
        if any(kept) and not body.startswith("#!"):
            yield "\n".join(kept)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duckrow]:
    """A folder with what the pages name, and a daemon with enough jobs that their ids exist: 12 has not started."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "work").mkdir()
    duckrow = Duckrow(folder / "state", folder / "work")
    programs = duckrow.work / "programs"
    programs.mkdir()
    for name in ("python", "torchrun", "nvidia-smi", "make_commands", "make_jobs"):
        (programs / name).write_text(PROGRAM)
    (programs / "duckrow").write_text(f'#!/bin/sh\nexec {sys.executable} -m duckrow "$@"\n')
    for name, text in FILES.items():
        (duckrow.work / name).write_text(text)
    (duckrow.work / "held.txt").write_text("true\n" * 200)
    for file in [*programs.iterdir(), duckrow.work / "tell-me.sh"]:
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    duckrow.env["PATH"] = f"{programs}:{duckrow.env['PATH']}"
    duckrow.env["DUCKROW_METRICS"] = str(duckrow.work / "metrics.jsonl")
    try:
        duckrow("up", "--devices", "0-7", "--slots", "8")
        duckrow("submit", "--hold", "--name", "fit", "--file", "held.txt")
        duckrow("run", "--name", "nightly", "--slots", "1", stdin="true\n")
        parameters = ["-p", "model", "cnn", "-p", "lr", "0.1", "0.01", "-p", "dataset", "mnist", "cifar"]
        duckrow("sweep", "python {model} {lr} {dataset}", "-n", "train", *parameters, "--run", "--slots", "2")
        yield duckrow
    finally:
        duckrow("down", "--kill")


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run(page: str, scene: Duckrow) -> None:
    for script in scripts(page):
        done = subprocess.run(
            ["/bin/sh", "-e", "-c", script],
            cwd=scene.work,
            env=scene.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
        assert done.returncode == 0, f"{page}:\n{script}\n\n{done.stdout}{done.stderr}"


def test_the_dry_run_that_a_page_shows_is_what_happens(scene: Duckrow) -> None:
    (shown,) = CONSOLE.findall((DOCS / "run.md").read_text())
    told = Terminal(scene.work, scene.env).retold(shown)
    assert not list(differences(shown, told))


def test_every_page_with_commands_is_run_somewhere() -> None:
    with_commands = {page.name for page in DOCS.glob("*.md") if "```sh\n" in page.read_text()}
    assert with_commands <= {*PAGES, *ELSEWHERE}
