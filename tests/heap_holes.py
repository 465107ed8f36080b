"""A heap without holes, for a process that is forked again and again.

What modules throw away while they are loaded leaves holes all over the heap. What is forked would put its first objects
into them, and copy a page for each: a quarter of all that it copies.
"""

from __future__ import annotations

import ctypes

_SIZES = (16384, 4096, 1024, 512, 256, 128, 64, 24)  # large ones first
_BYTES = 100_000  # of each size


def fill_holes() -> None:
    """For good. Later objects stand side by side, behind all others."""
    malloc = ctypes.CDLL(None).malloc
    malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    for size in _SIZES:
        for _ in range(_BYTES // size):
            malloc(size)
