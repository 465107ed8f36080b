"""What duckrow adds to a job's environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Mapping

from duckrow.core.devices.inventory import WHOLE, visible_devices
from duckrow.core.jobs.attempt import LiveAttempt


def extra_environment(
    attempt: LiveAttempt, folder: str, written: Mapping[str, str] | None = None
) -> dict[bytes, bytes]:
    """`written`: the names and the order that the user gave the GPUs; the job sees them like that."""
    job = attempt.job
    extra = {
        b"CUDA_VISIBLE_DEVICES": visible_devices(attempt.holds, written or {}).encode(),
        b"DUCKROW_JOB_ID": b"%d" % job.id,
        b"DUCKROW_ATTEMPT": b"%d" % attempt.number,
        b"DUCKROW_PROJECT": job.project.encode(),
        b"DUCKROW_RUN_DIR": os.fsencode(folder),
        b"DUCKROW_METRICS": os.fsencode(folder) + b"/metrics.jsonl",
    }
    if written is None:
        extra[b"CUDA_DEVICE_ORDER"] = b"PCI_BUS_ID"
    if job.array_index is not None:
        index, array = b"%d" % job.array_index, b"%d" % (job.array_id or job.id)
        extra |= {b"DUCKROW_ARRAY_INDEX": index, b"DUCKROW_ARRAY_ID": array}
        extra |= {b"SLURM_ARRAY_TASK_ID": index, b"SLURM_ARRAY_JOB_ID": array}
    return extra


def launcher_environment(attempt: LiveAttempt, new_port: Callable[[], int]) -> dict[bytes, bytes]:
    """For a job with several GPUs: torchrun starts a process on each. Variables of the user win."""
    if len(attempt.holds) == 1:
        return {}
    port = b"%d" % new_port()
    return {b"MASTER_PORT": port, b"PET_MASTER_PORT": port, b"PET_NPROC_PER_NODE": b"%d" % len(attempt.holds)}


def gentle_environment(attempt: LiveAttempt, seats: int, jobs: int) -> dict[bytes, bytes]:
    """For one that shares its GPU: frameworks do not take all of it, nor all cores, unless the user says so.

    `jobs`: that run or wait. The cores are divided by as many of them as may run at a time.
    """
    sharing = max(round(WHOLE / max(share, 1)) for _, share in attempt.holds)
    cores = len(os.sched_getaffinity(0))
    return {
        b"XLA_PYTHON_CLIENT_PREALLOCATE": b"false",
        b"TF_FORCE_GPU_ALLOW_GROWTH": b"true",
        b"OMP_NUM_THREADS": b"%d" % max(cores // max(min(sharing * seats, jobs), 1), 1),
    }


def free_port(handed_out: Container[int]) -> int:
    """A free TCP port. `handed_out`: not one of these, since two launches must not get the same one."""
    import socket

    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port not in handed_out:
            return port
