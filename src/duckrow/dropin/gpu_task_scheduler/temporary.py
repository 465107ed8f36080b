"""What a start of the scheduler keeps in its temporary folder: the call of each task, and the list of them."""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid

_PREFIX = "duckrow-"
_LIST = "jobs.jsonl"


class TaskCalls:
    """A folder for the calls. It stays while it is needed: for a run that continues, for `duckrow rerun` of a task."""

    def __init__(self, temp_folder: str) -> None:
        self._parent = os.path.abspath(temp_folder)
        self.folder = os.path.join(self._parent, f"{_PREFIX}{uuid.uuid4().hex[:8]}")
        self.list_file = os.path.join(self.folder, _LIST)
        self.needed = False

    def __enter__(self) -> TaskCalls:
        os.makedirs(self.folder)
        _remove_old(self._parent)
        return self

    def __exit__(self, *error: object) -> None:
        if not self.needed:
            shutil.rmtree(self.folder, ignore_errors=True)


def _remove_old(parent: str) -> None:
    """Remove the folders of earlier starts, whose tasks this one runs again. A live run holds a lock on its list."""
    for name in os.listdir(parent):
        folder = os.path.join(parent, name)
        try:
            with open(os.path.join(folder, _LIST)) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue
        if name.startswith(_PREFIX):
            shutil.rmtree(folder, ignore_errors=True)
