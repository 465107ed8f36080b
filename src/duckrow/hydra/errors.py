"""Errors of the launchers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hydra.errors import CompactHydraException


class LauncherError(CompactHydraException):
    """Hydra shows this without a traceback."""


@contextmanager
def told_by_hydra() -> Iterator[None]:
    """For errors of the user or the machine: Hydra shows duckrow's message without a traceback."""
    from duckrow.core.errors import DuckrowError

    try:
        yield
    except DuckrowError as error:
        raise LauncherError(str(error)) from None
