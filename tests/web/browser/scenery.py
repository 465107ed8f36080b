"""A queue as on a busy day, for pictures."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tests.conftest import until
from tests.web.browser.live_server import LiveServer


class Scenery(NamedTuple):
    live: int  # a job whose log grows
    waiting: int  # one that waits for memory
    sweep: int


def spread_out(live_server: LiveServer) -> None:
    """Spreads what has just run over the last minutes, so that the timeline shows something."""
    rows = live_server.duckrow.sql("SELECT job_id, ended_at FROM attempts WHERE ended_at IS NOT NULL ORDER BY job_id")
    for place, (job, ended) in enumerate(rows):
        begin = ended - 540 + place * 24
        times = (begin, begin + 20 + place % 5 * 9)
        live_server.duckrow.sql("UPDATE attempts SET started_at = ?, ended_at = ? WHERE job_id = ?", *times, job)


@contextmanager
def busy_day(live_server: LiveServer) -> Iterator[Scenery]:
    live_server.duckrow.sql("DELETE FROM sweeps")
    sweep = live_server.sweep("rates", lr="0.05 0.1 0.2 0.5 10", seed="0..3")
    spread_out(live_server)
    live_server.pretraining(30_000, 83, "40G", name="resnet-large", project="vision")
    live_server.pretraining(46_000, 64, "60G", name="bert-base", project="nlp")
    live_server.pretraining(11_000, 35, "30G", name="vit-small", project="vision")
    live = live_server.running(live_server.training(rate=0.02, steps=5000, pause_s=0.2), name="finetune", project="nlp")
    live_server.done("python train.py 9 1 0", name="too-fast", project="nlp")
    live_server.done("echo all data is there", name="check-data", project="vision")
    waiting = live_server.add(
        *(f"python pretrain.py 60000 90 # fold {n}" for n in range(6)), gpus=2, gpu_mem="60G", name="folds"
    )
    live_server.api("/jobs/actions", {"action": "hold", "ids": waiting[-1:]})
    with subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"]}) as colleague:
        try:
            live_server.gpus.allocate(colleague.pid, 1, 8_000)
            until(
                lambda: any(device["foreign"] for device in live_server.api("/devices")["items"]),
                "the colleague to be seen",
            )
            yield Scenery(live, waiting[0], sweep)
        finally:
            colleague.kill()
