from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.scheduler.reactor import EpollReactor
from tests.engines.starters.host import StarterHost


@pytest.fixture
def host(tmp_path: Path, reactor: EpollReactor) -> Iterator[StarterHost]:
    host = StarterHost(tmp_path, reactor)
    yield host
    host.close()
