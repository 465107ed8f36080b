"""A device knows what it is; its name is all that is written of it."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from duckrow.core.devices.device import (
    SOME_CPU_SLOT,
    Device,
    Reservation,
    cpu_slot,
    describe_devices,
    gpus_among,
    only_gpus,
    reservations,
)


@pytest.mark.parametrize(
    ("name", "is_gpu", "is_mig_instance", "number"),
    [
        ("0", True, False, 0),
        ("17", True, False, 17),
        ("GPU-8f2a", True, False, None),
        ("MIG-1c3d", True, True, None),
        ("cpu0", False, False, None),
        ("cpu", False, False, None),
        ("²", True, False, None),
    ],
)
def test_a_device_says_what_it_is(name: str, is_gpu: bool, is_mig_instance: bool, number: int | None) -> None:
    device = Device(name)
    assert (device.is_gpu, device.is_cpu_slot) == (is_gpu, not is_gpu)
    assert device.is_mig_instance == is_mig_instance
    assert device.gpu_number == number


def test_a_cpu_slot_is_made_by_its_number() -> None:
    assert cpu_slot(3) == "cpu3"
    assert cpu_slot(3).is_cpu_slot
    assert SOME_CPU_SLOT.is_cpu_slot


@pytest.mark.parametrize("name", ["0", "MIG-1c3d", "cpu0"])
def test_a_device_is_written_as_its_name_and_read_back(name: str) -> None:
    device = Device(name)
    assert json.dumps({"device": device}) == json.dumps({"device": name})
    assert json.dumps(reservations([(name, 5)])) == json.dumps([[name, 5]])
    assert dict[str, int]({device: 1})[name] == 1
    assert f"{device}" == str(device) == name
    assert repr(device) == repr(name)


@pytest.mark.parametrize("name", ["0", "MIG-1c3d", "cpu0"])
def test_a_copy_of_a_device_is_the_same_kind_of_device(name: str) -> None:
    device = Device(name)
    for again in (pickle.loads(pickle.dumps(device)), copy.deepcopy(device), Device(device)):
        assert again == device
        assert again.is_cpu_slot == device.is_cpu_slot
        assert again.is_mig_instance == device.is_mig_instance


def test_nobody_changes_what_a_device_is() -> None:
    with pytest.raises(AttributeError):
        Device("0").is_gpu = False


def test_the_gpus_among_reservations() -> None:
    held = reservations([("1", 7), ("cpu0", 8), ("MIG-1c3d", 9)])
    assert held[0] == Reservation(Device("1"), 7)
    assert gpus_among(held) == ["1", "MIG-1c3d"]
    assert only_gpus(held) == (("1", 7), ("MIG-1c3d", 9))


def test_devices_are_told_in_words() -> None:
    assert describe_devices(map(Device, "01")) == "GPU 0,1"
    assert describe_devices([Device("cpu3")]) == "CPU 3"
