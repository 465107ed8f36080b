"""Failures that the runs count themselves, if nobody else does."""

from __future__ import annotations

import os
from dataclasses import dataclass

from duckrow.hydra.errors import LauncherError


@dataclass
class Failures:
    """A file that all runs see, with one byte for each failed run."""

    path: str
    most: int
    retries: int  # of a run: only its last attempt counts

    def check(self) -> None:
        """Raise an error if enough runs have failed, so that this one does not run."""
        try:
            count = os.path.getsize(self.path)
        except FileNotFoundError:
            return
        if count >= self.most:
            raise LauncherError(f"This run was not started: {count} others have failed (max_failures={self.most}).")

    def note(self) -> None:
        if int(os.environ.get("DUCKROW_ATTEMPT", "1")) > self.retries:
            with open(self.path, "ab") as file:
                file.write(b".")
