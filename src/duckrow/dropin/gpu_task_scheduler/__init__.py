"""GPU Task Scheduler's classes on duckrow."""

from __future__ import annotations

TYPE_CHECKING = False  # that of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from duckrow.dropin.gpu_task_scheduler.config_manager import ConfigManager
    from duckrow.dropin.gpu_task_scheduler.gpu_task import GPUTask
    from duckrow.dropin.gpu_task_scheduler.gpu_task_scheduler import GPUTaskScheduler

__all__ = ["ConfigManager", "GPUTask", "GPUTaskScheduler"]

# Where each name is. The process of a task needs one of them, and should not load the others.
_HOMES = {"ConfigManager": "config_manager", "GPUTask": "gpu_task", "GPUTaskScheduler": "gpu_task_scheduler"}

if not TYPE_CHECKING:  # it would tell a type checker that every name exists

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        from importlib import import_module

        found = globals()[name] = getattr(import_module(f"duckrow.dropin.gpu_task_scheduler.{_HOMES[name]}"), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
