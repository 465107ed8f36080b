"""What NVML reports about faults: memory errors, Xids, GPUs that must be reset or have fallen off the bus."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from duckrow.core.devices.device import Device
from duckrow.core.ports import Gpu, Health, Reading

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

_MOST_EVENTS = 1000  # at one reading: a driver that never stops must not block us

_RESET, _RESTART = "it must be reset (nvidia-smi --gpu-reset)", "the machine must be restarted"
# By the number of NVML's recovery action. With those left out, new programs can still use the GPU.
_CURES = {1: _RESET, 2: _RESTART, 4: _RESET, 6: _RESET, 7: _RESTART}


class NvmlHealth:
    """Health while NVML is open. What happened before is known only as far as the GPU counts it."""

    def __init__(self, nvml: Any, found: Sequence[tuple[Gpu, Any]]) -> None:
        self._nvml = nvml
        self._gpus: dict[str, Any] = {}  # name -> the GPU; for an instance, the GPU that it is part of
        for device, handle in found:
            gpu = self._whole(device, handle)
            if gpu is not None:
                self._gpus |= dict.fromkeys((device.name, device.uuid), gpu)
        self._events = self._listen()

    def _whole(self, device: Gpu, handle: Any) -> Any:
        if not device.part_of:
            return handle
        return self._ask(self._nvml.nvmlDeviceGetHandleByIndex, int(device.part_of[0]))[0]

    def _listen(self) -> Any:
        """Register for events: NVML reports only what happens afterwards."""
        events, _ = self._ask(self._nvml.nvmlEventSetCreate)
        if events is not None:
            for gpu in {_address(gpu): gpu for gpu in self._gpus.values()}.values():
                self._ask(self._nvml.nvmlDeviceRegisterEvents, gpu, self._nvml.nvmlEventTypeXidCriticalError, events)
        return events

    def with_xids(self, readings: Sequence[Reading]) -> list[Reading]:
        """With the Xids reported since the last time. This comes last, since NVML may be closed right after."""
        xids: dict[int, tuple[int, ...]] = {}
        for _ in range(_MOST_EVENTS if self._events is not None else 0):
            event, _ = self._ask(self._nvml.nvmlEventSetWait_v2, self._events, 0)
            if event is None:
                break
            xids[_address(event.device)] = (*xids.get(_address(event.device), ()), int(event.eventData))
        return [
            reading._replace(health=reading.health._replace(xids=xids.get(_address(self._gpus[reading.device]), ())))
            if reading.health is not None and reading.device in self._gpus
            else reading
            for reading in readings
        ]

    def of(self, name: str) -> Health:
        gpu = self._gpus.get(name)
        if gpu is None:
            return Health()
        nvml = self._nvml
        count, error = self._ask(
            nvml.nvmlDeviceGetTotalEccErrors, gpu, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
        )
        return self._by_error(error)._replace(uncorrected=count, cure=self._cure(gpu, error))

    def without_handle(self, name: str) -> Health:
        """For a GPU that was not found: it may be lost, or the driver may no longer know it."""
        number = Device(name).gpu_number
        if number is None:
            _, error = self._ask(self._nvml.nvmlDeviceGetHandleByUUID, name.encode())
        else:
            _, error = self._ask(self._nvml.nvmlDeviceGetHandleByIndex, number)
        health = self._by_error(error)
        return health if health.is_lost else health._replace(is_silent=True)

    def close(self) -> None:
        if self._events is not None:
            self._ask(self._nvml.nvmlEventSetFree, self._events)

    def _by_error(self, error: int) -> Health:
        return Health(is_lost=error == self._nvml.NVML_ERROR_GPU_IS_LOST)

    def _cure(self, gpu: Any, error: int) -> str:
        if error == self._nvml.NVML_ERROR_RESET_REQUIRED:
            return _RESET
        field = getattr(self._nvml, "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION", None)
        values, _ = (None, 0) if field is None else self._ask(self._nvml.nvmlDeviceGetFieldValues, gpu, [field])
        return _CURES.get(values[0].value.uiVal, "") if values and values[0].nvmlReturn == 0 else ""

    def _ask(self, question: Any, *about: Any) -> tuple[Any, int]:
        """(answer, error code); after an error the answer is None."""
        try:
            return question(*about), 0
        except self._nvml.NVMLError as error:
            return None, int(error.value)


def _address(handle: Any) -> int:
    return ctypes.cast(handle, ctypes.c_void_p).value or 0
