"""What duckrow adds to a job's environment."""

from __future__ import annotations

from duckrow.core.inventory import visible_devices
from duckrow.core.job import LiveAttempt


def extra_environment(attempt: LiveAttempt, folder: str) -> dict[str, str]:
    job = attempt.job
    extra = {
        "CUDA_VISIBLE_DEVICES": visible_devices(attempt.holds),
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "DUCKROW_JOB_ID": str(job.id),
        "DUCKROW_ATTEMPT": str(attempt.number),
        "DUCKROW_PROJECT": job.project,
        "DUCKROW_RUN_DIR": folder,
    }
    if len(attempt.holds) > 1:
        extra["MASTER_PORT"] = str(free_port())
    return extra


def free_port() -> int:
    """A TCP port that nobody uses now: two launches on one machine must not meet on the same."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
