"""More jobs at a time than help are not started, and what was found is known the next time."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from duckrow.core.devices.needs import Needs
from duckrow.core.devices.policy import NO_POLICY
from duckrow.core.ports import CoreTime
from duckrow.core.schedule.pace import BestPace
from duckrow.core.schedule.step_times import Step
from duckrow.scheduler.devices.reported_steps import last_step
from duckrow.store.devices.peaks import PeakStore
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, gpus, runs, succeeds

AUTO = Needs(auto=True, recipe="/train.py")
TAKES = ((0.0, 500),)


def one_has_run(queue: Queue) -> None:
    """Its memory is known, and the host of that time is gone."""
    queue.add(succeeds(after_s=5, gpu_mb=TAKES), gpus=1, needs=AUTO)
    queue.passes(10)
    queue.dies()
    queue.begin()


def learned(queue: Queue, together: int) -> None:
    """One has run; and more than `together` did not help."""
    queue.add(succeeds(after_s=5, gpu_mb=TAKES), gpus=1, needs=AUTO)
    queue.passes(10)
    with queue.database.transaction():
        PeakStore(queue.database).paces.learn("/train.py", "Dry GPU", BestPace(together, 9, 1, 2.0))
    queue.dies()
    queue.begin()


def test_no_more_are_started_than_help(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    learned(queue, 3)
    jobs = [queue.add(runs(gpu_mb=TAKES), gpus=1, needs=AUTO) for _ in range(8)]
    queue.passes(10)
    other = queue.add(runs(gpu_mb=TAKES), gpus=1, needs=Needs(gpu_mem_mb=600))
    queue.passes(10)
    assert queue.states(*jobs).count("running") == 3
    assert queue.state(other) == "running"  # nothing is known of its pace


@pytest.mark.parametrize(("jobs", "running"), [(3, 3), (4, 4), (5, 3), (6, 3)])
def test_the_last_ones_wait_unless_they_would_be_less_than_half_a_wave(
    make_queue: MakeQueue, jobs: int, running: int
) -> None:
    queue = make_queue(*gpus("24G"))
    learned(queue, 3)
    added = [queue.add(runs(gpu_mb=TAKES), gpus=1, needs=AUTO) for _ in range(jobs)]
    queue.passes(10)
    assert queue.states(*added).count("running") == running


def test_the_number_that_a_person_gives_overrides_it(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"), policy=NO_POLICY.but(jobs_per_gpu=5))
    learned(queue, 3)
    jobs = [queue.add(runs(gpu_mb=TAKES), gpus=1, needs=AUTO) for _ in range(8)]
    queue.passes(10)
    assert queue.states(*jobs).count("running") == 5


@pytest.mark.no_cover  # hundreds of ticks
def test_what_did_not_help_is_found_out_and_kept(make_queue: MakeQueue) -> None:
    """They take as long as there are others: one at a time would be as good as all of them."""
    queue = make_queue(*gpus("24G"), cpus=8)

    def slowed() -> int:
        return len(queue.host().loop.state.live)

    for _ in range(40):
        queue.add(lambda attempt: succeeds(after_s=2.0 * max(slowed(), 1), gpu_mb=TAKES), gpus=1, needs=AUTO)
    queue.passes(800)
    (found,) = PeakStore(queue.database).paces.known().values()
    assert found.together < found.tried


def test_the_first_end_of_an_unknown_recipe_does_not_let_all_start(make_queue: MakeQueue) -> None:
    """Cores are often the wall: more than these are not tried before it is known how long runs take."""
    queue = make_queue(*gpus("24G"), cpus=4)
    lasting = iter((20, *[60] * 39))
    jobs = [queue.add(lambda _: succeeds(after_s=next(lasting), gpu_mb=TAKES), gpus=1, needs=AUTO) for _ in range(40)]
    queue.passes(40)
    assert queue.states(*jobs).count("succeeded") == 1
    assert queue.states(*jobs).count("running") <= 6


def test_it_is_forgotten_with_the_recipe(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    learned(queue, 3)
    store = PeakStore(queue.database)
    store.forget([("/train.py", "Dry GPU")])
    assert not store.paces.known()


def test_steps_that_runs_report_tell_the_pace_before_any_of_them_ends(make_queue: MakeQueue, tmp_path: Path) -> None:
    """Steps take as long as there are others: four at a time are as good as eight."""
    queue = make_queue(*gpus("24G"), cpus=8)
    one_has_run(queue)
    jobs = [queue.add(runs(gpu_mb=TAKES), gpus=1, needs=AUTO, folder=str(tmp_path / f"{n}")) for n in range(60)]
    done = dict.fromkeys(range(len(jobs)), 0.0)

    def train(seconds: int) -> None:
        for _ in range(seconds):
            queue.passes(1)
            running = [n for n, state in enumerate(queue.states(*jobs)) if state == "running"]
            for n in running:
                done[n] += 80 / len(running)
                (tmp_path / f"{n}").mkdir(exist_ok=True)
                line = {"_time": queue.clock.now().wall, "step": done[n], "loss": "NaN"}
                (tmp_path / f"{n}" / "metrics.jsonl").write_text(json.dumps(line) + "\n")

    train(20)
    assert queue.states(*jobs).count("running") == 8
    assert not PeakStore(queue.database).paces.known()
    for job in jobs[:4]:
        queue.kill(job, at_once=True)
    train(20)
    (found,) = PeakStore(queue.database).paces.known().values()
    assert (found.together, found.tried) == (4, 8)
    assert queue.states(*jobs).count("running") == 4


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('{"step": 3, "_time": 7.5}\n', Step(3, 7.5)),
        ('{"step": 3, "_time": 7.5}\n{"loss": 0.1}\n{"st', Step(3, 7.5)),
        ('{"step": 3}\n', Step(3, 1234.0)),  # when the file was written
        ('{"step": true}\n{"step": "4"}\n{"step": NaN}\n[1]\nnull\n', None),
        ("", None),
    ],
)
def test_the_last_step_of_a_run_is_read_from_its_metrics(tmp_path: Path, written: str, told: Step | None) -> None:
    assert last_step(str(tmp_path)) is None
    (tmp_path / "metrics.jsonl").write_text(written)
    os.utime(tmp_path / "metrics.jsonl", (1234.0, 1234.0))
    assert last_step(str(tmp_path)) == told


@pytest.mark.no_cover  # hundreds of ticks
@pytest.mark.parametrize(("busy_s", "next_wave"), [(8.0, 4), (4.0, 8)])
def test_where_all_cores_were_busy_fewer_are_tried_although_the_queue_is_not_long(
    make_queue: MakeQueue, busy_s: float, next_wave: int
) -> None:
    queue = make_queue(*gpus("24G"), cpus=8)
    one_has_run(queue)
    queue.machine.busy["0"] = 50
    queue.machine.core_time = CoreTime(0.0, 0.0)
    jobs = [queue.add(succeeds(after_s=10, gpu_mb=TAKES), gpus=1, needs=AUTO) for _ in range(28)]
    queue.passes(9)
    assert queue.states(*jobs).count("running") == 8
    queue.machine.core_time = CoreTime(9 * busy_s, 9 * 8.0)
    queue.passes(3)
    assert queue.states(*jobs).count("succeeded") == 8
    assert queue.states(*jobs).count("running") == next_wave
