"""What duckrow adds to a job's environment."""

from __future__ import annotations

import os

from duckrow.core.inventory import visible_devices
from duckrow.core.job import LiveAttempt


def extra_environment(attempt: LiveAttempt, folder: str) -> dict[bytes, bytes]:
    job = attempt.job
    extra = {
        b"CUDA_VISIBLE_DEVICES": visible_devices(attempt.holds).encode(),
        b"CUDA_DEVICE_ORDER": b"PCI_BUS_ID",
        b"DUCKROW_JOB_ID": b"%d" % job.id,
        b"DUCKROW_ATTEMPT": b"%d" % attempt.number,
        b"DUCKROW_PROJECT": job.project.encode(),
        b"DUCKROW_RUN_DIR": os.fsencode(folder),
        b"DUCKROW_METRICS": os.fsencode(folder) + b"/metrics.jsonl",
    }
    if job.array_index is not None:
        index, array = b"%d" % job.array_index, b"%d" % (job.array_id or job.id)
        extra |= {b"DUCKROW_ARRAY_INDEX": index, b"DUCKROW_ARRAY_ID": array}
        extra |= {b"SLURM_ARRAY_TASK_ID": index, b"SLURM_ARRAY_JOB_ID": array}
    if len(attempt.holds) > 1:
        extra[b"MASTER_PORT"] = b"%d" % free_port()
    return extra


def free_port() -> int:
    """A TCP port that nobody uses now: two launches on one machine must not meet on the same."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
