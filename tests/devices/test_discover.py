"""Which devices a host gets when nobody names any."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest

from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.policy import Policy
from duckrow.core.errors import UsageError
from duckrow.core.ports import Gpu, Reading
from duckrow.devices import discover
from duckrow.devices.discover import cores, find_gpus, offer_of
from duckrow.devices.nvml import NvmlSource

UUIDS = ("GPU-aaaa1111-0000", "GPU-aaaa2222-0000", "GPU-bbbb3333-0000", "GPU-cccc4444-0000")


class FakeSource:
    """`count` GPUs, without a driver."""

    def __init__(self, count: int) -> None:
        self._count = count

    def is_there(self) -> bool:
        return self._count > 0

    def read(self, names: Sequence[str]) -> list[Reading]:
        raise AssertionError("Who looks for devices does not read them.")

    def rest(self) -> None:
        pass

    def devices(self) -> list[Gpu]:
        return [Gpu(str(number), "Fake", UUIDS[number], 24_000) for number in range(self._count)]


def found(visible: str | None, count: int = 4) -> list[str]:
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    return [device.name for device in find_gpus(FakeSource(count), environment)]


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        (None, ["0", "1", "2", "3"]),
        ("", []),
        (" ", []),
        ("-1", []),
        ("2", ["2"]),
        ("3,1", ["3", "1"]),
        (" 0 , 2 ", ["0", "2"]),
        ("1,9", ["1"]),
        ("NoDevFiles", []),
        (UUIDS[2], ["2"]),
        (f"{UUIDS[3]},{UUIDS[0]}", ["3", "0"]),
        ("GPU-bbbb", ["2"]),
        ("GPU-aaaa2,GPU-cccc4444", ["1", "3"]),
        ("GPU-zzzz", []),
        ("bbbb3333", []),
        (f"0,{UUIDS[1]}", ["0", "1"]),
        ("GPU-", []),
        ("02,000", ["2", "0"]),
        (f"0,00,{UUIDS[0]}", ["0"]),
    ],
)
def test_of_the_gpus_those_are_left_that_cuda_visible_devices_names(visible: str | None, names: list[str]) -> None:
    assert found(visible) == names


class DividedSource(FakeSource):
    """GPU 0 is divided into two instances."""

    def devices(self) -> list[Gpu]:
        parts = [Gpu(uuid, "Fake MIG", uuid, 10_000, ("0", UUIDS[0])) for uuid in INSTANCES]
        return [*parts, *super().devices()[1:]]


INSTANCES = ("MIG-dddd5555-0000", "MIG-eeee6666-0000")


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        (INSTANCES[1], [INSTANCES[1]]),
        ("MIG-eeee", [INSTANCES[1]]),
        ("MIG-", []),
        (f"{INSTANCES[0]},1", [INSTANCES[0], "1"]),
        ("0", [INSTANCES[0]]),
        (UUIDS[0], [INSTANCES[0]]),
        ("GPU-aaaa1", [INSTANCES[0]]),
        ("GPU-aaaa2", ["1"]),
    ],
)
def test_the_instances_of_a_divided_gpu_are_named_as_cuda_names_them(visible: str, names: list[str]) -> None:
    found = find_gpus(DividedSource(2), {"CUDA_VISIBLE_DEVICES": visible})
    assert [device.name for device in found] == names


def test_where_there_is_no_gpu_none_is_found_whatever_is_visible() -> None:
    assert found(None, count=0) == []
    assert found("0,1", count=0) == []


def test_the_variable_is_read_from_our_own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert [device.name for device in find_gpus(FakeSource(2))] == ["1"]


# -- seats ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three GPUs and two cores."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(discover, "NvmlSource", lambda: FakeSource(3))
    monkeypatch.setattr(discover, "cores", lambda: 2)


def seats(
    *gpus: str, slots: int | None = None, jobs_per_gpu: int = 1, with_cpu_slots: bool = False
) -> list[tuple[str, ...]]:
    return [seat.devices for seat in offer_of(gpus or None, slots, jobs_per_gpu, with_cpu_slots=with_cpu_slots).seats]


@pytest.mark.usefixtures("machine")
def test_without_a_word_every_gpu_is_a_seat() -> None:
    assert seats() == [("0",), ("1",), ("2",)]


@pytest.mark.usefixtures("machine")
def test_beside_all_gpus_the_daemon_has_a_slot_a_core() -> None:
    assert seats(with_cpu_slots=True) == [("0",), ("1",), ("2",), ("cpu0",), ("cpu1",)]


@pytest.mark.usefixtures("machine")
def test_the_gpus_that_are_named_are_taken_without_a_look() -> None:
    assert seats("0+7", "5") == [("0", "7"), ("5",)]


@pytest.mark.usefixtures("machine")
def test_all_is_what_was_found() -> None:
    assert seats("all", jobs_per_gpu=2) == [("0",), ("1",), ("2",)] * 2


@pytest.mark.usefixtures("machine")
def test_gpus_that_are_named_by_uuid_are_known_by_their_numbers() -> None:
    assert seats(UUIDS[2]) == [("2",)]
    assert seats(f"GPU-bbbb+0,{UUIDS[1]}") == [("2", "0"), ("1",)]
    offer = offer_of([f"{UUIDS[1]}:10G"], None, None, with_cpu_slots=False)
    assert (offer.seats[0].devices, dict(offer.machine.total_mb)) == (("1",), {"1": 10_240})
    with pytest.raises(UsageError, match=r"GPU-zzzz is not one of the GPUs here: 0 \(GPU-aaaa1111-0000\), 1"):
        seats("GPU-zzzz")
    with pytest.raises(UsageError, match=r"GPU-aaaa names several GPUs: 0 \(GPU-aaaa1111-0000\), 1 \(GPU-aaaa2"):
        seats("GPU-aaaa")


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("written", ["1", "01", "0001", UUIDS[1], "GPU-aaaa2"])
def test_a_gpu_has_one_name_however_it_is_written(written: str) -> None:
    assert seats(written) == [("1",)]
    assert seats(f"2+{written}", f"{written},0") == [("2", "1"), ("1", "0")]
    offer = offer_of([f"{written}:10G"], None, None, with_cpu_slots=False, policy=Policy(prefer=(written,)))
    assert dict(offer.machine.total_mb) == {"1": 10_240}
    assert offer.machine.policy.prefer == ("1",)


@pytest.mark.usefixtures("machine")
def test_a_gpu_that_is_written_in_two_ways_is_shared_or_refused_as_one_that_is_written_twice() -> None:
    for twice in ("1,1", "1,01", f"01,{UUIDS[1]}"):
        assert [seat.holds for seat in offer_of([twice], None, 1, with_cpu_slots=False).seats] == [
            (("1", WHOLE // 2),)
        ] * 2
    for twice in ("1+1", "1+01", f"01+{UUIDS[1]}"):
        with pytest.raises(UsageError, match=r"1\+1 names a GPU twice for one job"):
            seats(twice)
    for twice in ("1:10G,1:20G", "1:10G,01:20G", f"1:10G,{UUIDS[1]}:20G"):
        with pytest.raises(UsageError, match="GPU 1 was given two sizes"):
            seats(twice)
    assert seats("1:10G,01:10G") == [("1",), ("1",)]


@pytest.mark.usefixtures("machine")
def test_a_preferred_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="GPU-zzzz is not one of the GPUs here: 0"):
        offer_of(["0"], None, 1, with_cpu_slots=False, policy=Policy(prefer=("GPU-zzzz",)))


@pytest.mark.usefixtures("machine")
def test_what_does_not_name_a_gpu_is_quoted_as_it_was_written() -> None:
    for written in ("x007", "GPU-", "٣"):
        with pytest.raises(UsageError, match=f"'{written}' does not name GPUs"):
            seats(written)


@pytest.mark.usefixtures("machine")
def test_instances_keep_their_uuids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discover, "NvmlSource", lambda: DividedSource(2))
    assert seats("MIG-dddd", "1") == [(INSTANCES[0],), ("1",)]
    assert seats() == [(INSTANCES[0],), (INSTANCES[1],), ("1",)]


@pytest.mark.usefixtures("machine")
def test_without_a_library_a_uuid_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discover, "NvmlSource", lambda: FakeSource(0))
    assert seats("GPU-zzzz") == [("GPU-zzzz",)]
    assert seats("00+GPU-007,01") == [("0", "GPU-007"), ("1",)]


@pytest.mark.usefixtures("machine")
def test_slots_alone_are_just_those() -> None:
    assert seats(slots=3) == [("cpu0",), ("cpu1",), ("cpu2",)]
    assert seats(slots=3, with_cpu_slots=True) == [("cpu0",), ("cpu1",), ("cpu2",)]


@pytest.mark.usefixtures("machine")
def test_gpus_and_slots_are_both() -> None:
    assert seats("1", slots=1) == [("1",), ("cpu0",)]


@pytest.mark.usefixtures("machine")
def test_cpu_slots_of_two_options_are_not_the_same() -> None:
    assert seats("", "0", slots=2) == [("cpu0",), ("0",), ("cpu1",), ("cpu2",)]
    assert seats("0", "", with_cpu_slots=True) == [("0",), ("cpu0",), ("cpu1",), ("cpu2",)]


@pytest.mark.usefixtures("machine")
def test_only_the_slots_that_the_daemon_has_beside_its_gpus_are_for_jobs_without_a_gpu_alone() -> None:
    def side(gpus: list[str] | None, slots: int | None, with_cpu_slots: bool) -> list[bool]:
        return [seat.side for seat in offer_of(gpus, slots, 1, with_cpu_slots=with_cpu_slots).seats]

    assert side(["0", ""], 1, with_cpu_slots=True) == [False, False, True]
    assert side(None, None, with_cpu_slots=True) == [False, False, False, True, True]
    assert side(["0", ""], 1, with_cpu_slots=False) == [False, False, False]
    assert side(None, 2, with_cpu_slots=True) == [False, False]


@pytest.mark.usefixtures("machine")
def test_jobs_share_the_gpus_that_were_found() -> None:
    shares = {seat.holds[0][1] for seat in offer_of(None, None, 2, with_cpu_slots=False).seats}
    assert shares == {WHOLE // 2}


@pytest.mark.usefixtures("machine")
def test_an_inherited_cuda_visible_devices_limits_what_is_given_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,0")
    assert seats() == [("2",), ("0",)]
    assert seats("all") == [("2",), ("0",)]


@pytest.mark.usefixtures("machine")
def test_without_gpus_there_is_a_slot_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discover, "NvmlSource", lambda: FakeSource(0))
    assert seats() == [("cpu0",), ("cpu1",)]
    assert seats(with_cpu_slots=True) == [("cpu0",), ("cpu1",)]
    with pytest.raises(UsageError, match="no GPU was found"):
        seats("all")


@pytest.mark.usefixtures("machine")
def test_an_empty_cuda_visible_devices_means_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert seats() == [("cpu0",), ("cpu1",)]


@pytest.mark.usefixtures("machine")
def test_what_the_user_says_of_a_gpu_counts_more_than_its_library() -> None:
    offer = offer_of(["0:10G,1"], None, None, with_cpu_slots=False, by_memory=True)
    assert [seat.devices for seat in offer.seats] == [("0",), ("1",)]
    assert (offer.machine.total_mb["0"], offer.machine.total_mb["1"]) == (10_240, 24_000)


@pytest.mark.usefixtures("machine")
def test_named_gpus_that_no_library_knows_have_the_memory_that_is_said() -> None:
    offer = offer_of(["7:24G,8"], None, 1, with_cpu_slots=False)
    assert dict(offer.machine.total_mb) == {"7": 24_576}


@pytest.mark.usefixtures("machine")
def test_by_memory_a_number_of_jobs_is_a_limit_and_makes_no_slots() -> None:
    slots = offer_of(None, None, 2, with_cpu_slots=False)
    shared = offer_of(None, None, 2, with_cpu_slots=False, by_memory=True)
    assert (len(slots.seats), slots.machine.policy.jobs_per_gpu) == (6, None)
    assert (len(shared.seats), shared.machine.policy.jobs_per_gpu) == (3, 2)


@pytest.mark.usefixtures("machine")
def test_the_machine_has_its_cores_and_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discover, "memory_mb", lambda: 64_000)
    for offer in (
        offer_of(None, None, None, with_cpu_slots=True),
        offer_of(None, 3, None, with_cpu_slots=False),
        offer_of(["0"], None, None, with_cpu_slots=False, policy=Policy(max_gpus=1)),
    ):
        assert (offer.machine.cpus, offer.machine.mem_mb) == (2, 64_000)
    assert offer.machine.policy.max_gpus == 1


def test_only_the_cores_that_we_may_use_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5})
    assert cores() == 3


# -- NVML -----------------------------------------------------------------------------------------------------------


class NVMLError(Exception):
    pass


class FakeNvml(ModuleType):
    """The parts of `pynvml` that are asked; what a test names in `silent` fails."""

    NVMLError = NVMLError

    def __init__(self, *silent: str) -> None:
        super().__init__("pynvml")
        self.shut_down = 0
        self._silent = silent

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("nvml") and name in self._silent:
            return self._fail
        return super().__getattribute__(name)

    def _fail(self, *_: object) -> None:
        raise NVMLError("not supported")

    def nvmlInit(self) -> None: ...

    def nvmlShutdown(self) -> None:
        self.shut_down += 1

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetMigMode(self, handle: int) -> list[int]:
        raise NVMLError("not supported")

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        class Memory:
            total = (24 + handle) << 30
            free, used = total, 0

        return Memory

    def nvmlDeviceGetName(self, handle: int) -> bytes:  # older releases answer in bytes
        return b"NVIDIA Fake %d" % handle

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return UUIDS[handle]


def devices_of(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> list[Gpu]:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setattr("duckrow.devices.nvml._has_library", lambda: True)
    return NvmlSource().devices()


def test_gpus_are_described_by_their_library(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = FakeNvml()
    assert devices_of(nvml, monkeypatch) == [
        Gpu("0", "NVIDIA Fake 0", UUIDS[0], 24 << 10),
        Gpu("1", "NVIDIA Fake 1", UUIDS[1], 25 << 10),
    ]
    assert nvml.shut_down == 1


@pytest.mark.parametrize("silent", ["nvmlInit", "nvmlDeviceGetCount"])
def test_without_a_driver_there_are_no_gpus_and_no_complaint(monkeypatch: pytest.MonkeyPatch, silent: str) -> None:
    assert devices_of(FakeNvml(silent), monkeypatch) == []


def test_without_the_library_there_are_no_gpus_and_no_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr("duckrow.devices.nvml._has_library", lambda: True)
    assert NvmlSource().devices() == []


@pytest.mark.parametrize(
    ("silent", "device"),
    [
        ("nvmlDeviceGetMemoryInfo", Gpu("0", "NVIDIA Fake 0", UUIDS[0], None)),
        ("nvmlDeviceGetName", Gpu("0", "", UUIDS[0], 24 << 10)),
        ("nvmlDeviceGetUUID", Gpu("0", "NVIDIA Fake 0", "", 24 << 10)),
    ],
)
def test_a_gpu_that_does_not_tell_all_is_there_all_the_same(
    monkeypatch: pytest.MonkeyPatch, silent: str, device: Gpu
) -> None:
    devices = devices_of(FakeNvml(silent), monkeypatch)
    assert devices[0] == device
    assert len(devices) == 2
