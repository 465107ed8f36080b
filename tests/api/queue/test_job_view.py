"""JobView: the one shape in which front ends see a job."""

from __future__ import annotations

from typing import get_type_hints

from duckrow.api.queue.views import JobView


def test_its_annotations_can_be_read_while_duckrow_runs_as_the_schema_of_the_page_does() -> None:
    assert get_type_hints(JobView)["parameters"] == dict[str, object] | None
