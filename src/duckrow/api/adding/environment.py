"""The environment variables that a job gets from its submitter."""

from __future__ import annotations

import os
from collections.abc import Mapping

# These belong to the submitting process, not to the job.
_LEFT_BEHIND = ("CUDA_VISIBLE_DEVICES", "DUCKROW_TAG", "DUCKROW_JOB_ID", "DUCKROW_ATTEMPT")
_DEVICE_ORDER = "CUDA_DEVICE_ORDER"  # jobs get ours, because devices are booked by it


def inherited_environment(
    changes: Mapping[str, str | None] | None = None, *, with_device_order: bool = False
) -> dict[str, str]:
    """The variables of this process with changes; None removes one."""
    left_behind = _LEFT_BEHIND if with_device_order else (*_LEFT_BEHIND, _DEVICE_ORDER)
    inherited = {name: value for name, value in os.environ.items() if name not in left_behind}
    return {name: value for name, value in {**inherited, **(changes or {})}.items() if value is not None}
