"""The machine's own memory: whom the kernel has killed for it, and who was killed by somebody."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from duckrow.core.jobs.attempt import Exit
from duckrow.core.life.states import Outcome
from duckrow.scheduler.memory.more_memory import MemoryRetries
from tests.conftest import Duckrow
from tests.fork_server import KERNEL_KILLS

_LIMIT_FILES = {  # where cgroups may be mounted -> what limits their memory
    "/sys/fs/cgroup/memory": "memory.limit_in_bytes",
    "/sys/fs/cgroup": "memory.max",
}


@pytest.fixture
def narrow_group() -> Iterator[Path]:
    """A cgroup whose processes may take 40 MB."""
    for mounted, limit in _LIMIT_FILES.items():
        group = Path(mounted) / f"duckrow-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text("40M")
        except OSError:
            group.rmdir()
            continue
        yield group
        group.rmdir()
        return
    pytest.skip("no cgroup can be made here (that takes root)")


def outcomes(duckrow: Duckrow) -> list[str]:
    return [row[0] for row in duckrow.sql("SELECT outcome FROM attempts ORDER BY job_id, number")]


def test_a_job_that_somebody_killed_has_not_run_out_of_memory(duckrow: Duckrow) -> None:
    """Though its shell says "Killed", as it would of one that the kernel has killed."""
    (duckrow.work / "commands").write_text("sh -c 'kill -9 $$'; exit $?\n")
    run = duckrow("run", "--slots", "1", "--shell", "/bin/bash", "commands", ok=False)
    assert "Killed" in run.stderr
    assert outcomes(duckrow) == ["failed"]


def test_a_job_that_the_kernel_killed_for_its_memory_is_tried_again_with_more(
    duckrow: Duckrow, narrow_group: Path
) -> None:
    command = f"echo $$ > {narrow_group}/cgroup.procs; exec python3 -c 'bytearray(200_000_000)'"
    (duckrow.work / "commands").write_text(f"{command}\n")
    run = duckrow("run", "--slots", "1", "commands", ok=False, env={KERNEL_KILLS: "1"})
    assert "ran out of main memory; retried with" in run.stderr
    assert set(outcomes(duckrow)) == {"out-of-memory"}


@pytest.mark.parametrize(
    ("of_machine", "of_job", "outcome"),
    [(True, False, None), (False, True, Outcome.OUT_OF_MEMORY), (True, None, Outcome.OUT_OF_MEMORY)],
)
def test_that_the_kernel_killed_a_stranger_does_not_mislead_where_it_counts_by_job(
    of_machine: bool, of_job: bool | None, outcome: Outcome | None
) -> None:
    engine, state = Mock(), Mock()
    engine.ran_out_of_memory.return_value = of_machine
    state.gpus.machine.mem_mb = 64_000
    attempt = Mock(stopped_for=None, log="", exit_code=None, signal=9, end=Exit(None, 9, oom_killed=of_job))
    attempt.job.needs = None
    verdict = MemoryRetries(state, Mock(), engine, Mock(), Mock()).after(attempt, Outcome.FAILED, None)
    assert (verdict and verdict.outcome) == outcome


def test_a_job_is_not_started_where_its_memory_cannot_be_limited(duckrow: Duckrow) -> None:
    duckrow.env["DUCKROW_CGROUPS"] = "off"
    run = duckrow("run", "--slots", "1", "--mem", "100M", "--mem-limit", "--", "touch began", ok=False)
    assert "could not be started: no cgroup that counts memory is available here" in run.stderr
    assert not (duckrow.work / "began").exists()
    assert "--mem-limit needs --mem" in duckrow("run", "--mem-limit", "--", "true", ok=False).stderr
