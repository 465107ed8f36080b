"""The harness itself."""

from __future__ import annotations

from tests.cli.typed.dry_duckrow import DryDuckrow


def test_a_day_of_jobs_is_over_at_once(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "1")
    job = duckrow.submit("echo hello; sleep 86400; exit 3")
    assert duckrow.state(job) == "running"
    assert duckrow("wait", str(job), ok=False).returncode == 1
    assert duckrow.job(job)["exit_code"] == 3
    assert duckrow("logs", str(job)).stdout == "hello\n"
