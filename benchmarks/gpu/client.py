"""A small client of a GPU: takes so much memory, keeps the GPU a little busy, and goes when a file appears."""

from __future__ import annotations

import argparse
import os
import time


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mb", type=int, default=8)
    parser.add_argument("--until", required=True, metavar="FILE")
    parser.add_argument("--at-most", type=float, default=150.0, metavar="SECONDS")
    options = parser.parse_args()
    import torch

    held = torch.empty(options.mb << 20, dtype=torch.uint8, device="cuda")
    x = torch.randn(256, 256, device="cuda")
    end = time.monotonic() + options.at_most
    while not os.path.exists(options.until):
        if time.monotonic() > end:
            raise SystemExit(f"{options.until} did not appear")
        x = torch.nn.functional.normalize(x @ x)
        torch.cuda.synchronize()
        time.sleep(0.02)
    print(f"{held.numel() >> 20} MB, {'with' if os.environ.get('CUDA_MPS_PIPE_DIRECTORY') else 'without'} MPS")


if __name__ == "__main__":
    main()
