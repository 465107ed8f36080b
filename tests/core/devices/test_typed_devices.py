"""What was typed about GPUs is among those there are, and of known size; otherwise a sentence says what to type."""

from __future__ import annotations

import pytest

from duckrow.core.devices.inventory import cpu_seats, parse_gpus
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.policy import KNOBS, Policy
from duckrow.core.devices.typed_devices import left_out_by_size, missing_gpus, preferred_elsewhere, without_meaning


@pytest.mark.parametrize(
    ("devices", "prefer", "sentence"),
    [
        ("0,1", ("1",), None),
        ("0,1", (), None),
        ("0,1,2", ("7", "1"), "--prefer 7: not among the GPUs to use, which are 0-2."),
        ("0,3", ("7", "6"), "--prefer 7,6: not among the GPUs to use, which are 0,3."),
    ],
)
def test_preferred_gpus_are_among_those_to_use(devices: str, prefer: tuple[str, ...], sentence: str | None) -> None:
    assert preferred_elsewhere(parse_gpus([devices]), Machine(policy=Policy(prefer=prefer))) == sentence


def test_without_gpus_there_is_nothing_to_prefer() -> None:
    assert preferred_elsewhere(cpu_seats(2), Machine()) is None
    said = preferred_elsewhere(cpu_seats(2), Machine(policy=Policy(prefer=("7",))))
    assert said == "--prefer 7: there is no GPU here. Omit it, or name GPUs: --devices 0,1."


def test_without_gpus_the_options_about_them_are_named() -> None:
    knobs = dict.fromkeys([knob.option for knob in KNOBS.values()])
    assert without_meaning({**knobs, "share_gpus": True}, None, packs=False) is None
    assert (
        without_meaning({**knobs, "mps": "on"}, None, packs=False) == "there is no GPU here, so --mps changes nothing."
    )
    said = without_meaning({**knobs, "max_gpus": 1}, 2, packs=True)
    assert said == "there is no GPU here, so --max-gpus and --jobs-per-gpu and --pack change nothing."


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        ({"0": 24576, "1": 24576, "2": 24576}, None),
        ({}, None),  # then no job can start at all, which is said elsewhere
        ({"9": 24576}, None),
        ({"0": 24576, "2": 49152}, "The memory of GPU 1 is unknown. Give its size: --devices 0:24G,1:24G,2:48G."),
        ({"2": 49152}, "The memory of GPUs 0-1 is unknown. Give their sizes: --devices 0:24G,1:24G,2:48G."),
    ],
)
def test_a_gpu_of_unknown_size_beside_others_is_told(sizes: dict[str, int], sentence: str | None) -> None:
    assert left_out_by_size(parse_gpus(["0,1,2"]), Machine(total_mb=sizes)) == sentence


def test_a_cpu_slot_needs_no_size() -> None:
    seats = parse_gpus(["0"]) + cpu_seats(1)
    assert left_out_by_size(seats, Machine(total_mb={"0": 24576})) is None


@pytest.mark.parametrize(
    ("gpus", "listed", "sentence"),
    [
        (["0", "1"], ["0", "1", "2"], None),
        (["0", "1"], [], None),  # nobody has asked the driver, or there is none
        (["0", "1"], ["0"], "the driver lists no GPU 1, only GPU 0"),
        (["5", "6", "7"], ["0", "1", "2", "3", "5"], "the driver lists no GPU 6-7, only GPUs 0-3,5"),
    ],
)
def test_gpus_that_the_driver_does_not_list_are_named(gpus: list[str], listed: list[str], sentence: str | None) -> None:
    assert missing_gpus(gpus, Machine(models=dict.fromkeys(listed, "H200"))) == sentence
