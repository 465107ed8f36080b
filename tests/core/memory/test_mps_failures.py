"""Which last words tell of a failure of MPS."""

from __future__ import annotations

import pytest

from duckrow.core.memory.mps_failures import mps_failure

FAILED, FULL = "its MPS server failed", "MPS has no room for one more client"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("Error 805: MPS client failed to connect to the MPS control daemon or the MPS server (Triggered ...", FAILED),
        (
            "CUDA error: the remote procedural call between the MPS server and the MPS client failed",
            FAILED,
        ),
        ("the MPS server is not ready to accept new MPS client requests", FAILED),
        ("CUDA_ERROR_MPS_RPC_FAILURE", FAILED),
        ("cudaErrorMpsMaxClientsReached", FULL),
        ("CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED: ...", FULL),
        ("the hardware resources required to create MPS client have been exhausted", FULL),
        ("RuntimeError: MPS backend out of memory (MPS allocated: 9 GB)", None),
        ("ValueError: no MPS device", None),
        ("all resources have been exhausted", None),
    ],
)
def test_words(line: str, what: str | None) -> None:
    assert mps_failure(["Traceback (most recent call last):", line]) == what


def test_only_the_end_of_a_log_counts() -> None:
    assert mps_failure(["CUDA_ERROR_MPS_RPC_FAILURE", *["epoch"] * 100]) is None
