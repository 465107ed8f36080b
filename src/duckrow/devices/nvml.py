"""NVIDIA's GPUs, through NVML."""

from __future__ import annotations

import ctypes
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from duckrow.core.ports import Gpu, ProcessUse, Reading
from duckrow.devices.nvml_health import NvmlHealth

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

# More than any GPU has today: a driver that reports more is wrong.
_MOST_MB = 16 << 20


class NvmlSource:
    """Without a driver, library or GPU there are no devices, and no error.

    Opening the library takes 14 ms on an H200, and reading a GPU a fraction of that. So it stays open between readings
    until it is asked to rest, or a GPU reports less than it should: after a reset, only loading it again helps.
    """

    def __init__(self) -> None:
        self._opened = ExitStack()
        self._nvml: Any = None
        self._handles: dict[str, Any] = {}
        self._health: NvmlHealth | None = None

    def is_there(self) -> bool:
        """Also True if it fails: False only if this machine has no library or no driver."""
        if not _has_library():
            return False
        try:
            import pynvml

            _begin(pynvml)
        except ImportError:
            return False
        except pynvml.NVMLError as error:
            return error.value not in (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, pynvml.NVML_ERROR_DRIVER_NOT_LOADED)
        pynvml.nvmlShutdown()
        return True

    def devices(self) -> list[Gpu]:
        with _opened() as nvml:
            return [] if nvml is None else [device for device, _ in _all_devices(nvml)]

    def read(self, names: Sequence[str]) -> list[Reading]:
        if self._nvml is None:
            self._open()
        readings = [self._read(name) for name in names]
        if self._health is not None:
            readings = self._health.with_xids(readings)
        if any(reading.problem for reading in readings):
            self.rest()
        return readings

    def rest(self) -> None:
        if self._health is not None:
            self._health.close()
        self._opened.close()
        self._nvml, self._handles, self._health = None, {}, None

    def _open(self) -> None:
        self._nvml = self._opened.enter_context(_opened())
        found = [] if self._nvml is None else _all_devices(self._nvml)
        self._handles = {name: handle for device, handle in found for name in (device.uuid, device.name)}
        self._health = None if self._nvml is None else NvmlHealth(self._nvml, found)

    def _read(self, name: str) -> Reading:
        if self._nvml is None or self._health is None:
            return _silent(name, "the driver does not answer")
        if name not in self._handles:
            return _silent(name, "it does not answer")._replace(health=self._health.without_handle(name))
        reading = _reading(self._nvml, name, self._handles[name])
        return reading._replace(health=self._health.of(name))


def _has_library() -> bool:
    """Whether there is a driver's library to load. Importing pynvml to find out would take 15 ms."""
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False
    return True


@contextmanager
def _opened() -> Iterator[Any]:
    """The library, ready for questions; None if there is none."""
    if not _has_library():
        yield None
        return
    try:
        import pynvml
    except ImportError:
        yield None
        return
    try:
        _begin(pynvml)
    except pynvml.NVMLError:
        yield None
        return
    try:
        yield pynvml
    finally:
        try:
            pynvml.nvmlShutdown()
        except pynvml.NVMLError:
            pass  # the driver went away meanwhile


def _begin(nvml: Any) -> None:
    """The library starts a thread that remains when it is closed. It must not take signals that others wait for."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        nvml.nvmlInit()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _all_devices(nvml: Any) -> list[tuple[Gpu, Any]]:
    """The GPUs, each with its handle; for a divided one, its instances."""
    found: list[tuple[Gpu, Any]] = []
    for index in range(_ask(nvml, nvml.nvmlDeviceGetCount) or 0):
        handle = _ask(nvml, nvml.nvmlDeviceGetHandleByIndex, index)
        if handle is None:
            continue  # fallen off the bus
        instances = _instances(nvml, str(index), handle)
        found += instances or [(_device(nvml, str(index), handle), handle)]
    return found


def _instances(nvml: Any, gpu: str, handle: Any) -> list[tuple[Gpu, Any]]:
    """Those of a GPU in MIG mode. CUDA knows them only by their UUIDs."""
    mode = _ask(nvml, nvml.nvmlDeviceGetMigMode, handle)
    if not mode or mode[0] != 1:
        return []
    found = []
    whole = (gpu, _text(_ask(nvml, nvml.nvmlDeviceGetUUID, handle)))
    for number in range(_ask(nvml, nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0):
        instance = _ask(nvml, nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, number)
        uuid = None if instance is None else _text(_ask(nvml, nvml.nvmlDeviceGetUUID, instance))
        if uuid:
            found.append((_device(nvml, uuid, instance)._replace(part_of=whole), instance))
    return found


def _device(nvml: Any, name: str, handle: Any) -> Gpu:
    """What a GPU does not report stays empty."""
    total_mb, _ = _memory(nvml, handle)
    model = _text(_ask(nvml, nvml.nvmlDeviceGetName, handle))
    return Gpu(name, model, _text(_ask(nvml, nvml.nvmlDeviceGetUUID, handle)), total_mb)


def _reading(nvml: Any, name: str, handle: Any) -> Reading:
    total_mb, free_mb = _memory(nvml, handle)
    busy = _ask(nvml, nvml.nvmlDeviceGetUtilizationRates, handle)
    problem = "" if free_mb is not None else "it does not report its memory"
    return Reading(
        device=name,
        at=time.time(),
        mono=time.monotonic(),
        total_mb=total_mb,
        free_mb=free_mb,
        utilization=int(busy.gpu) if busy is not None and 0 <= busy.gpu <= 100 else None,
        temperature=_ask(nvml, nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
        processes=_processes(nvml, handle),
        problem=problem,
    )


def _memory(nvml: Any, handle: Any) -> tuple[int | None, int | None]:
    """(total, free) in MB; impossible figures count as unknown."""
    memory = _ask(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    if memory is None:
        return None, None
    total, free, used = (int(value) >> 20 for value in (memory.total, memory.free, memory.used))
    if not 0 < total <= _MOST_MB:
        return None, None
    makes_sense = 0 <= free <= total and 0 <= used <= total
    return total, free if makes_sense else None


def _processes(nvml: Any, handle: Any) -> tuple[ProcessUse, ...] | None:
    """The processes that compute or draw there; None if the driver does not say."""
    found: dict[int, int | None] = {}
    told = False
    for question in ("Compute", "Graphics", "MPSCompute"):
        ask = getattr(nvml, f"nvmlDeviceGet{question}RunningProcesses", None)
        listed = None if ask is None else _ask(nvml, ask, handle)
        told = told or listed is not None
        for process in listed or ():
            mb = None if process.usedGpuMemory is None else int(process.usedGpuMemory) >> 20
            if mb is not None and mb > _MOST_MB:
                mb = None  # "not available" as a number
            found[process.pid] = max(mb, found.get(process.pid) or 0) if mb is not None else found.get(process.pid)
    return tuple(ProcessUse(pid, mb) for pid, mb in found.items()) if told else None


def _silent(name: str, problem: str) -> Reading:
    return Reading(name, time.time(), time.monotonic(), None, None, None, None, None, problem)


def _ask(nvml: Any, question: Any, *about: Any) -> Any:
    try:
        return question(*about)
    except (nvml.NVMLError, UnicodeDecodeError):  # a name that is not text
        return None


def _text(value: str | bytes | None) -> str:
    if value is None:
        return ""
    return value.decode(errors="replace") if isinstance(value, bytes) else value
