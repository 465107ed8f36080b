"""A broken GPU must not eat the queue: it is set aside and told, and the jobs that failed on it run elsewhere."""

from __future__ import annotations

import json

from tests.conftest import Duckrow

pytest_plugins = ("tests.fake_nvml.plugin",)

BROKEN_3 = "test $CUDA_VISIBLE_DEVICES != 3 || exit 1; sleep 0.2"
"""A job that fails at once on GPU 3, and nowhere else."""


def outcomes(duckrow: Duckrow) -> dict[str, int]:
    return dict(duckrow.sql("SELECT coalesce(outcome, state), count(*) FROM jobs GROUP BY 1"))


def devices_of(duckrow: Duckrow, job_id: int) -> list[str]:
    """Where it was tried, in order."""
    rows = duckrow.sql("SELECT holds FROM attempts WHERE job_id = ? ORDER BY number", job_id)
    return [json.loads(holds)[0][0] for (holds,) in rows]


def set_aside(duckrow: Duckrow) -> dict[str, str]:
    return dict(duckrow.sql("SELECT device, why FROM set_aside"))


# -- failures in a row -------------------------------------------------------------------------------------------


def test_a_broken_gpu_among_four_is_set_aside_and_every_job_succeeds(duckrow: Duckrow) -> None:
    done = duckrow("run", "--gpus", "0,1,2,3", "--retries", "1", stdin=f"{BROKEN_3}\n" * 40)
    assert outcomes(duckrow) == {"succeeded": 40}
    assert duckrow.sql("SELECT sum(retries_used) FROM jobs") == [(0,)]
    assert done.stderr.count("GPU 3 is set aside: ") == 1
    assert "To give it out again: duckrow gpus add 3" in done.stderr
    assert "40 succeeded, in" in done.stderr
    there = [job for job in range(1, 41) if "3" in devices_of(duckrow, job)]
    assert 3 <= len(there) < 40
    assert all(devices_of(duckrow, job)[1:] != [] and "3" not in devices_of(duckrow, job)[1:] for job in there)
