"""The library of the fake GPUs, for tests that cannot do without. Not in `plugin.py`, which pytest must load first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fake_nvml import NoCompiler, shared_object


def library_or_skip() -> Path:
    """A laptop need not have a C compiler; CI must."""
    try:
        return shared_object()
    except NoCompiler as error:
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(str(error))
        pytest.skip(str(error))
