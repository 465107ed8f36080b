"""What stands in the way, with the commands to type."""

from __future__ import annotations

from duckrow.api.queue.listing import EndedRun
from duckrow.cli.views.obstacles import left_by_runs


def test_only_a_run_that_can_be_resumed_is_offered_to_be() -> None:
    listed = EndedRun(2, "run-2", 5, "duckrow go", "duckrow drop")
    one_command = EndedRun(3, "run-3", 1, "", "duckrow clean --run run-3")
    assert left_by_runs([listed, one_command]) == [
        "run-2 has ended with 5 jobs left. Continue: duckrow go. Drop: duckrow drop",
        "run-3 has ended with 1 job left. Drop: duckrow clean --run run-3",
    ]
