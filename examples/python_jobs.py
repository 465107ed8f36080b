"""Functions as jobs: a learning rate for each, and the best of them. Needs no GPU and no library.

Run it with `python examples/python_jobs.py`. Meanwhile, `duckrow ls` shows the jobs.
"""

import sys
from concurrent.futures import as_completed

import duckrow


def train(lr: float, epochs: int = 20) -> float:
    """A training: the loss, or an error if it diverges."""
    weight = 5.0
    for epoch in range(1, epochs + 1):
        weight -= lr * 2 * weight
        print(f"epoch {epoch}: loss {weight**2:.4f}")
        if abs(weight) > 1000:
            raise ValueError(f"the loss exploded in epoch {epoch}")
    return weight**2


def main() -> None:
    losses = {}
    with duckrow.Executor(project="example") as executor:
        futures = {executor.submit(train, lr): lr for lr in (0.001, 0.01, 0.1, 10.0)}
        for future in as_completed(futures):
            lr = futures[future]
            try:
                losses[lr] = future.result()
            except ValueError as error:
                print(f"lr {lr:g} failed: {error}", file=sys.stderr)
    print(f"best lr: {min(losses, key=losses.__getitem__):g}")


if __name__ == "__main__":
    main()
