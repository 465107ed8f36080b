from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """It runs until its input ends."""
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    yield process
    process.communicate()
