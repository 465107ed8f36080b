"""GPU Task Scheduler's classes on duckrow."""

from __future__ import annotations

from duckrow.dropin.gpu_task_scheduler.config_manager import ConfigManager
from duckrow.dropin.gpu_task_scheduler.gpu_task import GPUTask
from duckrow.dropin.gpu_task_scheduler.gpu_task_scheduler import GPUTaskScheduler

__all__ = ["ConfigManager", "GPUTask", "GPUTaskScheduler"]
