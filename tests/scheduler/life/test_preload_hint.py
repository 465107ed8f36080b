"""Preloading is suggested where imports take much of each run: one line, once."""

from __future__ import annotations

import pytest

from duckrow.core.devices.needs import Needs
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import gpus, succeeds


@pytest.mark.parametrize(
    ("imports_s", "preload", "lines"),
    [(5.0, None, 1), (1.0, None, 0), (5.0, "torch", 0)],
    ids=["much of it", "little", "preloaded"],
)
def test_it_is_suggested_once(make_queue: MakeQueue, imports_s: float, preload: str | None, lines: int) -> None:
    queue = make_queue(*gpus("24G"))
    does = succeeds(after_s=15, gpu_mb=((imports_s, 1000),))
    for _ in range(8):
        queue.add(does, gpus=1, needs=Needs(gpu_mem_mb=2000, recipe="/code/train.py"), preload=preload)
    queue.passes(100)
    told = [sentence for sentence in queue.told.sentences if "--preload auto" in sentence]
    assert len(told) == lines
    assert all("train.py" in sentence for sentence in told)
