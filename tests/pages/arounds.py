"""What each page takes for granted: files, jobs with the ids that it names, and a daemon."""

from __future__ import annotations

import sys

from tests.fake_nvml import fakegpu
from tests.pages.reading import ROOT
from tests.pages.walk import Around

COMMANDS = "python train.py --lr 0.1\npython train.py --lr 0.01\npython train.py --lr 0.001\n"
MODELS_OF_OLD = "".join(
    f"python train_model.py --lr {lr} --output run_{run}\n" for run, lr in enumerate(("0.001", "0.0005", "0.0001"), 1)
)
EXAMPLES = f"cp -r {ROOT}/examples ."
MODELS = (
    "duckrow sweep 'python {model} {lr} {dataset}' -n train -p model cnn -p lr 0.1 0.01 -p dataset mnist cifar "
    "--run --slots 2"
)
# A training that takes a second, and memory of its GPU.
ON_GPU = f"""import os, sys
os.execv({sys.executable!r}, [{sys.executable!r}, "-IS", {fakegpu.__file__!r}, "--ramp", "0:2048", "--hold", "1.5"])
"""
# By default it simulates all jobs, and searches for five seconds with all its might.
SHORT_SEARCH = "echo --jobs 20 --search 0.1s --trace trace.json"
SETTINGS = "../home/.config/duckrow/config.toml"
GAN = "results/method-GAN,num_packing-1,num_zmode-1,"


def jobs(number: int, *words: str) -> str:
    """Adds this many, so that the ids that a page names exist."""
    return f"{lines('true', number)} | duckrow submit {' '.join(words)} --file -"


def lines(line: str, number: int) -> str:
    return f"yes -- {line!r} | head -n {number}"


def left_by_a_run() -> str:
    return "printf 'false\\ntrue\\n' | duckrow run --slots 1 --max-failures 1 || true"


AROUND = {
    "README.md": Around(has_own_network=True),
    "tutorial.md": Around(saves={"python": "train.py"}),
    "run.md": Around(
        first="echo true | duckrow run --name nightly --slots 1; touch queue.txt",
        files={"commands.txt": COMMANDS},
        before={"make_commands |": "echo true | duckrow run --slots 1"},  # the last list from a pipe was JSON
    ),
    "sweeps.md": Around(
        first=EXAMPLES, saves={"# sweep.yaml": "sweep.yaml"}, files={"points.csv": "lr,model\n0.1,cnn\n"}
    ),
    "results.md": Around(first=MODELS, env={"DUCKROW_METRICS": "WORK/metrics.jsonl"}),
    "jobs.md": Around(first=f"{jobs(12, '--cpu')}; duckrow wait --all"),
    "settings.md": Around(),
    "sbatch-scripts.md": Around(saves={"#!/bin/bash": "train.sh"}, before={"afterok:12": "duckrow submit true"}),
    "memory.md": Around(files={"commands.txt": COMMANDS, "train.py": ON_GPU}),
    "shared-machine.md": Around(
        first=jobs(12),
        files={"commands.txt": COMMANDS},
        before={"--ignore-processes": "duckrow up --service --remove"},
    ),
    "daemon.md": Around(
        calls=(
            "sudo nvidia-smi --gpu-reset -i 3",
            "nvidia-smi --gpu-reset -i 3",
            "loginctl enable-linger",
            "systemctl --user enable duckrow.service",
            "systemctl --user restart duckrow.service",
            "systemctl --user status duckrow.service",
        )
    ),
    "warm-starts.md": Around(
        files={
            "commands.txt": COMMANDS,
            "site-packages/torch.py": "",
            "site-packages/numpy.py": "",
            "train.py": "import torch\n",
        },
        env={"PYTHONPATH": "WORK/site-packages"},
    ),
    "hydra.md": Around(
        files={
            "train.py": "import hydra\n\n\n@hydra.main(version_base=None, config_path='.', config_name='config')\n"
            "def main(config):\n    return config.lr\n\n\nmain()\n",
            "config.yaml": "lr: 0.1\nseed: 0\n",
        },
        instead={"multirun/DATE/TIME": "ls -d multirun/*/* | tail -n 1"},
    ),
    "slurm.md": Around(
        files={"commands.txt": COMMANDS},
        saves={"# ~/.config/duckrow/config.toml": SETTINGS},
        before={
            "duckrow ls": jobs(12, "--hold", "--on slurm", "--time 2h"),
            "logs -f 12": "duckrow release 12",
            "wait 1-200": "duckrow release 9-11,13-20",
        },
    ),
    "cli.md": Around(
        first="\n".join(
            ["chmod +x tell-me.sh", left_by_a_run(), left_by_a_run(), jobs(200, "--hold", "--name fit"), MODELS]
        ),
        files={
            "commands.txt": COMMANDS,
            "sweep.yaml": "command: python train.py {lr}\nparameters: {lr: [0.1]}\n",
            "tell-me.sh": "#!/bin/sh\n",
        },
        before={
            "id=$(duckrow submit -- python prep.py)": "duckrow pause",
            "--array 0-99%4": "duckrow resume",
            "duckrow batches": "test -d .duckrow-slurm || duckrow submit --on slurm --time 2h --file commands.txt",
        },
        instead={
            "--trace trace.json": SHORT_SEARCH,
            "slurm-1115-153636": "basename .duckrow-slurm/*",
            "/home/me/thesis/.duckrow-slurm/rates": "ls -d .duckrow-slurm/*",
        },
    ),
    "simulate.md": Around(
        first=f"{jobs(3)}; duckrow wait --all",
        files={"cluster_log.csv": "submit_time,duration,gpus\n0,60,1\n600,60,2\n"},
        instead={"--trace trace.json": SHORT_SEARCH, "--search 30s": "echo --search 0.1s"},
    ),
    "json.md": Around(first="duckrow submit false; duckrow wait 1 || true"),
    "web.md": Around(has_own_network=True, calls=("ssh -L 8787:127.0.0.1:8787 machine",)),
    "http.md": Around(
        has_own_network=True,
        files={"../home/.curlrc": "fail-with-body\nshow-error\n"},
        before={"/api/v1/jobs/1/log": "duckrow wait 1"},
    ),
    "coming-from-clusterduck.md": Around(first=f"cp -r {ROOT}/examples/hydra/* ."),
    "coming-from-gpu-task-scheduler.md": Around(first=f"mkdir -p '{GAN}'"),
    "coming-from-gpupeasy.md": Around(has_own_network=True),
    "coming-from-simple-gpu-scheduler.md": Around(first="touch gpu.queue", files={"gpu_commands.txt": MODELS_OF_OLD}),
}
