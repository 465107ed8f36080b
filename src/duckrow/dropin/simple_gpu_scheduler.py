"""simple_gpu_scheduler's command on duckrow: lines from standard input, one per GPU at a time."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence

from duckrow.api.calls.interpreter import become, module_command
from duckrow.core.devices.device import GPU_NAME
from duckrow.core.devices.inventory import as_options
from duckrow.core.errors import UsageError

_ANNOUNCEMENT = "Processing command `{command}` on gpu {gpus}"
# Whatever the settings say for other runs: here we use the named devices, and print the original output.
_ONE_EACH = ["--jobs-per-gpu=1"]
_AS_IT_WAS = ["--no-follow", "--no-table", "--passthrough", "--lifo", "--share-gpus"]
# Multi-line commands, GPUs as CUDA reads them here, and slots in their order, even if they share a GPU.
_BESIDES = ["--blocks", "--as-written", "--fill"]
_SLOT = re.compile(rf"{GPU_NAME}(?:\s*[,+]\s*{GPU_NAME})*")
_NO_GPU = ("", "-1")  # as in CUDA


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="simple_gpu_scheduler",
        description="Run the commands from standard input, one per line, on individual GPUs.",
    )
    parser.add_argument(
        "--gpus",
        nargs="+",
        required=True,
        help="One word is split at commas: 0,1,2. Several words: a slot each. 0,1 2,3 are two pairs; '' is a CPU slot.",
    )
    try:
        slots = slots_of(parser.parse_args(arguments).gpus)
    except UsageError as error:
        print(f"simple_gpu_scheduler: {error}", file=sys.stderr)
        return error.exit_code
    devices = [*(_ONE_EACH if any(slots) else ()), *as_options(slots)]
    return become(module_command("duckrow", "run", *_AS_IT_WAS, *_BESIDES, "--announce", _ANNOUNCEMENT, *devices))


def slots_of(words: Sequence[str]) -> list[str]:
    """The GPUs of each slot. One word is split at commas, so that `0,` is GPU 0 and a slot without a GPU."""
    parts = words[0].split(",") if len(words) == 1 else words
    return [_slot_of(part.strip()) for part in parts]


def _slot_of(written: str) -> str:
    if written in _NO_GPU:
        return ""
    if _SLOT.fullmatch(written):
        return re.sub(r"\s", "", written)
    listed = written.split()
    if len(listed) > 1 and all(_SLOT.fullmatch(word) for word in listed):
        meant = f"--gpus {' '.join(listed)} (without quotes)"
        raise UsageError(f"--gpus '{written}' is one word, of which CUDA would read only the beginning. Write {meant}.")
    raise UsageError(
        f"--gpus: '{written}' does not name GPUs. Write their numbers or UUIDs: 0,1,2 (a command each), 0,1 2,3 "
        "(pairs), '' (no GPU)."
    )


if __name__ == "__main__":
    sys.exit(main())
