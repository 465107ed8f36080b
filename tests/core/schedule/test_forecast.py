"""When waiting jobs would start and end."""

from __future__ import annotations

from duckrow.core.devices.inventory import WHOLE
from duckrow.core.schedule.forecast import BusyDevices, ExpectedLoad, Forecast, forecast


def loads(*seconds: float, devices: int = 1, share: int = WHOLE, passes: bool = False) -> list[ExpectedLoad]:
    return [ExpectedLoad(number, each, devices, share, passes) for number, each in enumerate(seconds)]


def test_jobs_start_in_order_as_devices_become_free() -> None:
    assert forecast(loads(10, 20, 30), [WHOLE], []) == Forecast(ends_s=60, waits_s=0 + 10 + 30)
    assert forecast(loads(10, 20, 30), [WHOLE, WHOLE], []) == Forecast(ends_s=40, waits_s=10)


def test_what_runs_gives_its_devices_back() -> None:
    busy = [BusyDevices(5.0, [0], WHOLE), BusyDevices(50.0, [1], WHOLE)]
    assert forecast(loads(10), [0, 0], busy) == Forecast(ends_s=50, waits_s=5)


def test_only_jobs_that_share_by_memory_pass_one_that_waits() -> None:
    half = loads(10, share=WHOLE // 2, passes=True)
    pair = [ExpectedLoad(7, 10, 2, WHOLE, True)]
    busy = [BusyDevices(100.0, [0], WHOLE)]
    assert forecast(pair + half, [0, WHOLE], busy) == Forecast(ends_s=110, waits_s=100)
    strict = [pair[0]._replace(passes=False), *half]
    assert forecast(strict, [0, WHOLE], busy) == Forecast(ends_s=120, waits_s=100 + 110)


def test_jobs_go_where_most_is_left() -> None:
    """The small one leaves the nearly full device to the next one."""
    small = ExpectedLoad(1, 100, 1, WHOLE // 4, True)
    order = [small, ExpectedLoad(2, 10, 1, WHOLE // 2, True), ExpectedLoad(3, 10, 2, WHOLE // 4, True)]
    assert forecast(order, [WHOLE // 4, WHOLE], []) == Forecast(ends_s=100, waits_s=0)


def test_what_fits_nowhere_ends_the_forecast() -> None:
    assert forecast(loads(10, devices=3), [WHOLE], []).waits_s == 0
