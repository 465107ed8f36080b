"""The variables that a job takes along from whoever submits it."""

from __future__ import annotations

import os
from collections.abc import Mapping

# What belongs to the process that submits, not to the job.
_LEFT_BEHIND = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "DUCKROW_TAG", "DUCKROW_JOB_ID", "DUCKROW_ATTEMPT")


def inherited_environment(changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """The variables here, with changes; one that is None is left behind."""
    inherited = {name: value for name, value in os.environ.items() if name not in _LEFT_BEHIND}
    return {name: value for name, value in {**inherited, **(changes or {})}.items() if value is not None}
