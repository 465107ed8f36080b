"""NVIDIA's GPUs, through NVML."""

from __future__ import annotations

from typing import Any

from duckrow.core.ports import Device


class NvmlSource:
    """No driver, no library, no GPU: no devices, and no complaint."""

    def devices(self) -> list[Device]:
        try:
            import pynvml
        except ImportError:
            return []
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError:
            return []
        try:
            found = [_device(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount())]
            return [device for device in found if device is not None]
        except pynvml.NVMLError:
            return []
        finally:
            pynvml.nvmlShutdown()


def _device(nvml: Any, index: int) -> Device | None:
    """What a GPU does not tell is left open; one that does not even answer (fallen off the bus) is left out."""

    def ask(question: Any, *about: Any) -> Any:
        try:
            return question(*about)
        except nvml.NVMLError:
            return None

    handle = ask(nvml.nvmlDeviceGetHandleByIndex, index)
    if handle is None:
        return None
    memory = ask(nvml.nvmlDeviceGetMemoryInfo, handle)
    return Device(
        name=str(index),
        model=_text(ask(nvml.nvmlDeviceGetName, handle)),
        uuid=_text(ask(nvml.nvmlDeviceGetUUID, handle)),
        memory_mb=None if memory is None else int(memory.total) >> 20,
    )


def _text(value: str | bytes | None) -> str:
    if value is None:
        return ""
    return value.decode() if isinstance(value, bytes) else value
