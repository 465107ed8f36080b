"""How CUDA numbers the GPUs for a user's programs.

duckrow numbers GPUs by the bus, as nvidia-smi does, and jobs get `CUDA_DEVICE_ORDER=PCI_BUS_ID`. Without that variable
CUDA calls the fastest GPU number 0. With GPUs of one model this makes no difference; otherwise only CUDA can tell.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from duckrow.core.ports import Gpu

VARIABLE = "CUDA_DEVICE_ORDER"
BY_BUS = "PCI_BUS_ID"
_ANSWER_S = 30.0
_QUESTION = """
import ctypes, uuid
cuda = ctypes.CDLL("libcuda.so.1")
count, device, name = ctypes.c_int(), ctypes.c_int(), (ctypes.c_ubyte * 16)()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0
for number in range(count.value):
    assert cuda.cuDeviceGet(ctypes.byref(device), number) == 0
    assert cuda.cuDeviceGetUuid(name, device) == 0
    print("GPU-" + str(uuid.UUID(bytes=bytes(name))))
"""


def may_differ(devices: list[Gpu], environment: Mapping[str, str]) -> bool:
    """Whether CUDA may number these GPUs, which are in bus order, differently."""
    if environment.get(VARIABLE) == BY_BUS or any(device.part_of for device in devices):
        return False  # for divided GPUs, only names tell which is which
    return len({device.model for device in devices}) > 1


def as_cuda_numbers(devices: list[Gpu], environment: Mapping[str, str]) -> list[Gpu] | None:
    """These GPUs, with number 0 of the user's programs first; None: CUDA does not say."""
    if not may_differ(devices, environment):
        return devices
    by_uuid = {device.uuid: device for device in devices}
    told = _ask_cuda(environment)
    return [by_uuid[uuid] for uuid in told] if sorted(told) == sorted(by_uuid) else None


def _ask_cuda(environment: Mapping[str, str]) -> list[str]:
    """In a process of its own: CUDA reads its variables once, and does not survive a fork."""
    import subprocess  # few machines have GPUs of several models

    whole = {**os.environ, **environment}
    whole.pop("CUDA_VISIBLE_DEVICES", None)
    words = [sys.executable, "-IS", "-c", _QUESTION]
    try:
        done = subprocess.run(words, env=whole, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ANSWER_S)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.decode(errors="replace").split() if done.returncode == 0 else []


# -- what people are told ---------------------------------------------------------------------------------------------


def overridden(devices: list[Gpu], environment: Mapping[str, str]) -> str:
    """Says that a choice of the user does not apply to jobs; empty if it makes no difference."""
    chosen = environment.get(VARIABLE)
    if not chosen or not may_differ(devices, environment):
        return ""
    return f"{VARIABLE}={chosen} does not apply to jobs: they get {BY_BUS}, so that GPU 0 is GPU 0 of nvidia-smi."


def not_told(visible: str) -> str:
    return (
        f"CUDA_VISIBLE_DEVICES={visible} was read in the order of nvidia-smi: your GPUs differ, and CUDA does not say"
        f" which it calls 0. If it is another one, name them: --devices, or {VARIABLE}={BY_BUS}."
    )
