"""A training of a given shape, with PyTorch: so much work in steps, memory in stairs, a part of the work on a core."""

from __future__ import annotations

import argparse
import time


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=1, help="what decides its memory; by itself it does nothing")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--stairs-mb", required=True, help="memory besides, at even distances of the steps: 500,1000")
    parser.add_argument("--core-s", type=float, default=0.0, help="seconds of work on a core in each step")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--measure", action="store_true", help="print the steps in a second, and nothing else")
    options = parser.parse_args()
    import torch

    torch.manual_seed(options.seed)
    device = torch.device("cuda")
    layers: list[torch.nn.Module] = []
    for _ in range(4):
        layers += [torch.nn.Linear(options.width, options.width), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(options.batch, options.width, device=device)
    stairs = [int(mb) for mb in options.stairs_mb.split(",")]
    taken: list[torch.Tensor] = []
    began = time.time()
    for step in range(options.steps):
        stair = stairs[min(step * len(stairs) // options.steps, len(stairs) - 1)]
        more_mb = stair - sum(block.numel() >> 20 for block in taken)
        if more_mb > 0:
            taken.append(torch.empty(more_mb << 20, dtype=torch.uint8, device=device))
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        until = time.thread_time() + options.core_s
        while time.thread_time() < until:
            pass
    torch.cuda.synchronize()
    lasted_s = time.time() - began
    print(options.steps / lasted_s if options.measure else f"{options.steps} steps in {lasted_s:.1f} s")


if __name__ == "__main__":
    main()
