"""Who starts where when jobs ask for memory: packing, politeness, the machine, and what holds in every case."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duckrow.core.devices.inventory import WHOLE, Ledger, Seat, book, cpu_seats, unbook
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Ask
from duckrow.core.devices.policy import Policy
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.schedule.decide import CORES, MEMORY, Start, choose_starts, plain_ask
from duckrow.core.schedule.placement import place, refusal
from tests.core.language import cpus, shares, side_cpus
from tests.core.memory_language import WAITS, Stage, expect, gpus, job, machine_of

# -- by memory ------------------------------------------------------------------------------------------------------


def test_jobs_that_fit_beside_each_other_share_a_gpu() -> None:
    expect(job("10G"), job("10G"), job("10G")).on(gpus("24G")).to_get("0", "0", WAITS)


def test_jobs_go_where_most_memory_is_free() -> None:
    expect(job("4G"), job("4G"), job("4G")).on(gpus("24G", "40G")).to_get("1", "1", "1")
    expect(job("10G"), job("10G"), job("10G")).on(gpus("24G", "24G")).to_get("0", "1", "0")


def test_memory_that_is_promised_but_not_yet_taken_is_not_given_out_again() -> None:
    expect(*[job("9G")] * 6).on(gpus("10G")).to_get("0", *[WAITS] * 5)


def test_what_others_use_is_not_given_out() -> None:
    expect(job("10G")).on(gpus("24G"), used={"0": "15G"}).to_get(WAITS)
    expect(job("10G")).on(gpus("24G", "24G"), used={"0": "15G"}).to_get("1")
    expect(job("10G")).on(gpus("24G"), booked={"0": "5G"}, used={"0": "9G"}).to_get("0")
    expect(job("10G")).on(gpus("24G"), booked={"0": "6G"}, used={"0": "9G"}).to_get(WAITS)


def test_a_job_may_have_all_that_is_free_to_the_last_megabyte() -> None:
    expect(job("24G")).on(gpus("24G")).to_get("0")
    expect(job("14G")).on(gpus("24G"), booked={"0": "10G"}).to_get("0")
    expect(job("14337M")).on(gpus("24G"), booked={"0": "10G"}).to_get(WAITS)


def test_a_gpu_of_which_nothing_is_known_is_never_taken_for_free() -> None:
    stage = gpus("24G", "24G")
    unread = Machine(stage.total_mb, {"0": WHOLE, "1": WHOLE})
    assert place(Ask(mb=1), stage.seats, Ledger(), unread) is None
    assert place(Ask(alone=True), stage.seats, Ledger(), unread) is None
    assert place(Ask(mb=1), stage.seats, Ledger(), Machine()) is None
    assert place(Ask(mb=1), stage.seats, Ledger(), Machine({"1": 24_000})) == (("1", 41),)


def test_memory_on_each_of_several_gpus() -> None:
    expect(job("10G", 2), job("10G", 2), job("10G", 2)).on(gpus("24G", "24G", "8G")).to_get("0,1", "0,1", WAITS)


def test_what_adds_up_to_the_whole_fits() -> None:
    expect(*[job("8G")] * 4).on(gpus("24G")).to_get("0", "0", "0", WAITS)
    expect(*[job("4G")] * 7).on(gpus("24G")).to_get(*["0"] * 6, WAITS)


def test_the_share_is_what_was_asked_for() -> None:
    stage = gpus("24G", "10000M")
    assert place(Ask(mb=6144), stage.seats, Ledger(), machine_of(stage)) == (("0", WHOLE // 4),)
    assert place(Ask(mb=1), gpus("3M").seats, Ledger(), machine_of(gpus("3M"))) == (("0", 333_333),)


def test_a_job_without_a_figure_waits_for_a_gpu_on_which_memory_is_promised_and_keeps_it() -> None:
    expect(job("10G"), job()).on(gpus("24G")).to_get("0", WAITS)
    expect(job(), job("10G")).on(gpus("24G")).to_get("0", WAITS)
    expect(job("10G"), job(), job("10G")).on(gpus("24G", "24G")).to_get("0", "1", "0")


def test_slots_and_memory_add_up() -> None:
    shared = gpus("24G", jobs_per_gpu=2)
    expect(job(), job("12G")).on(shared).to_get("0", "0")
    expect(job(), job("13G")).on(shared).to_get("0", WAITS)
    expect(job("13G"), job()).on(shared).to_get("0", WAITS)


def test_a_job_without_a_gpu_passes_one_that_waits_for_memory() -> None:
    expect(job("20G"), job(gpus=0)).on(gpus("24G"), side_cpus(1), booked={"0": "10G"}).to_get(WAITS, "cpu0")


# -- alone ----------------------------------------------------------------------------------------------------------


def test_a_job_of_which_nothing_is_known_gets_a_gpu_to_itself() -> None:
    expect(job(auto=True), job("1G")).on(gpus("24G")).to_get("0", WAITS)
    expect(job("1G"), job(auto=True)).on(gpus("24G")).to_get("0", WAITS)
    expect(job("1G"), job(auto=True), job("1G")).on(gpus("24G", "24G")).to_get("0", "1", "0")


def test_a_job_that_must_be_alone_holds_all_of_its_gpus() -> None:
    stage = gpus("24G", "24G")
    assert place(Ask(2, 1000, alone=True), stage.seats, Ledger(), machine_of(stage)) == (("0", WHOLE), ("1", WHOLE))


def test_one_that_ran_out_of_memory_alone_goes_to_a_larger_gpu() -> None:
    expect(job(alone=True, larger_than="24G")).on(gpus("24G", "40G")).to_get("1")
    expect(job(alone=True, larger_than="24G")).on(gpus("24G", "40G"), booked={"1": "1G"}).to_get(WAITS)
    # Also where nobody said `alone`: with no figure it has the whole of it.
    expect(job(larger_than="24G")).on(gpus("24G", "40G"), booked={"1": "40G"}).to_get(WAITS)


def test_without_gpus_a_job_that_is_to_be_packed_takes_a_slot() -> None:
    expect(job(auto=True), job(auto=True)).on(gpus(), cpus(1)).to_get("cpu0", WAITS)
    expect(job("1G"), job(auto=True)).on(gpus(), cpus(1)).to_get(WAITS, "cpu0")


# -- all together ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("need_mb", "where"), [(29_999, "1,2"), (20_000, "1,2"), (19_999, "1"), (30_000, WAITS)])
def test_memory_in_all_is_packed_as_quackpack_does(need_mb: int, where: str | None) -> None:
    expect(job(total=f"{need_mb}M")).on(gpus("10000M", "20000M", "15000M")).to_get(where)
    used = {"0": "70000M", "1": "60000M", "2": "65000M"}
    expect(job(total=f"{need_mb}M")).on(gpus("80000M", "80000M", "80000M"), used=used).to_get(where)


def test_memory_in_all_is_split_evenly() -> None:
    stage = gpus("10000M", "20000M", "15000M")
    assert place(Ask(total_mb=20_000), stage.seats, Ledger(), machine_of(stage)) == (("1", WHOLE // 2), ("2", 666_666))


def test_an_even_part_is_not_rounded_beyond_what_is_free() -> None:
    stage = gpus("1000M", "1000M", "1000M")
    booked = shares({"0": 989_500, "1": 989_500, "2": 989_500})  # 10.5 MB are free of each
    holds = place(Ask(total_mb=31), stage.seats, booked, machine_of(stage))
    assert holds is not None
    assert all(share <= WHOLE - booked[gpu] for gpu, share in holds)


# -- politeness -----------------------------------------------------------------------------------------------------


def test_so_many_gpus_stay_free() -> None:
    leave_one = Policy(min_free_gpus=1)
    expect(job("20G"), job("20G"), job("20G")).on(gpus("24G", "24G", "24G"), policy=leave_one).to_get("0", "1", WAITS)
    expect(job(), job(), job()).on(gpus("24G", "24G", "24G"), policy=leave_one).to_get("0", "1", WAITS)
    expect(job(gpus=2), job(gpus=2)).on(gpus("24G", "24G", "24G"), policy=leave_one).to_get("0,1", WAITS)


def test_a_gpu_that_others_use_is_not_one_that_stays_free() -> None:
    expect(job("20G")).on(gpus("24G", "24G"), used={"1": "10G"}, policy=Policy(min_free_gpus=1)).to_get(WAITS)
    expect(job("10G")).on(gpus("24G", "24G"), used={"1": "10G"}, policy=Policy(min_free_gpus=1)).to_get("1")


def test_where_no_other_gpu_may_be_used_jobs_are_packed_on_those_in_use() -> None:
    for policy in (Policy(max_gpus=1), Policy(min_free_gpus=1)):
        expect(job("8G"), job("8G"), job("8G"), job("8G")).on(gpus("24G", "24G"), policy=policy).to_get(
            "0", "0", "0", WAITS
        )


def test_at_most_so_many_gpus_are_used() -> None:
    expect(job(), job(), job()).on(gpus("24G", "24G", "24G"), policy=Policy(max_gpus=2)).to_get("0", "1", WAITS)
    expect(job("2G", 2), job("2G")).on(gpus("24G", "24G", "40G"), policy=Policy(max_gpus=2)).to_get("2,0", "2")


def test_cpu_slots_are_not_gpus_that_are_used() -> None:
    stage = gpus("24G")
    expect(job(), job(gpus=0)).on(stage, side_cpus(1), policy=Policy(max_gpus=1)).to_get("0", "cpu0")
    expect(job(gpus=0)).on(stage, side_cpus(1), policy=Policy(min_free_gpus=1)).to_get("cpu0")


def test_gpus_that_somebody_else_uses_are_left_alone() -> None:
    idle = Policy(only_idle=True)
    expect(job("10G"), job("10G")).on(gpus("24G", "12G"), used={"0": "2G"}, policy=idle).to_get("1", WAITS)
    expect(job(), job()).on(gpus("24G", "12G"), used={"0": "2G"}, policy=idle).to_get("1", WAITS)
    expect(job(total="9G")).on(gpus("24G", "12G"), used={"0": "2G"}, policy=idle).to_get("1")


def test_at_most_so_many_jobs_share_a_gpu_however_much_memory_is_left() -> None:
    two = Policy(jobs_per_gpu=2)
    expect(*[job("1G")] * 5).on(gpus("24G", "24G"), policy=two).to_get("0", "1", "0", "1", WAITS)


def test_the_preferred_gpus_are_taken_first_in_their_order() -> None:
    prefer = Policy(prefer=("2", "0"))
    expect(job(), job(), job()).on(gpus("24G", "24G", "24G"), policy=prefer).to_get("2", "0", "1")
    expect(job(gpus=2)).on(gpus("24G", "24G", "24G"), policy=prefer).to_get("2,0")
    expect(job("20G"), job("20G"), job("20G")).on(gpus("24G", "24G", "24G"), policy=prefer).to_get("2", "0", "1")


def test_a_little_more_free_memory_does_not_undo_the_order() -> None:
    prefer = Policy(prefer=("2", "0"))
    expect(job("8G")).on(gpus("24G", "24G", "24G"), used={"2": "100M"}, policy=prefer).to_get("2")


def test_a_preferred_gpu_that_is_full_keeps_nobody_from_another() -> None:
    prefer = Policy(prefer=("0",))
    expect(job("20G")).on(gpus("24G", "24G"), used={"0": "20G"}, policy=prefer).to_get("1")
    expect(job(total="15G")).on(gpus("24G", "24G"), used={"0": "20G"}, policy=prefer).to_get("1")


# -- the machine ----------------------------------------------------------------------------------------------------


def test_cores_and_memory_of_the_machine_are_given_out_once() -> None:
    expect(job(cores=4), job(cores=4), job(cores=1)).on(gpus("24G", "24G", "24G"), cpus=8).to_get("0", "1", WAITS)
    expect(job(host_mem="6G"), job(host_mem="3G")).on(gpus("24G", "24G"), mem="8G").to_get("0", WAITS)


def test_a_job_that_says_nothing_of_cores_needs_none() -> None:
    expect(job(cores=8), job()).on(gpus("24G", "24G"), cpus=8).to_get("0", "1")


def test_jobs_without_a_gpu_do_not_take_the_cores_that_one_with_a_gpu_waits_for() -> None:
    stage = gpus("24G", "24G")
    jobs = (job(cores=6), job(cores=4), job(gpus=0, cores=1), job(gpus=0))
    expect(*jobs).on(stage, side_cpus(4), cpus=8).to_get("0", WAITS, WAITS, "cpu0")


# -- never ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "known", "why"),
    [
        (Ask(mb=30_720), {}, "It asks for 30G of GPU memory, but the largest GPU has 24G."),
        (Ask(2, 20_480), {}, "It asks for 20G of GPU memory on each of 2 GPUs, but only 1 of 2 GPUs has that much."),
        (Ask(3, 1024), {}, "It asks for 1G of GPU memory on each of 3 GPUs, but only 2 of 2 GPUs have that much."),
        (Ask(total_mb=51_200), {}, "It asks for 50G of GPU memory in even parts, but there is only 40G on 2 GPUs."),
        (
            Ask(alone=True, larger_than_mb=24_576),
            {},
            "It ran out of memory alone on a GPU of 24G, and there is no larger one.",
        ),
        (Ask(cpus=9), {"cpus": 8}, "It asks for 9 cores, but this machine has 8."),
        (Ask(mem_mb=9216), {"mem_mb": 8192}, "It asks for 9G of memory, but this machine has 8G."),
        (
            Ask(mb=1),
            {"total_mb": {}},
            "The memory of GPUs 0-1 is unknown. Give their sizes: duckrow up --devices 0:24G,1:24G.",
        ),
        (
            Ask(2),
            {"policy": Policy(max_gpus=1)},
            "It asks for more of the 2 GPUs than --max-gpus 1 allows.",
        ),
        (
            Ask(2, 10),
            {"policy": Policy(min_free_gpus=1)},
            "It asks for more of the 2 GPUs than --min-free-gpus 1 allows.",
        ),
        (
            Ask(mb=24_576),
            {"pressure": {"0": 5, "1": 5}},
            "It asks for 24G of GPU memory, but the largest GPU has 24G, of which 245M are kept free (--mem-margin).",
        ),
    ],
)
def test_a_job_that_could_never_start_is_refused_with_the_figures(ask: Ask, known: dict[str, Any], why: str) -> None:
    stage = gpus("24G", "16G")
    assert refusal(ask, stage.seats, machine_of(stage)._replace(**known)) == why


def test_only_the_gpus_that_may_be_used_count_as_the_largest() -> None:
    stage = gpus("24G")
    everything = machine_of(stage)._replace(total_mb={"0": 24_576, "1": 81_920})
    assert refusal(Ask(mb=30_720), stage.seats, everything) == (
        "It asks for 30G of GPU memory, but the largest GPU has 24G."
    )


def test_gpu_memory_where_there_is_no_gpu_is_refused() -> None:
    assert refusal(Ask(mb=10), cpus(2)) == "It asks for GPU memory, but there is no GPU here. Omit --gpu-mem."


def test_what_others_use_today_is_no_reason_to_refuse() -> None:
    stage = gpus("24G")
    for policy in (Policy(), Policy(only_idle=True), Policy(jobs_per_gpu=1)):
        assert refusal(Ask(mb=20_480), stage.seats, machine_of(stage, {"0": "24G"}, policy)) is None


def test_a_job_that_can_never_start_here_keeps_nobody_waiting() -> None:
    expect(job("30G"), job("10G")).on(gpus("24G")).to_get(WAITS, "0")
    expect(job(cores=9), job("10G", cores=8)).on(gpus("24G"), cpus=8).to_get(WAITS, "0")


# -- what holds in every case ---------------------------------------------------------------------------------------


class Case(NamedTuple):
    """Some GPUs, some jobs, what others use, and which of the running ones end in each round."""

    stage: Stage
    machine: Machine
    queue: list[QueuedJob]
    ends: list[set[int]]

    @property
    def seats(self) -> list[Seat]:
        return [*self.stage.seats, *cpu_seats(2, side=True)]


SIZES = ["8G", "24G", "24G", "40G", "81559M"]


def random_job(random: Random) -> QueuedJob:
    timeout_s = random.choice([None, 60.0])
    some = random.randint(1, 3)
    cores = random.choice([None, None, 1, 4])
    size = f"{random.randint(1, 45_000)}M"
    kinds: dict[str, dict[str, Any]] = {
        "each": {"mem": size, "gpus": random.choice([None, some]), "cores": cores},
        "total": {"total": size, "cores": cores},
        "alone": {"alone": True, "gpus": some},
        "larger": {"larger_than": size},
        "plain": {"gpus": random.choice([None, 1, 2])},
        "cpu": {"gpus": 0, "cores": cores},
    }
    return job(**kinds[random.choice(["each", "each", *kinds])], timeout_s=timeout_s)


def case_of(seed: int) -> Case:
    random = Random(seed)
    stage = gpus(*random.choices(SIZES, k=random.randint(1, 4)), jobs_per_gpu=random.choice([1, 1, 2]))
    names = list(stage.total_mb)
    used = {gpu: f"{random.randint(1, stage.total_mb[gpu])}M" for gpu in names if random.random() < 0.3}
    policy = Policy(
        min_free_gpus=random.choice([0, 0, 1]),
        max_gpus=random.choice([None, None, 1, 2]),
        prefer=tuple(random.sample(names, random.randint(0, min(2, len(names))))),
        jobs_per_gpu=random.choice([None, None, 1, 3]),
        only_idle=random.random() < 0.3,
    )
    queue = [random_job(random)._replace(id=number) for number in range(random.randint(1, 8))]
    ends = [set(random.sample(range(8), random.randint(0, 8))) for _ in range(random.randint(1, 3))]
    return Case(stage, machine_of(stage, used, policy, 8, "64G"), queue, ends)


cases = st.builds(case_of, st.integers(0, 1 << 32))


class Round(NamedTuple):
    queue: list[QueuedJob]
    before: Ledger
    starts: list[Start]
    after: Ledger
    running: dict[int, Start]


def rounds(case: Case) -> list[Round]:
    """Play it, and tell what was so in each round."""
    queue, booked, running = list(case.queue), Ledger(), dict[int, Start]()
    played = []
    for ends in case.ends:
        for job_id in ends & set(running):
            unbook(running.pop(job_id).holds, booked)
        before = Ledger(booked)
        starts = choose_starts(queue, case.seats, booked, room_of(case, running), None, case.machine)
        for start in starts:
            book(start.holds, booked)
        running.update({start.job.id: start for start in starts})
        played.append(Round(queue, before, starts, Ledger(booked), dict(running)))
        queue = [waiting for waiting in queue if waiting.id not in running]
    return played


def room_of(case: Case, running: dict[int, Start]) -> dict[str, int]:
    asks = [plain_ask(start.job) for start in running.values()]
    assert case.machine.cpus is not None
    assert case.machine.mem_mb is not None
    return {
        CORES: case.machine.cpus - sum(ask.cpus for ask in asks),
        MEMORY: case.machine.mem_mb - sum(ask.mem_mb for ask in asks),
    }


def is_whole(ask: Ask) -> bool:
    return ask.alone or ask.larger_than_mb > 0


@settings(max_examples=500)
@given(cases)
def test_never_is_more_promised_than_there_is(case: Case) -> None:
    for _, before, starts, after, running in rounds(case):
        assert all(0 <= share <= WHOLE for share in after.values())
        booked = Ledger(before)
        for start in starts:
            ask = plain_ask(start.job)
            for gpu, share in start.holds:
                booked[gpu] = booked.get(gpu, 0) + share
                if ask.mb is not None or ask.total_mb is not None:
                    assert booked[gpu] + case.machine.pressure.get(gpu, 0) <= WHOLE
        assert min(room_of(case, running).values()) >= 0


@settings(max_examples=500)
@given(cases)
def test_a_gpu_that_somebody_has_to_himself_has_no_other_holder(case: Case) -> None:
    for _, _, _, _, running in rounds(case):
        holders = [(gpu, start) for start in running.values() for gpu, _ in start.holds]
        for start in running.values():
            if is_whole(plain_ask(start.job)):
                for gpu, _ in start.holds:
                    assert [one.job.id for held, one in holders if held == gpu] == [start.job.id]


@settings(max_examples=500)
@given(cases)
def test_a_job_that_starts_has_what_it_asked_for(case: Case) -> None:
    total_mb = case.machine.total_mb
    for _, _, starts, _, _ in rounds(case):
        for start in starts:
            ask, held = plain_ask(start.job), dict(start.holds)
            assert len(held) == len(start.holds) == (ask.gpus or 1 if ask.total_mb is None else len(held))
            if ask.gpus != 0 and (ask.mb is not None or ask.total_mb is not None or is_whole(ask)):
                assert all(total_mb[gpu] > ask.larger_than_mb for gpu in held)
                each_mb = ask.mb or (ask.total_mb or 0) / len(held)
                assert all((share + 1) * total_mb[gpu] >= each_mb * WHOLE for gpu, share in held.items())
            if is_whole(ask):
                assert set(held.values()) == {WHOLE}


@settings(max_examples=300)
@given(cases)
def test_the_same_input_gives_the_same_starts(case: Case) -> None:
    assert rounds(case) == rounds(case)


@settings(max_examples=500)
@given(cases)
def test_politeness_is_never_forgotten(case: Case) -> None:
    policy, names = case.machine.policy, list(case.stage.total_mb)
    for _, before, starts, after, running in rounds(case):
        used = {gpu for gpu in names if after.get(gpu, 0)}
        taken = {gpu for start in starts for gpu, _ in start.holds if gpu in names}
        assert policy.max_gpus is None or len(used) <= policy.max_gpus
        free = [gpu for gpu in names if gpu not in used and not case.machine.foreign_mb.get(gpu)]
        newly_idle = [gpu for gpu in taken if not before.get(gpu, 0) and not case.machine.foreign_mb.get(gpu)]
        assert not newly_idle or len(free) >= policy.min_free_gpus
        assert not policy.only_idle or not taken & set(case.machine.foreign_mb)
        for gpu in names:
            sharing = [s for s in running.values() if gpu in dict(s.holds) and plain_ask(s.job).mb is not None]
            assert policy.jobs_per_gpu is None or len(sharing) <= policy.jobs_per_gpu


@settings(max_examples=500)
@given(cases)
def test_nobody_waits_beside_room_that_he_may_have(case: Case) -> None:
    for queue, _, starts, after, running in rounds(case):
        started = {start.job.id for start in starts}
        waiting = [each for each in queue if each.id not in started and plain_ask(each).gpus != 0]
        able = [each for each in waiting if refusal(plain_ask(each), case.seats, case.machine) is None]
        if able and plain_ask(able[0]).cpus <= room_of(case, running)[CORES] and plain_ask(able[0]).cpus == 0:
            assert place(plain_ask(able[0]), case.seats, after, case.machine) is None


@settings(max_examples=100)
@given(cases)
def test_who_could_start_at_all_starts_in_the_end_if_the_others_end(case: Case) -> None:
    nobody_else = case.machine._replace(pressure={}, foreign_mb={})
    patient = case._replace(machine=nobody_else, ends=[set(range(8))] * (len(case.queue) + 1))
    started = sorted(start.job.id for played in rounds(patient) for start in played.starts)
    able = [each.id for each in case.queue if refusal(plain_ask(each), case.seats, nobody_else) is None]
    assert started == able


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(SIZES), min_size=2, max_size=4),
    st.lists(st.tuples(st.integers(500, 7000), st.integers(1, 6)), min_size=4, max_size=20),
    st.sampled_from(["all gpus", "memory on all", "total", "cores"]),
)
def test_a_big_job_is_not_overtaken_for_ever_by_small_ones(
    sizes: list[str], small: list[tuple[int, int]], kind: str
) -> None:
    """Small jobs keep coming; each lasts this many rounds."""
    stage = gpus(*sizes)
    machine = machine_of(stage, cpus=8)
    big = {
        "all gpus": job(gpus=len(sizes)),
        "memory on all": job("8G", len(sizes)),
        "total": job(total=f"{8191 * len(sizes)}M"),
        "cores": job("1G", cores=8),
    }[kind]._replace(id=0)
    queue: list[QueuedJob] = []
    booked, running = Ledger(), dict[int, tuple[Start, int]]()
    seats = [*stage.seats, *cpu_seats(2, side=True)]
    came_at = 3
    for now in range(40):
        for job_id, (start, ends) in list(running.items()):
            if ends <= now:
                unbook(start.holds, booked)
                del running[job_id]
        queue += [big] if now == came_at else []
        queue += [job(f"{mb}M", cores=1)._replace(id=1000 * (now + 1) + number) for number, (mb, _) in enumerate(small)]
        queue += [job(gpus=0, cores=1)._replace(id=1000 * (now + 1) + 500)]
        room = {CORES: 8 - sum(plain_ask(start.job).cpus for start, _ in running.values())}
        # It comes first of those that wait, by its priority; nothing that runs is stopped for it.
        head = sorted(queue, key=lambda each: each.id != 0)[:64] if now > came_at else queue[:64]
        for start in choose_starts(head, seats, booked, room, None, machine):
            if start.job.id == 0:
                assert now <= came_at + 7
                return
            lasts = small[start.job.id % 1000 % len(small)][1]
            book(start.holds, booked)
            running[start.job.id] = (start, now + lasts)
            queue = [each for each in queue if each.id != start.job.id]
    raise AssertionError("it never started")
