"""A small training with Hydra, to try the launchers with. It needs hydra-core; with torch it trains on the GPU.

On one machine without duckrow, on one machine with it, and on a cluster:

    python examples/hydra/train.py --multirun model=convnet,transformer +iteration="range(2)"
    python examples/hydra/train.py --multirun model=convnet,transformer +iteration="range(2)" +platform=slurm_debug
    python examples/hydra/train.py --multirun model=convnet,transformer +iteration="range(2)" +platform=horeka
"""

from __future__ import annotations

import logging
import os
import random

import hydra
from omegaconf import DictConfig

import duckrow

log = logging.getLogger(__name__)


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg: DictConfig) -> float:
    iteration = cfg.get("iteration", 0)
    random.seed(iteration)
    log.info("%s, iteration %s, on GPU %s", cfg.model.name, iteration, os.environ.get("CUDA_VISIBLE_DEVICES") or "none")
    loss = 10.0
    for epoch in range(1, cfg.epochs + 1):
        loss = train(cfg.model, loss, cfg.lr)
        duckrow.report(epoch=epoch, loss=loss)  # a column of `duckrow results`
    log.info("loss %.4f", loss)
    return loss


def train(model: DictConfig, loss: float, lr: float) -> float:
    """An epoch: numbers that look like a training, and with torch some work for the GPU."""
    try:
        import torch
    except ImportError:
        pass
    else:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        layer = torch.randn(model.width, model.width, device=device)
        for _ in range(model.layers):
            layer = torch.tanh(layer @ layer)
    return loss * (1 - lr * random.uniform(0.5, 1.0)) + 0.01 * model.layers


if __name__ == "__main__":
    main()
