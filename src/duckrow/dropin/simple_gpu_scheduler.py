"""simple_gpu_scheduler's command on duckrow: lines from standard input, one per GPU at a time."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

_ANNOUNCEMENT = "Processing command `{command}` on gpu {gpus}"


def main(arguments: Sequence[str] | None = None) -> None:
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
    gpus = parser.parse_args(arguments).gpus
    words = ["--passthrough", "--lifo", "--announce", _ANNOUNCEMENT, *(f"--gpus={token}" for token in gpus)]
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "duckrow", "run", *words])


if __name__ == "__main__":
    main()
