"""The memory of the GPUs."""

from __future__ import annotations

import json
import subprocess
import sys

from duckrow.core.devices.device import Device
from duckrow.core.named_tuple import NamedTuple

# In a separate process: a client does not touch a GPU.
_READ = """
import sys
sys.path[:] = {path!r}
import json
from duckrow.devices.discover import find_gpus, source
found = source().read([device.name for device in find_gpus()])
print(json.dumps([(each.device, each.free_mb, each.total_mb, each.at) for each in found]))
"""


class GpuInfo(NamedTuple):
    idx: int | str  # as CUDA_VISIBLE_DEVICES names it: a number, for a MIG instance its UUID
    free_mbs: int
    total_mbs: int
    timestamp: float


def get_memory_gpus(mode: str = "nvidia", most_free_first: bool = True) -> list[GpuInfo]:
    """The GPUs that an inherited CUDA_VISIBLE_DEVICES allows. Memory that cannot be read does not count as free."""
    if mode != "nvidia":
        raise ValueError(f"There is no mode '{mode}', only 'nvidia'.")
    code = _READ.format(path=sys.path)
    done = subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    gpus = [
        GpuInfo(_index(Device(name)), free_mb or 0, total_mb, at)
        for name, free_mb, total_mb, at in json.loads(done.stdout)
        if total_mb is not None
    ]
    return sorted(gpus, key=lambda gpu: -gpu.free_mbs) if most_free_first else gpus


def _index(gpu: Device) -> int | str:
    return str(gpu) if gpu.gpu_number is None else gpu.gpu_number
