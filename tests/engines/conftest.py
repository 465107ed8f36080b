from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from duckrow.scheduler.reactor import EpollReactor


@pytest.fixture
def reactor() -> Iterator[EpollReactor]:
    reactor = EpollReactor()
    yield reactor
    reactor.close()


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """It runs until its input ends."""
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    yield process
    process.communicate()
