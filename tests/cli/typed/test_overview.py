"""`duckrow` alone: how things are, and what to type next."""

from __future__ import annotations

from tests.cli.typed.dry_duckrow import DryDuckrow


def test_before_the_first_job_it_says_how_to_add_one(duckrow: DryDuckrow) -> None:
    shown = duckrow()
    assert shown.stderr == ""
    assert shown.stdout == (
        "No jobs yet.\n"
        "\n"
        "No devices are in use: neither the daemon nor a `duckrow run` is running.\n"
        "\n"
        "  duckrow submit -- python train.py   add a job to the queue\n"
        "  duckrow run commands.txt            run a list of commands now, one on each GPU at a time\n"
        "  duckrow help                        all commands\n"
    )


def test_it_counts_jobs_shows_devices_and_points_to_failures(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "1")
    duckrow.wait_for(duckrow.submit("false"), "failed")
    shown = duckrow().stdout
    assert shown.startswith("Jobs: 1 failed.\n")
    assert "cpu0    daemon  free" in shown
    assert "duckrow ls --failed" in shown
    assert duckrow("show").stdout.startswith("job 1 ")
