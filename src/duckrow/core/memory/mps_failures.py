"""Whether an attempt ended because of NVIDIA's MPS and not by its own fault, judged by the end of its log."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NEAR_THE_END = 60

# CUDA's errors 805 to 810, by name and by message. PyTorch also says MPS for Apple's Metal, which has no server.
_WORDS = re.compile(
    r"CUDA_ERROR_MPS_\w+|cudaErrorMps\w+"
    r"|MPS client failed to connect to the MPS|MPS server is not ready|MPS server and the MPS client failed"
    r"|create MPS client have been exhausted|device connections have been exhausted|MPS client has been terminated"
)
_TOO_MANY = re.compile(r"have been exhausted|MAX_C\w+_REACHED|MpsMax\w+Reached")


def mps_failure(lines: Sequence[str]) -> str | None:
    """What went wrong with MPS, in a few words; None: nothing."""
    for line in reversed(lines[-_NEAR_THE_END:]):
        if _WORDS.search(line):
            return "MPS has no room for one more client" if _TOO_MANY.search(line) else "its MPS server failed"
    return None
