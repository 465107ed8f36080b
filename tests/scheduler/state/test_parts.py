"""The parts of a host's state: what each remembers, and for how long."""

from __future__ import annotations

import pytest

from duckrow.core.clock import Now
from duckrow.core.devices.inventory import parse_gpus
from duckrow.core.devices.machine import BARE, Machine
from duckrow.core.devices.set_aside import SetAside
from duckrow.core.memory.course import Course
from duckrow.core.memory.knowledge import RecipePeak
from duckrow.core.ports import CoreTime, Gpu
from duckrow.core.schedule.pace import BestPace, Finished
from duckrow.scheduler.state.attempt_notes import AttemptNotes
from duckrow.scheduler.state.gpu_paces import GpuPaces
from duckrow.scheduler.state.gpu_trust import GpuTrust
from duckrow.scheduler.state.known_gpus import KnownGpus
from duckrow.scheduler.state.line_pace import LinePace
from duckrow.scheduler.state.mps_use import MpsUse
from duckrow.scheduler.state.next_delays import NextDelays
from duckrow.scheduler.state.reading_needs import ReadingNeeds
from duckrow.scheduler.state.started_early import StartedEarly
from duckrow.scheduler.state.tick_failures import TickFailures
from duckrow.scheduler.state.told import Told
from duckrow.scheduler.state.unseen_reservations import UnseenReservations
from duckrow.scheduler.state.wish_cursor import AT_A_TIME, WishCursor

KEY = ("/train.py", "RTX")


def test_nothing_is_lined_up_before_two_jobs_have_ended() -> None:
    pace = LinePace()
    lengths = []
    for _ in range(3):
        lengths.append(pace.length)
        pace.note("true", 0.001, 100.0)
    assert lengths[:2] == [0, 0]
    assert lengths[2] > 1


def test_a_job_that_is_not_known_to_be_short_is_not_followed() -> None:
    pace = LinePace()
    pace.note("true", 0.001, 100.0)
    assert pace.knows("true", 100.5)
    assert not pace.knows("true", 102.0), "that was long ago"
    assert not pace.knows("train", 100.5)


def test_of_many_names_only_the_latest_are_known() -> None:
    pace = LinePace()
    for number in range(102):
        pace.note(f"job-{number}", 0.001, 100.0)
    assert pace.knows("job-101", 100.0)
    assert not pace.knows("job-0", 100.0)


def test_the_next_delay_is_the_one_that_ends_first() -> None:
    delays = NextDelays()
    assert delays.note(50.0)
    assert not delays.note(60.0)
    assert delays.note(40.0)
    assert not delays.is_due(Now(0.0, 0.0, 39.0))
    assert delays.is_due(Now(0.0, 0.0, 40.0))


def test_an_alarm_is_heard_once() -> None:
    delays = NextDelays()
    delays.ring()
    assert [delays.hush(), delays.hush()] == [True, False]


def test_people_hear_a_thing_once() -> None:
    told = Told()
    assert [told.is_new("a"), told.is_new("a"), told.is_new("b")] == [True, False, True]


def test_what_was_done_about_an_attempt_is_forgotten_with_it() -> None:
    notes = AttemptNotes()
    for note in (notes.count, notes.meet, notes.misplace):
        note(7)
    notes.forget(7)
    notes.forget(8)
    assert notes.counted == notes.met == notes.misplaced == set()


def test_people_hear_of_failed_ticks_once_until_one_is_written() -> None:
    failures = TickFailures()
    assert [failures.tell(), failures.tell(), failures.over(), failures.over()] == [True, False, True, False]
    assert failures.tell()


def test_mps_is_given_up_after_three_jobs_in_a_row_and_told_once() -> None:
    mps = MpsUse()
    assert [mps.fail(1), mps.fail(2)] == [None, None]
    mps.succeed()
    assert [mps.fail(3), mps.fail(4), mps.fail(5)] == [None, None, 3]
    mps.give_up()
    assert mps.fail(6) is None
    assert not mps.may_use(1)


def test_a_lock_is_kept_until_the_memory_of_the_last_attempt_is_seen() -> None:
    unseen = UnseenReservations()
    unseen.reserve(1, 100.0, ("a", "b"))
    unseen.reserve(2, 100.0, ("b",))
    unseen.see(1, 103.0)
    assert unseen.of[1].seen_mono == 103.0
    unseen.end([1])
    assert unseen.locks == {"b"}
    unseen.end([2])
    assert not unseen


def test_the_gpus_follow_the_seats_and_what_the_library_says() -> None:
    gpus = KnownGpus(parse_gpus(["0"]), BARE)
    gpus.meet([Gpu("0", "RTX", "GPU-a", 24_000), Gpu("1", "A100", "GPU-b", 80_000)])
    assert (gpus.watched, gpus.given_out.sizes_mb) == (["0"], (24_000,))
    gpus.seat(parse_gpus(["1"]))
    assert (gpus.watched, gpus.given_out.sizes_mb) == (["1"], (80_000,))
    assert gpus.given_out.models == {"A100"}
    gpus.miss_library(True)
    assert gpus.watched == []


def test_what_a_user_says_of_a_gpu_counts_before_the_library() -> None:
    gpus = KnownGpus(parse_gpus(["0"]), Machine({"0": 10_000}))
    gpus.meet([Gpu("0", "RTX", "GPU-a", 24_000)])
    assert gpus.smallest_mb(["0"]) == 10_000


def test_a_look_at_the_gpus_is_over_after_a_while() -> None:
    reading = ReadingNeeds(BARE)
    reading.look_until(100.0)
    assert [reading.is_looked_at(mono) for mono in (90.0, 99.0, 100.0)] == [False, True, False]


def test_a_gpu_that_comes_and_goes_returns_three_times_unless_a_person_forgives_it() -> None:
    trust = GpuTrust()
    may = []
    for _ in range(4):
        may.append(trust.may_return("0"))
        trust.note_return("0")
    trust.forgive("0")
    assert [*may, trust.may_return("0")] == [True, True, True, False, True]


def test_a_gpu_may_pass_only_if_its_fault_can_be_over() -> None:
    trust = GpuTrust()
    trust.set_aside(SetAside("0", "Xid 79", "boot"))
    may = [trust.may_pass]
    trust.set_aside(SetAside("1", "it is silent", "boot", passes=True))
    may.append(trust.may_pass)
    trust.give_out("1")
    assert [*may, trust.may_pass] == [False, True, False]


def test_courses_are_read_again_when_the_peak_of_their_recipe_has_changed() -> None:
    early, course = StartedEarly(), Course(((0.0, 1000),), 40.0)
    before, after = RecipePeak(1000, runs=1), RecipePeak(2000, runs=2)
    early.read("/train.py", before, {"seed=1": [course]})
    assert early.is_read("/train.py", before)
    assert not early.is_read("/train.py", after)
    assert early.courses("/train.py", "seed=1") == [course]
    assert list(early.courses("/train.py", "seed=2")) == list(early.courses("/other.py", "")) == []


def test_what_is_owed_is_owed_until_it_is_settled() -> None:
    early = StartedEarly()
    early.owe(7, 500_000)
    assert (early.owed_to(7), early.owed_to(8)) == (500_000, 0)
    early.settle(7)
    assert not early.owed


def test_what_was_known_of_a_recipe_when_its_first_run_started_is_remembered() -> None:
    paces = GpuPaces()
    paces.load({KEY: BestPace(4, 8, 1, 2.0)})
    paces.begin(KEY, None)
    paces.begin(("/other.py", "RTX"), 8)
    assert paces.found_before == {KEY}
    assert paces.tried == {("/other.py", "RTX"): 8}


def test_only_the_latest_ends_of_a_recipe_tell_its_pace() -> None:
    paces = GpuPaces()
    for number in range(300):
        paces.note_end(KEY, Finished(1.0, float(number)))
    assert [run.lasted_s for run in paces.done(KEY)] == [float(number) for number in range(44, 300)]


def test_the_cores_at_the_start_of_a_run_are_asked_for_once() -> None:
    paces, then = GpuPaces(), CoreTime(10.0, 100.0)
    paces.started(7, then)
    assert [paces.cores_when_started(7), paces.cores_when_started(7)] == [then, None]


@pytest.mark.parametrize(("took_s", "next_time"), [(0.02, 50), (0.01, 100), (0.001, 200)])
def test_a_tick_takes_as_many_wishes_as_it_can_fulfil_in_a_moment(took_s: float, next_time: int) -> None:
    cursor = WishCursor()
    cursor.learn_pace(took_s)
    assert cursor.at_a_time == next_time


def test_there_is_a_most_and_a_fewest_of_wishes() -> None:
    many, few = WishCursor(), WishCursor()
    for _ in range(10):
        many.learn_pace(0.001)
        few.learn_pace(1.0)
    assert (many.at_a_time, few.at_a_time) == (AT_A_TIME, 25)
