"""Separate random numbers for each forked process: otherwise all children of one parent would have the same.

A generator that was seeded on purpose stays as it is, as in a new process. This runs under the Python of the jobs, so
it can use only the standard library.
"""

from __future__ import annotations

import gc
import random
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_SEEDS_OF_PEOPLE = 1 << 64  # numpy draws 128 bits if nobody gives a seed

_of_python: weakref.WeakSet[random.Random] = weakref.WeakSet()
_of_numpy: list[Any] = []


@contextmanager
def noting_generators() -> Iterator[None]:
    """Note the generators that libraries make for themselves, without a seed, while they are imported."""
    seed = random.Random.seed

    def seed_and_note(self: random.Random, a: Any = None, *more: Any, **named: Any) -> None:
        seed(self, a, *more, **named)
        if a is None:
            _of_python.add(self)
        else:
            _of_python.discard(self)

    random.Random.seed = seed_and_note  # type: ignore[method-assign]
    try:
        yield
    finally:
        random.Random.seed = seed  # type: ignore[method-assign]
    _of_numpy.extend(_unseeded_of_numpy())


def _unseeded_of_numpy() -> Iterator[Any]:
    numpy_random: Any = sys.modules.get("numpy.random")
    kinds = tuple(getattr(numpy_random, name) for name in ("Generator", "RandomState") if hasattr(numpy_random, name))
    for found in gc.get_objects() if kinds else ():
        if type(found) in kinds and found is not getattr(numpy_random.mtrand, "_rand", None):
            bits = _bits_of(found)
            seed = getattr(bits, "seed_seq", None) or getattr(bits, "_seed_seq", None)
            entropy = getattr(seed, "entropy", None)
            if isinstance(entropy, int) and entropy >= _SEEDS_OF_PEOPLE:
                yield found


def _bits_of(generator: Any) -> Any:
    return getattr(generator, "bit_generator", None) or getattr(generator, "_bit_generator", None)


def make_random() -> None:
    """In a forked process. Python's own generator (`random.random`) is seeded again by every fork."""
    for generator in _of_python:
        generator.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    for generator in _of_numpy:
        bits = _bits_of(generator)
        bits.state = type(bits)().state
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "default_generator"):  # those of GPUs are created and seeded when a process first uses a GPU
        torch.default_generator.seed()
    _forget_last_uuid()


def _forget_last_uuid() -> None:
    """`uuid1` counts from the last one, and on a machine without an address from a number that is drawn once."""
    uuid = sys.modules.get("uuid")
    for name in ("_node", "_last_timestamp", "_last_timestamp_v6", "_last_timestamp_v7"):
        if hasattr(uuid, name):
            setattr(uuid, name, None)
