"""Unknown jobs that grow together: a few give way, and the others need not run out of memory."""

from __future__ import annotations

from duckrow.core.devices.needs import Needs, needs_from
from duckrow.core.memory.parameters import text_of
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, gpus, succeeds

STAIRS = tuple((5.0 + 10.0 * number, 2000 * (number + 1)) for number in range(5))  # 10,000 MB after 45 s


def new(size: int) -> Needs:
    return Needs(auto=True, recipe="/train.py", parameters=text_of({"size": str(size)}))


def attempts(queue: Queue, *jobs: int) -> list[int]:
    return [int(queue.database.one("SELECT attempts FROM jobs WHERE id = ?", (job,)) or 0) for job in jobs]


def test_some_give_way_before_they_run_out_together_and_run_later(make_queue: MakeQueue) -> None:
    """Four would take 40,000 MB of 24,000."""
    queue = make_queue(*gpus("24G"))
    jobs = [queue.add(succeeds(60, gpu_mb=STAIRS), gpus=1, needs=new(number)) for number in range(4)]
    queue.passes(59)
    assert queue.states(*jobs).count("running") == 2
    stopped = [job for job in jobs if queue.state(job) == "queued"]
    assert len(stopped) == 2
    assert sorted(_needs(queue, job).ran_out_mb for job in stopped) == [6000, 8000]  # what they used
    queue.passes(120)
    assert queue.states(*jobs) == ["succeeded"] * 4
    assert sorted(attempts(queue, *jobs)) == [1, 1, 2, 2]
    assert any("gave way to others that grow" in story for story in _stories(queue, stopped))


def test_what_they_would_have_taken_next_is_not_learned_as_what_runs_take(make_queue: MakeQueue) -> None:
    """They take all at once: to grow as much again is what nobody does."""
    queue = make_queue(*gpus("141G"))
    jobs = [
        queue.add(succeeds(20, gpu_mb=((2.0, 1000), (4.0, 20_000))), gpus=1, needs=new(number)) for number in range(12)
    ]
    queue.passes(200)
    assert queue.states(*jobs) == ["succeeded"] * 12
    assert any("gave way to others that grow" in story for story in _stories(queue, jobs))
    assert queue.database.one("SELECT max(peak_mb) FROM peaks") == 20_000


def test_nobody_gives_way_if_all_have_room(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("80G"))
    jobs = [queue.add(succeeds(60, gpu_mb=STAIRS), gpus=1, needs=new(number)) for number in range(4)]
    queue.passes(62)
    assert queue.states(*jobs) == ["succeeded"] * 4
    assert attempts(queue, *jobs) == [1] * 4


def test_what_a_user_has_said_is_not_judged(make_queue: MakeQueue) -> None:
    """Whoever asks for an amount may be wrong; whether it is stopped for that is asked for by --enforce-memory."""
    queue = make_queue(*gpus("24G"))
    needs = Needs(gpu_mem_mb=4000)
    jobs = [queue.add(succeeds(60, gpu_mb=STAIRS[:3]), gpus=1, needs=needs) for _ in range(5)]
    queue.passes(62)
    assert queue.states(*jobs) == ["succeeded"] * 5
    assert attempts(queue, *jobs) == [1] * 5


def test_a_known_job_is_not_judged_by_how_it_grew_last(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("21G"))
    for _ in range(2):
        jobs = [queue.add(succeeds(60, gpu_mb=STAIRS), gpus=1, needs=new(number)) for number in range(2)]
        queue.passes(200)
    assert queue.states(*jobs) == ["succeeded"] * 2
    assert attempts(queue, *jobs) == [1] * 2


def _needs(queue: Queue, job: int) -> Needs:
    return needs_from(queue.database.one("SELECT needs FROM jobs WHERE id = ?", (job,)))


def _stories(queue: Queue, jobs: list[int]) -> list[str]:
    rows = queue.database.all("SELECT job_id, detail FROM events")
    return [str(row[1]) for row in rows if row[0] in jobs]
