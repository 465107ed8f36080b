"""A small training: a multilayer perceptron that uses a fraction of a large GPU, as most runs of a sweep do."""

from __future__ import annotations

import argparse
import time


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=7000)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--grow-mb", type=int, default=0, help="take so much memory besides")
    options = parser.parse_args()
    import torch

    torch.manual_seed(options.seed)
    device = torch.device("cuda")
    extra = torch.empty(options.grow_mb << 20, dtype=torch.uint8, device=device) if options.grow_mb else None
    layers: list[torch.nn.Module] = []
    for _ in range(6):
        layers += [torch.nn.Linear(options.width, options.width), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(options.width, 10)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x = torch.randn(options.batch, options.width, device=device)
    y = torch.randint(0, 10, (options.batch,), device=device)
    began = time.time()
    for _ in range(options.steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_reserved() >> 20
    print(f"loss {loss.item():.4f}, {time.time() - began:.1f} s, {peak} MB, {0 if extra is None else 1}")


if __name__ == "__main__":
    main()
