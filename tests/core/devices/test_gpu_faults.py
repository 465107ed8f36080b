"""What a reading must say before a GPU is taken for broken."""

from __future__ import annotations

import pytest

from duckrow.core.devices.gpu_faults import UNUSABLE_XIDS, Fault, Faults, healthy
from duckrow.core.ports import Health, Reading

FINE = Health(uncorrected=0)


def reading(device: str = "0", health: Health | None = FINE, mono: float = 100.0) -> Reading:
    return Reading(device, 0.0, mono, 1000, 1000, 0, 40, (), "", health)


def test_a_gpu_without_a_fault_is_healthy() -> None:
    readings = [reading("0"), reading("1", Health()), reading("2", None), reading("3", Health(is_silent=True))]
    assert Faults().note(readings) == {}
    assert healthy(readings, {}) == {"0", "1"}  # who could not be asked has said nothing
    assert healthy(readings, {"1": "broken"}) == {"0"}


def test_a_gpu_that_fell_off_the_bus_is_broken_at_once() -> None:
    assert Faults().note([reading(health=Health(is_lost=True))]) == {"0": Fault("it fell off the bus", passes=True)}


def test_what_the_driver_says_must_be_done_is_a_fault() -> None:
    health = Health(cure="it must be reset")
    assert Faults().note([reading(health=health)]) == {"0": Fault("the driver says that it must be reset", passes=True)}


@pytest.mark.parametrize("xid", UNUSABLE_XIDS)
def test_an_xid_of_the_hardware_is_a_fault(xid: int) -> None:
    (fault,) = Faults().note([reading(health=Health(xids=(31, xid)))]).values()
    assert fault.why.startswith(f"the driver reports Xid {xid} (")
    assert not fault.passes  # it is told once


@pytest.mark.parametrize("xid", [13, 31, 43, 45, 63, 92, 94, 109, 154, 9999])
def test_an_xid_of_a_program_or_of_what_was_mended_is_none(xid: int) -> None:
    assert Faults().note([reading(health=Health(xids=(xid,)))]) == {}


def test_memory_errors_count_from_the_first_reading_on() -> None:
    faults = Faults()
    assert faults.note([reading(health=Health(uncorrected=4))]) == {}
    assert faults.note([reading(health=Health(uncorrected=4))]) == {}
    assert faults.note([reading(health=Health(uncorrected=None))]) == {}
    assert faults.note([reading(health=Health(uncorrected=5))]) == {
        "0": Fault("1 memory error that ECC could not correct")
    }
    assert faults.note([reading(health=Health(uncorrected=6))]) == {
        "0": Fault("2 memory errors that ECC could not correct")
    }


def test_a_reset_begins_to_count_memory_errors_anew() -> None:
    faults = Faults()
    faults.note([reading(health=Health(uncorrected=4))])
    assert faults.note([reading(health=Health(uncorrected=0))]) == {}
    assert faults.note([reading(health=Health(uncorrected=1))]) != {}


def test_what_a_gpu_did_before_it_was_given_out_again_is_forgotten() -> None:
    faults = Faults()
    faults.note([reading(health=Health(uncorrected=0))])
    faults.forget("0")
    assert faults.note([reading(health=Health(uncorrected=3))]) == {}


def silent(mono: float) -> list[Reading]:
    return [reading("0", mono=mono), reading("1", Health(is_silent=True), mono)]


def test_a_gpu_that_answered_and_is_silent_for_a_while_is_broken() -> None:
    faults = Faults()
    faults.note([reading("0"), reading("1")])
    assert [faults.note(silent(mono)) for mono in (100, 105, 106, 109.9)] == [{}] * 4
    assert faults.note(silent(112)) == {"1": Fault("it has not answered for 12s, while the driver does", passes=True)}


def test_two_readings_far_apart_are_no_silence_yet() -> None:
    faults = Faults()
    faults.note([reading("1")])
    assert [faults.note(silent(mono)) for mono in (100, 130)] == [{}] * 2
    assert faults.note(silent(131)) != {}


def test_a_gpu_that_answers_again_was_only_away() -> None:
    faults = Faults()
    faults.note([reading("1")])
    faults.note(silent(100))
    faults.note(silent(105))
    assert faults.note([reading("1", mono=108)]) == {}
    assert [faults.note(silent(mono)) for mono in (109, 113, 118)] == [{}] * 3


def test_a_gpu_that_never_answered_is_not_broken() -> None:
    faults = Faults()
    assert [faults.note(silent(mono)) for mono in (100, 110, 120, 130)] == [{}] * 4


def test_a_driver_that_answers_for_nobody_is_not_a_broken_gpu() -> None:
    faults = Faults()
    faults.note([reading("0"), reading("1")])
    for mono in (100, 110, 120, 130):
        assert faults.note([reading("0", None, mono), reading("1", None, mono)]) == {}
