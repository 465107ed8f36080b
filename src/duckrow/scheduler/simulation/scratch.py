"""A state folder for a loop that runs nothing: it is gone afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from duckrow.kernel.shared_folder import VARIABLE as GPU_LOCKS
from duckrow.store.folder.state_folder import Folder

_QUICK_DISK = "/dev/shm"


@contextmanager
def scratch_folder() -> Iterator[Folder]:
    """Nothing runs on the GPUs of this machine, so their locks are elsewhere too."""
    before = os.environ.get(GPU_LOCKS)
    with TemporaryDirectory(dir=_QUICK_DISK if os.access(_QUICK_DISK, os.W_OK) else None) as folder:
        os.environ[GPU_LOCKS] = f"{folder}/locks"
        try:
            yield Folder(f"{folder}/home").make()
        finally:
            if before is None:
                del os.environ[GPU_LOCKS]
            else:
                os.environ[GPU_LOCKS] = before
