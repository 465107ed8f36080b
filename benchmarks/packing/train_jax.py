"""The same training with JAX. It takes its memory in one piece: JAX keeps what it has taken."""

from __future__ import annotations

import argparse
import time


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=1)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--stairs-mb", required=True)
    parser.add_argument("--core-s", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    import jax
    import jax.numpy as jnp

    key = jax.random.PRNGKey(options.seed)
    weights = [jax.random.normal(key, (options.width, options.width)) / options.width for _ in range(4)]
    x = jax.random.normal(key, (options.batch, options.width))
    held = jnp.zeros((int(options.stairs_mb.split(",")[-1]) << 20,), dtype=jnp.uint8)

    def loss(weights: list[jax.Array]) -> jax.Array:
        out = x
        for each in weights:
            out = jax.nn.relu(out @ each)
        return jnp.square(out).mean()

    step = jax.jit(lambda weights: [w - 1e-3 * g for w, g in zip(weights, jax.grad(loss)(weights), strict=True)])
    began = time.time()
    for _ in range(options.steps):
        weights = step(weights)
        until = time.thread_time() + options.core_s
        while time.thread_time() < until:
            pass
    jax.block_until_ready(weights)
    print(f"{options.steps} steps in {time.time() - began:.1f} s, {held.size >> 20} MB")


if __name__ == "__main__":
    main()
