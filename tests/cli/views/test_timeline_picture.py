"""Which job was on which GPU when, drawn."""

from __future__ import annotations

from random import Random
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duckrow.cli.views.timeline_picture import timeline_picture
from duckrow.core.simulation.search import play_in_order
from duckrow.core.simulation.trace_job import JobSpan, SimulatedGpus, TraceJob

ONE = SimulatedGpus(1, 100, "1x100M")
SVG = "{http://www.w3.org/2000/svg}"


def drawn(jobs: list[TraceJob], spans: list[JobSpan]) -> ElementTree.Element:
    return ElementTree.fromstring(timeline_picture("title", jobs, spans, ONE))


def boxes(jobs: list[TraceJob], spans: list[JobSpan]) -> list[tuple[str, float, float, float, float]]:
    """Of each: its job, left, right, top, bottom."""
    found = []
    for box in drawn(jobs, spans).iter(f"{SVG}rect"):
        title = box.find(f"{SVG}title")
        if title is not None:
            x, y, width, height = (float(box.get(name, "")) for name in ("x", "y", "width", "height"))
            found.append(((title.text or "").partition(":")[0], x, x + width, y, y + height))
    return found


def test_a_job_that_fits_nowhere_in_one_piece_makes_the_others_move_together() -> None:
    jobs = [TraceJob(0, 10, 1, 40), TraceJob(0, 20, 1, 30), TraceJob(0, 30, 1, 20), TraceJob(10, 10, 1, 50)]
    spans = [JobSpan(0, 10, (0,)), JobSpan(0, 20, (0,)), JobSpan(0, 30, (0,)), JobSpan(10, 20, (0,))]
    assert [name for name, *_ in boxes(jobs, spans)].count("job 2") == 2


@example(8732)  # a job that moves right after its start
@given(st.integers(0, 1 << 32))
def test_no_two_jobs_lie_over_each_other(seed: int) -> None:
    random = Random(seed)
    jobs = [TraceJob(0, random.randint(100, 900), 1, random.randint(5, 100)) for _ in range(12)]
    found = boxes(jobs, play_in_order(range(12), jobs, ONE))
    for number, (_, left, right, top, bottom) in enumerate(found):
        assert top >= 34 - 0.1
        assert bottom <= 74 + 0.1
        for _, other_left, other_right, other_top, other_bottom in found[:number]:
            beside = right <= other_left + 0.2 or other_right <= left + 0.2
            assert beside or bottom <= other_top + 0.2 or other_bottom <= top + 0.2, seed


@pytest.mark.parametrize(
    ("seconds", "ticks"),
    [
        (7, ["0", "1s", "2s", "3s", "4s", "5s", "6s", "7s"]),
        (12_240, ["0", "30m", "1h", "1h 30m", "2h", "2h 30m", "3h"]),
        (300_000, ["0", "12h", "1d", "1d 12h", "2d", "2d 12h", "3d"]),
    ],
)
def test_the_axis_has_round_times(seconds: float, ticks: list[str]) -> None:
    texts = drawn([TraceJob(0, seconds)], [JobSpan(0, seconds, (0,))]).iter(f"{SVG}text")
    assert [text.text for text in texts if text.get("text-anchor") == "middle"] == ticks
