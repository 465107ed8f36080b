"""A pilot that takes what it can, and may be killed in between: `python racing_pilot.py BATCH NAME [RUNS]`."""

from __future__ import annotations

import os
import signal
import sys

from duckrow.clusters.batch import Batch
from duckrow.clusters.claims import Claims, Taker
from duckrow.clusters.pilots import PilotFolder


def work(folder: str, name: str, dies_after: int | None) -> None:
    batch = Batch(folder)
    us = PilotFolder(batch, name)
    us.renew({})
    claims = Claims(batch)
    taker = Taker(claims, us.card)
    steps = 0
    while (found := taker.next()) is not None:
        with open(f"{folder}/ran", "a") as file:
            file.write(f"{found[0]}\n")
        steps += 1
        if steps == dies_after:
            os.kill(os.getpid(), signal.SIGKILL)
        claims.finish(*found, {"outcome": "succeeded", "pilot": name})
    us.end("done")


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2], int(sys.argv[3]) if sys.argv[3:] else None)
