"""Who else uses a GPU, whom a job waits for, and beside whom it starts."""

from __future__ import annotations

import pytest

from duckrow.core.devices.device import reservations
from duckrow.core.devices.inventory import WHOLE, Ledger, Seat, parse_gpus
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Ask
from duckrow.core.devices.neighbours import RETURN_S, Neighbour, Person, noticeable_mb
from duckrow.core.devices.policy import Policy
from duckrow.core.memory.attribution import Owners, Tenant
from duckrow.core.memory.observation import Observation
from duckrow.core.ports import ProcessUse, Reading
from duckrow.core.schedule.placement import place, refusal
from tests.core.language import shares

BOB = Person("bob", "python", False)
ME = Person("me", "jupyter", True)
BOBS = Neighbour("bob", "python", 7, 5000)
MINE = Neighbour("me", "jupyter", 8, 5000, is_own=True)
HIDDEN = Neighbour(mb=5000)
BASE = Machine(total_mb={"0": 20_000})
FOUR = parse_gpus(["0,1,2,3"])


def reading(used_mb: int | None, *processes: tuple[int, int | None], at: float = 1.0, shown: bool = True) -> Reading:
    uses = tuple(ProcessUse(pid, mb) for pid, mb in processes) if shown else None
    free_mb = None if used_mb is None else 20_000 - used_mb
    return Reading("0", at, at, None if used_mb is None else 20_000, free_mb, 50, 40, uses)


def seen(one: Reading, owners: Owners, *tenants: Tenant) -> tuple[Neighbour, ...]:
    observation = Observation()
    observation.note([one], tenants, owners)
    return observation.neighbours("0", one.mono)


def where(machine: Machine, gpus: int | None = None, seats: list[Seat] = FOUR, **booked: int) -> list[str] | None:
    holds = place(
        Ask(gpus), seats, shares({name.removeprefix("gpu"): share for name, share in booked.items()}), machine
    )
    return None if holds is None else [device for device, _ in holds]


# -- who is there ---------------------------------------------------------------------------------------------------


def test_a_process_outside_duckrow_is_a_neighbour_by_its_user() -> None:
    owners = Owners({7: 0, 8: 0}, people={7: BOB, 8: ME})
    assert seen(reading(10_000, (7, 5000), (8, 5000)), owners) == (BOBS, MINE)


def test_a_process_of_another_duckrow_is_a_neighbour_too() -> None:
    assert seen(reading(5000, (7, 5000)), Owners({7: -1}, people={7: BOB})) == (BOBS,)


def test_jobs_of_ours_and_who_is_ignored_are_no_neighbours() -> None:
    tenant = Tenant(3, reservations([("0", WHOLE)]), 0.0)
    assert seen(reading(9000, (1, 4000), (2, 5000)), Owners({1: 3, 2: 0}, ignored={2}), tenant) == ()


def test_a_process_whose_memory_the_driver_does_not_tell_is_there_all_the_same() -> None:
    owners = Owners({7: 0}, people={7: BOB})
    assert seen(reading(500, (7, None)), owners) == (BOBS._replace(mb=None),)
    assert seen(reading(None, (7, None)), owners) == (BOBS._replace(mb=None),), "nor the GPU its own"


@pytest.mark.parametrize("shown", [False, True], ids=["no processes shown", "none listed"])
def test_memory_that_no_process_explains_is_somebody_unless_it_is_what_the_driver_keeps(shown: bool) -> None:
    assert seen(reading(noticeable_mb(20_000), shown=shown), Owners()) == ()
    assert seen(reading(5000, shown=shown), Owners()) == (HIDDEN,)


def test_what_the_driver_keeps_grows_with_the_gpu() -> None:
    assert (noticeable_mb(16_000), noticeable_mb(141_000)) == (1024, 2820)


def test_where_pids_are_those_outside_the_container_memory_tells() -> None:
    assert seen(reading(5000, (4711, 5000)), Owners()) == (HIDDEN,)


def test_another_user_who_has_just_left_may_come_back_and_ones_own_program_need_not() -> None:
    observation = Observation()
    observation.note([reading(10_000, (7, 5000), (8, 5000))], [], Owners({7: 0, 8: 0}, people={7: BOB, 8: ME}))
    observation.note([reading(0, at=2.0)], [], Owners())
    assert observation.neighbours("0", 2.0) == (BOBS._replace(mb=0),)
    assert observation.neighbours("0", 1.0 + RETURN_S) == ()


def test_memory_without_a_process_is_nobodys_as_soon_as_it_is_free() -> None:
    observation = Observation()
    observation.note([reading(5000)], [], Owners())
    observation.note([reading(0, at=2.0)], [], Owners())
    assert observation.neighbours("0", 2.0) == ()


# -- what nobody knows ----------------------------------------------------------------------------------------------


def test_a_gpu_that_was_read_before_something_of_ours_ended_there_is_still_known() -> None:
    observation = Observation()
    observation.note([reading(0)], [], Owners())
    observation.mistrust(["0"], 1.5)
    assert observation.machine(BASE, [], ["0"], 1.6).unread == ()


@pytest.mark.parametrize(
    ("one", "is_sized", "is_unread"),
    [
        (reading(None, shown=False)._replace(utilization=None, temperature=None), False, True),
        (reading(None), True, True),
        (reading(None), False, False),
        (reading(0, at=-5.0), True, True),
    ],
    ids=["lost", "no longer tells its memory", "never told its memory", "read long ago"],
)
def test_a_gpu_that_could_be_read_and_is_not_may_be_anybodys(one: Reading, is_sized: bool, is_unread: bool) -> None:
    observation = Observation()
    observation.note([one], [], Owners())
    base = BASE if is_sized else Machine()
    assert observation.machine(base, [], ["0"], 1.0).unread == (("0",) if is_unread else ())


# -- where a job goes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbour", [BOBS, MINE, HIDDEN], ids=["another user", "yourself", "nobody can tell who"])
@pytest.mark.parametrize(
    "policy",
    [Policy(), Policy(max_gpus=3), Policy(prefer=("0",)), Policy(share=True)],
    ids=["by default", "--max-gpus", "--prefer", "--share-gpus"],
)
def test_a_job_for_a_whole_gpu_goes_where_nobody_else_is(neighbour: Neighbour, policy: Policy) -> None:
    machine = Machine(neighbours={"0": [neighbour]}, policy=policy)
    assert where(machine) == where(machine, 1) == ["1"]
    assert where(machine, 3) == ["1", "2", "3"]


def test_a_job_waits_for_other_users_and_starts_beside_its_own() -> None:
    one = parse_gpus(["0"])
    assert where(Machine(neighbours={"0": [BOBS]}), seats=one) is None
    assert where(Machine(neighbours={"0": [HIDDEN]}), seats=one) is None
    assert where(Machine(neighbours={"0": [MINE, BOBS]}), seats=one) is None
    assert where(Machine(neighbours={"0": [MINE]}), seats=one) == ["0"]
    assert where(Machine(neighbours={"0": [BOBS]}, policy=Policy(share=True)), seats=one) == ["0"]


def test_a_job_for_all_gpus_waits_for_the_one_that_is_used() -> None:
    assert where(Machine(neighbours={"2": [BOBS]}), 4) is None
    assert where(Machine(neighbours={"2": [MINE]}), 4) == ["0", "1", "3", "2"]


def test_a_gpu_of_which_nobody_knows_is_not_given_out_whole() -> None:
    assert where(Machine(unread=("0", "1"))) == ["2"]
    assert where(Machine(unread=("0",), policy=Policy(share=True))) == ["0"]


def test_slots_of_a_gpu_are_given_out_beside_ours_before_one_beside_a_notebook() -> None:
    shared = parse_gpus(["0,1"], jobs_per_gpu=2)
    machine = Machine(neighbours={"0": [MINE]})
    assert where(machine, seats=shared, gpu1=WHOLE // 2) == ["1"]
    assert where(machine, seats=shared, gpu1=WHOLE) == ["0"]


def test_gpus_that_stay_free_are_those_that_nobody_uses() -> None:
    machine = Machine(neighbours={"0": [BOBS]}, policy=Policy(min_free_gpus=3))
    assert where(machine) is None
    assert where(machine._replace(policy=Policy(min_free_gpus=2))) == ["1"]


def test_a_job_that_shares_by_memory_shares_with_others_unless_told_not_to() -> None:
    one, ask = parse_gpus(["0"]), Ask(mb=5000)
    machine = BASE._replace(neighbours={"0": [BOBS]})
    assert place(ask, one, Ledger(), machine) is not None
    assert place(ask, one, Ledger(), machine._replace(policy=Policy(only_idle=True))) is None
    assert place(ask, one, Ledger(), BASE._replace(neighbours={"0": [MINE]}, policy=Policy(only_idle=True))) is None


def test_a_cpu_slot_has_no_neighbours() -> None:
    machine = Machine(neighbours={"0": [BOBS]}, unread=("0",))
    assert place(Ask(0), parse_gpus(["", "0"]), Ledger(), machine) == (("cpu0", WHOLE),)


def test_what_others_use_today_refuses_nothing_for_ever() -> None:
    machine = Machine(neighbours={key: [BOBS] for key in "0123"}, unread=tuple("0123"))
    assert refusal(Ask(4), FOUR, machine) is None


# -- in words -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("neighbour", "words"),
    [
        (BOBS._replace(mb=100_045), "bob's python (process 7, 97.7G)"),
        (BOBS._replace(mb=None), "bob's python (process 7)"),
        (BOBS._replace(mb=0), "bob's python (process 7, gone a moment ago)"),
        (MINE._replace(mb=1024), "your own jupyter (process 8, 1G)"),
        (HIDDEN._replace(mb=2048), "somebody who cannot be seen from here (2G)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_neighbour_is_named(neighbour: Neighbour, words: str) -> None:
    assert str(neighbour) == words
