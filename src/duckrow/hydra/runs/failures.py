"""Failures that runs count among themselves, where nobody else is there to count them."""

from __future__ import annotations

import os
from dataclasses import dataclass

from duckrow.hydra.errors import LauncherError


@dataclass
class Failures:
    """A file that all runs see, with a byte for each that has failed."""

    path: str
    most: int
    retries: int  # of a run: only its last attempt counts

    def check(self) -> None:
        """Not to be run, if there are enough of them."""
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
