"""Options of other commands, and of sbatch, that are given to `duckrow submit`: what to type instead."""

from __future__ import annotations

from duckrow.cli.options.job_options import device_options
from duckrow.core.slurm.sbatch_options import LETTERS
from duckrow.core.slurm.sbatch_options import NAMES as OF_SBATCH

_IN_OUR_WORDS = {
    "--gpus-per-node": "--gpus",
    "--gpus-per-task": "--gpus",
    "--mem-per-gpu": "--gpu-mem (of the GPU) or --mem (of the machine)",
    "--mem-per-cpu": "--mem",
    "--export": "--env",
    "--requeue": "--requeue-lost",
    "--time": "--timeout, with its unit (--timeout 90m)",
}
_OF_RUN = ("--max-failures", "--resume", "--dry-run", "--passthrough", "--format")


def advice_on(option: str) -> str | None:
    """What to type instead of an option that submit does not have; None if no tool has it."""
    name = option.split("=", 1)[0]
    if name == "--devices":
        return "Choose the GPUs once, for all jobs: duckrow up --devices 0,1. How many this job needs: --gpus 2."
    if name in _device_option_names():
        return f"Set {name} once, for all jobs: duckrow up {name}."
    if name == "--gpus-per-job":
        return "--gpus says how many GPUs each job needs: --gpus 2."
    if name == "--follow":
        return "To follow the output: duckrow logs -f ID. To wait until the job is done: --wait."
    if name in _OF_RUN:
        return f"{name} is for a list of commands that runs while you wait: duckrow run {name}."
    return _of_sbatch(f"--{LETTERS[name[1:]]}" if name[1:] in LETTERS else name)


def _of_sbatch(name: str) -> str | None:
    if name in _IN_OUR_WORDS:
        return f"{name} is an option of sbatch. In duckrow, use {_IN_OUR_WORDS[name]}."
    if name == "--nodes":
        return "--nodes is for runs on a cluster: --on slurm --nodes 2."
    if name.removeprefix("--") in OF_SBATCH:
        return f"{name} is an option of sbatch and has no meaning here. On a cluster: --on slurm --sbatch={name}=..."
    return None


def _device_option_names() -> set[str]:
    def verb() -> None:
        """Only there to have the options."""

    device_options(verb)
    return {name for option in verb.__click_params__ for name in (*option.opts, *option.secondary_opts)}  # type: ignore[attr-defined]
