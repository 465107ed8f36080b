"""One name for each GPU, however a person has written it: `0`, `00`, its UUID, or the beginning of its UUID.

Bookings use this name, so a GPU that is written in two ways is never given out twice. Whole GPUs are known by their
numbers, which is what frameworks understand; instances of a divided one by their UUIDs, which is what CUDA understands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from duckrow.core.devices.device import GPU_NAME, GPU_UUID
from duckrow.core.errors import UsageError
from duckrow.core.late_pattern import late_pattern
from duckrow.core.ports import Gpu

_UUID = late_pattern(GPU_UUID)
_NAME = late_pattern(GPU_NAME)


def any_uuid(texts: Iterable[str]) -> bool:
    """Whether only the library can tell which GPU is meant."""
    return any(_UUID.search(text) for text in texts)


def plain_name(written: str) -> str:
    """As far as possible without the library: `00` is `0`."""
    return written.lstrip("0") or "0" if re.fullmatch("[0-9]+", written) else written


def called(written: str, devices: Iterable[Gpu]) -> list[Gpu]:
    """The devices that CUDA means: by number, by UUID, or by the beginning of a UUID.

    The number or the UUID of a GPU that is divided stands for its first instance.
    """
    devices = list(devices)
    whole = [device for device in devices if _means(written, device.name) or _means(written, device.uuid)]
    return whole or [device for device in devices if any(_means(written, gpu) for gpu in device.part_of)][:1]


def _means(written: str, other: str) -> bool:
    return other.startswith(written) if _UUID.fullmatch(written) else other == plain_name(written)


def name_of(written: str, devices: Sequence[Gpu]) -> str:
    """The name of the GPU that is meant. Without `devices` (there is no library to ask), a UUID stays as it is."""
    if not devices or not _UUID.fullmatch(written):
        return plain_name(written)
    meant = called(written, devices)
    if len(meant) == 1:
        return meant[0].name
    there = ", ".join(f"{device.name} ({device.uuid})" for device in meant or devices)
    what = "names several GPUs" if meant else "is not one of the GPUs here"
    raise UsageError(f"{written} {what}: {there}.")


def written_names(text: str, devices: Sequence[Gpu]) -> dict[str, str]:
    """The name of each GPU, and how it was written."""
    return {name_of(match[0], devices): match[0] for match in _NAME.finditer(text)}


def with_names(text: str, devices: Sequence[Gpu]) -> str:
    """`GPU-8f2a+01,2`: the same text with the names of the GPUs."""
    return _NAME.sub(lambda match: name_of(match[0], devices), text)
