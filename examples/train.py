"""A training that takes a second, needs no GPU and no library, and diverges if the learning rate is too high."""

import argparse
import json
import os
import sys
import time


def report(**metrics: float) -> None:
    """A line of JSON for `duckrow results`, without importing anything; where duckrow is not, nothing."""
    path = os.environ.get("DUCKROW_METRICS")
    if path:
        with open(path, "a") as file:
            file.write(json.dumps(metrics) + "\n")


parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--epochs", type=int, default=5)
arguments = parser.parse_args()

print(f"training on GPU {os.environ.get('CUDA_VISIBLE_DEVICES', '-')}", flush=True)
weight = 5.0
for epoch in range(1, arguments.epochs + 1):
    time.sleep(0.1 + 3.2 / arguments.batch)
    weight -= arguments.lr * 2 * weight
    print(f"epoch {epoch}: loss {weight**2:.4f}", flush=True)
    report(loss=weight**2, epoch=epoch)
    if abs(weight) > 1000:
        sys.exit(f"ValueError: the loss exploded in epoch {epoch}: try a lower --lr than {arguments.lr:g}")
