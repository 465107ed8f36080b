"""simple_gpu_scheduler's command on duckrow: lines from standard input, one per GPU at a time."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from duckrow.api.interpreter import become, module_command

_ANNOUNCEMENT = "Processing command `{command}` on gpu {gpus}"
# Whatever the settings say of other runs: here the devices are those that are named, and the output is the old one.
_AS_IT_WAS = ["--jobs-per-gpu=1", "--no-follow", "--no-table", "--passthrough", "--lifo", "--share-gpus"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="simple_gpu_scheduler",
        description="Run the commands that come on standard input, a line each, on individual GPUs.",
    )
    parser.add_argument(
        "--gpus",
        nargs="+",
        required=True,
        help="One word is split at commas: 0,1,2. Of several each is a slot: 0,1 2,3 are two pairs; '' is a CPU slot.",
    )
    tokens = [token.replace(" ", "") for token in parser.parse_args(arguments).gpus]
    devices = [f"--devices={token}" for token in tokens]
    return become(module_command("duckrow", "run", *_AS_IT_WAS, "--announce", _ANNOUNCEMENT, *devices))


if __name__ == "__main__":
    main()
