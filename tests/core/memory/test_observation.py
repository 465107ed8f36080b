"""What readings tell: whose memory it is, how long others' counts, and when a use can be trusted."""

from __future__ import annotations

import pytest

from duckrow.core.devices.device import reservations
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.policy import Policy
from duckrow.core.memory.attribution import MisplacedProcess, Owners, Tenant, misplaced_processes
from duckrow.core.memory.observation import FOREIGN_WINDOW_S, FRESH_S, SHOWN_S, Observation, is_fresh
from duckrow.core.memory.use import FLAT_S, Use
from duckrow.core.ports import ProcessUse, Reading

BASE = Machine(total_mb={"0": 20_000}, policy=Policy(margin_mb=0))
HALF = reservations([("0", WHOLE // 2)])


def reading(used_mb: int, *processes: tuple[int, int | None], at: float = 1.0, shown: bool = True) -> Reading:
    uses = tuple(ProcessUse(pid, mb) for pid, mb in processes) if shown else None
    return Reading("0", 1.8e9 - at, at, 20_000, 20_000 - used_mb, 50, 40, uses)


def free_mb(observation: Observation, now: float, *tenants: Tenant) -> int:
    machine = observation.machine(BASE, tenants, ["0"], now)
    booked = sum(share for tenant in tenants for _, share in tenant.holds)
    return round(machine.free_mb("0", {"0": booked}))


@pytest.mark.parametrize(
    ("age_s", "counts"), [(0.0, True), (FRESH_S - 0.01, True), (FRESH_S, False), (1.5 * FRESH_S, False)]
)
def test_a_reading_counts_as_current_for_so_long_and_no_longer(age_s: float, counts: bool) -> None:
    assert is_fresh(100.0 - age_s, 100.0) is counts
    observation = Observation()
    observation.note([reading(0, at=100.0 - age_s)], [], Owners({}))
    assert observation.is_old(["0"], 100.0) is not counts
    assert observation.is_outdated(["0"], 100.0) is not counts


def test_a_figure_on_a_screen_may_be_older_than_one_that_decides() -> None:
    assert is_fresh(100.0 - SHOWN_S + 0.01, 100.0, SHOWN_S)
    assert not is_fresh(100.0 - SHOWN_S, 100.0, SHOWN_S)


def test_what_was_never_read_is_neither_free_nor_idle() -> None:
    machine = Observation().machine(BASE, [], ["0"], 1.0)
    assert machine.free_mb("0", {}) == 0
    assert not machine._replace(policy=Policy(only_idle=True)).may_use(["0"], ["0"], {})
    assert not machine.may_use(["0"], ["0"], {}, whole=True)
    assert machine._replace(policy=Policy(share=True)).may_use(["0"], ["0"], {}, whole=True)


def test_an_attempt_counts_with_the_larger_of_its_reservation_and_its_use() -> None:
    observation, tenant = Observation(), Tenant(7, HALF, 0.0)
    observation.note([reading(4000, (1, 4000))], [tenant], Owners({1: 7}))
    assert free_mb(observation, 1.0, tenant) == 10_000
    observation.note([reading(11_000, (1, 11_000))], [tenant], Owners({1: 7}))
    assert free_mb(observation, 1.0, tenant) == 9000


def test_one_that_has_taken_clearly_more_than_its_reservation_may_take_as_much_again() -> None:
    observation, tenant = Observation(), Tenant(7, HALF, 0.0)
    observation.note([reading(13_000, (1, 13_000))], [tenant], Owners({1: 7}))
    assert free_mb(observation, 1.0, tenant) == 20_000 - 2 * 13_000


def test_what_others_have_used_counts_for_a_while_after_they_left() -> None:
    observation = Observation()
    observation.note([reading(5000, (1, 5000), at=1.0)], [], Owners({1: 0}))
    observation.note([reading(0, at=2.0)], [], Owners())
    assert free_mb(observation, 2.0) == 15_000
    observation.note([reading(0, at=2.0 + FOREIGN_WINDOW_S)], [], Owners())
    assert free_mb(observation, 2.0 + FOREIGN_WINDOW_S) == 20_000


def test_one_of_ours_that_has_just_ended_is_no_colleague() -> None:
    observation = Observation()
    observation.note([reading(5000, (1, 5000), at=1.0)], [], Owners({1: -7}))
    assert free_mb(observation, 1.0) == 15_000
    observation.note([reading(0, at=2.0)], [], Owners())
    assert free_mb(observation, 2.0) == 20_000


def test_what_another_duckrow_uses_counts_while_it_is_there() -> None:
    observation = Observation()
    observation.note([reading(5000, (1, 5000), at=1.0)], [], Owners({1: -1}), {"0": WHOLE // 2})
    assert round(observation.machine(BASE, [], ["0"], 1.0).free_mb("0", {"0": WHOLE // 2})) == 5000
    observation.note([reading(0, at=2.0)], [], Owners())
    assert free_mb(observation, 2.0) == 20_000


def test_what_another_host_of_ours_uses_is_not_counted_beside_what_it_has_booked() -> None:
    observation = Observation()
    observation.note([reading(5000, (1, 5000))], [], Owners({1: -7}), {"0": WHOLE // 2})
    assert round(observation.machine(BASE, [], ["0"], 1.0).free_mb("0", {"0": WHOLE // 2})) == 10_000
    observation.note([reading(12_000, (1, 12_000))], [], Owners({1: -7}), {"0": WHOLE // 2})
    assert round(observation.machine(BASE, [], ["0"], 1.0).free_mb("0", {"0": WHOLE // 2})) == 8000


def test_processes_with_foreign_numbers_are_told_by_the_change() -> None:
    for processes, shown in (([(4711, 6000)], True), ([], True), ([], False), ([(1, None)], True)):
        observation, tenant = Observation(), Tenant(7, HALF, 0.0)
        observation.note([reading(1000, at=1.0, shown=shown)], [], Owners())
        observation.note([reading(7000, *processes, at=2.0, shown=shown)], [tenant], Owners())
        assert observation.uses[7].mb == {"0": 6000}
        assert free_mb(observation, 2.0, tenant) == 9000
        assert not observation.uses[7].is_guess


def test_a_number_that_is_gone_is_not_taken_for_a_foreign_one_where_ours_have_been_seen() -> None:
    observation, young = Observation(), Tenant(8, HALF, 1.0)
    observation.note([reading(6000, (1, 6000), at=1.0)], [Tenant(7, HALF, 0.0)], Owners({1: 7}))
    observation.forget(7)
    observation.note([reading(6000, (1, 6000), at=2.0)], [young], Owners())
    assert observation.uses[8].peak_mb == 0


def test_two_that_have_not_taken_anything_yet_are_told_apart_once_the_driver_names_them() -> None:
    observation, tenants = Observation(), [Tenant(7, HALF, 0.0), Tenant(8, HALF, 0.0)]
    observation.note([reading(0, at=1.0)], tenants, Owners())
    observation.note([reading(300, at=2.0)], tenants, Owners())  # of a server that they share, say
    observation.note([reading(9000, (1, 4000), (2, 5000), at=3.0)], tenants, Owners({1: 7, 2: 8}))
    assert [(use.peak_mb, use.is_guess) for use in observation.uses.values()] == [(4000, False), (5000, False)]


def test_what_two_may_have_taken_is_a_guess() -> None:
    observation, tenants = Observation(), [Tenant(7, HALF, 0.0), Tenant(8, HALF, 1.0)]
    observation.note([reading(6000, shown=False)], tenants, Owners())
    assert [observation.uses[tenant.id].is_guess for tenant in tenants] == [True, True]


def on(gpu: str, used_mb: int, *processes: tuple[int, int]) -> Reading:
    return reading(used_mb, *processes)._replace(device=gpu)


def test_a_process_on_a_gpu_that_its_attempt_was_not_given_is_a_stray() -> None:
    tenant, owners = Tenant(7, HALF, 0.0), Owners({1: 7, 2: 7, 3: 0})
    assert misplaced_processes([on("0", 500, (1, 500)), on("1", 9, (3, 9))], [tenant], owners) == []
    readings = [on("0", 500, (1, 500)), on("1", 4000, (2, 3000), (1, 1000), (3, 9))]
    assert misplaced_processes(readings, [tenant], owners) == [MisplacedProcess(7, 2, "1")]


def test_what_an_attempt_takes_of_a_gpu_that_it_was_not_given_is_its_own_and_not_free() -> None:
    observation, tenant = Observation(), Tenant(7, HALF, 0.0)
    base = BASE._replace(total_mb={"0": 20_000, "1": 20_000}, policy=Policy(only_idle=True, margin_mb=0))
    observation.note([on("0", 500, (1, 500)), on("1", 6000, (2, 6000))], [tenant], Owners({1: 7, 2: 7}))
    machine = observation.machine(base, [tenant], ["0", "1"], 1.0)
    assert round(machine.free_mb("1", {})) == 14_000
    assert round(machine.free_mb("0", {"0": WHOLE // 2})) == 10_000
    assert observation.foreign_mb("1", 1.0) == 0
    assert observation.uses[7].peak_mb == 6000, "what its like will need"


def test_a_display_server_takes_memory_and_is_in_nobodys_way() -> None:
    base = BASE._replace(policy=Policy(only_idle=True, margin_mb=0))
    for ignored, may_use in ((frozenset({1}), True), (frozenset(), False)):
        observation = Observation()
        observation.note([reading(2000, (1, 2000))], [], Owners({1: 0}, ignored))
        machine = observation.machine(base, [], ["0"], 1.0)
        assert round(machine.free_mb("0", {})) == 18_000
        assert machine.may_use(["0"], ["0"], {}) == may_use
        assert observation.foreign_mb("0", 1.0) == 2000


def test_a_gpu_that_only_says_nothing_needs_not_be_read_in_haste() -> None:
    observation = Observation()
    assert observation.is_outdated(["0"], 1.0)
    observation.note([Reading("0", 1.8e9, 1.0, None, None, None, None, None, "lost")], [], Owners())
    assert not observation.is_outdated(["0"], 1.0)
    assert not observation.is_known("0", 1.0)
    observation.mistrust(["0"], 2.0)
    assert observation.is_outdated(["0"], 1.0)


def test_an_old_reading_says_nothing_of_now() -> None:
    observation = Observation()
    observation.note([reading(0, at=100.0)], [], Owners())
    assert free_mb(observation, 100.0 + FRESH_S / 2) == 20_000
    assert free_mb(observation, 100.0 + FRESH_S) == 0
    assert observation.is_outdated(["0"], 100.0 + FRESH_S)


def _use(busy: float | None, *points: tuple[float, int]) -> Use:
    use = Use(0.0)
    for at, mb in points:
        use.note(at, {"0": mb}, busy)
    return use


def test_a_use_is_flat_when_it_has_not_changed_for_a_while() -> None:
    steady = [(second / 2, 5000) for second in range(20)]
    assert _use(80, *steady).is_flat(9.5)
    assert _use(None, *steady).is_flat(9.5)
    assert not _use(80, *steady[:5]).is_flat(2.0)
    assert not _use(80, *steady[:-1], (9.5, 6000)).is_flat(9.5)
    assert not _use(80, *[(at, 0) for at, _ in steady]).is_flat(9.5)
    assert not _use(80, (9.4, 5000), (9.5, 5000)).is_flat(9.5)


def test_one_whose_gpu_has_nothing_to_do_is_not_flat_so_soon() -> None:
    steady = [(second / 2, 400) for second in range(60)]
    assert not _use(0, *steady[:20]).is_flat(9.5)
    assert _use(0, *steady).is_flat(29.5)
    assert FLAT_S < 9.5
