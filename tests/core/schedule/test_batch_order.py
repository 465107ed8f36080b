"""In which order jobs that came together start."""

from __future__ import annotations

import os
from random import Random
from statistics import median

from duckrow.core.devices.inventory import WHOLE
from duckrow.core.schedule.batch_order import batch_length, best_order
from duckrow.core.schedule.forecast import ExpectedLoad, Forecast, forecast
from tests.core.language import job

FREE = [WHOLE] * 4


def loads(*seconds: float) -> list[ExpectedLoad]:
    return [ExpectedLoad(number, each, 1, WHOLE, False) for number, each in enumerate(seconds)]


def test_a_long_job_does_not_stick_out_at_the_end() -> None:
    came = loads(*[100.0, 80.0, 120.0, 90.0, 110.0, 95.0, 105.0] * 4, 1000.0)
    order = best_order(came, FREE, [])
    assert forecast(order, FREE, []).ends_s < 0.75 * forecast(came, FREE, []).ends_s
    assert forecast(order, FREE, []).waits_s < 1.4 * forecast(came, FREE, []).waits_s


def test_jobs_that_take_little_of_a_gpu_are_kept_to_fit_in_beside_large_ones() -> None:
    """Large ones cannot share a GPU. If no small one is left by then, a quarter of each GPU is idle."""
    small = [ExpectedLoad(number, 100, 1, WHOLE // 4, True) for number in range(8)]
    large = [ExpectedLoad(100 + number, 100, 1, 3 * WHOLE // 4, True) for number in range(16)]
    came = [*small, *large]
    order = best_order(came, FREE, [])
    assert forecast(came, FREE, []) == Forecast(ends_s=500, waits_s=4 * (100 + 200 + 300 + 400))
    assert forecast(order, FREE, []) == Forecast(ends_s=400, waits_s=4 * (100 + 200 + 300) + 4 * 100)
    assert order[:16] == large


def test_of_long_jobs_large_ones_go_before_small_ones_that_last_longer() -> None:
    """A small one beside a large one fills a GPU; two small ones leave a fifth of it idle, and no large one fits in."""
    small = [ExpectedLoad(number, 400, 1, 2 * WHOLE // 5, True) for number in range(8)]
    large = [ExpectedLoad(100 + number, 200, 1, 3 * WHOLE // 5, True) for number in range(8)]
    order = best_order([*small, *large], FREE, [])
    assert order == [*large, *small]
    assert forecast(order, FREE, []) == Forecast(ends_s=800, waits_s=4 * 200 + 4 * 400)
    assert forecast([*small, *large], FREE, []) == Forecast(ends_s=800, waits_s=4 * 400 + 4 * 600)


def test_of_short_jobs_those_for_one_gpu_go_before_those_for_several() -> None:
    """If a job for four GPUs goes first, four others wait for it."""
    wide = [ExpectedLoad(number, 50, 4, WHOLE, True) for number in range(2)]
    narrow = [ExpectedLoad(100 + number, 60, 1, WHOLE, True) for number in range(8)]
    long = [ExpectedLoad(200 + number, 1000, 1, WHOLE, True) for number in range(4)]
    order = best_order([*wide, *long, *narrow], FREE, [])
    assert min(order.index(job) for job in wide) > min(order.index(job) for job in narrow)


def test_jobs_that_last_equally_long_keep_their_order() -> None:
    came = loads(*[60.0] * 12)
    assert [load.id for load in best_order(came, FREE, [])] == list(range(12))


def test_no_order_ends_later_or_lets_jobs_wait_longer_by_more_than_it_ends_sooner() -> None:
    seed = os.urandom(4).hex()
    random, gains = Random(seed), []
    for _ in range(200):
        came = loads(*(random.lognormvariate(5, random.uniform(0, 1.5)) for _ in range(random.randint(3, 40))))
        order = best_order(came, FREE, [])
        before, after = forecast(came, FREE, []), forecast(order, FREE, [])
        assert sorted(load.id for load in order) == sorted(load.id for load in came), seed
        gains.append(after.ends_s / before.ends_s)
        assert gains[-1] <= 1, seed
        assert after.waits_s <= before.waits_s * max(2 - gains[-1] - 0.1, 1) + 1e-6, seed
    assert median(gains) < 0.98, seed


def test_a_batch_is_what_came_together_and_nobody_has_put_into_another_order() -> None:
    def jobs(**changed: object) -> list[object]:
        return [job(id=1), job(id=2), job(id=3, **changed), job(id=4)]  # type: ignore[arg-type]

    assert batch_length([job(id=1), job(id=2), job(id=3)]) == 3
    for other in ({"priority": 90}, {"project": "q"}, {"created_at": 601.0}):
        assert batch_length(jobs(**other)) == 2  # type: ignore[arg-type]
    assert batch_length([job(id=7), job(id=1), job(id=2)]) == 1
