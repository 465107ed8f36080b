"""More jobs at a time than help are not started, and what was found is known the next time."""

from __future__ import annotations

import pytest

from duckrow.core.devices.needs import Needs
from duckrow.core.devices.policy import NO_POLICY
from duckrow.core.schedule.pace import BestPace
from duckrow.store.devices.peaks import PeakStore
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, gpus, runs, succeeds

AUTO = Needs(auto=True, recipe="/train.py")
TAKES = ((0.0, 500),)


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
    other = queue.add(runs(gpu_mb=TAKES), gpus=1, needs=Needs(gpu_mem_mb=600))
    queue.passes(10)
    assert queue.states(*jobs).count("running") == 3
    assert queue.state(other) == "running"  # nothing is known of its pace


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


def test_it_is_forgotten_with_the_recipe(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    learned(queue, 3)
    store = PeakStore(queue.database)
    store.forget([("/train.py", "Dry GPU")])
    assert not store.paces.known()
