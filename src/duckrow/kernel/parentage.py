"""What the kernel does with a process when its parent dies."""

from __future__ import annotations

import ctypes
import os

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_prctl = ctypes.CDLL(None).prctl  # not when it is called: in a fork, the lock of the loader may be held for ever


def adopt_orphans() -> None:
    """Have the kernel make us the parent of every descendant whose own parent dies."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def signal_when_it_dies(parent: int, number: int) -> bool:
    """Have the kernel send us this signal when our parent dies; False if it has died."""
    _prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    return os.getppid() == parent
