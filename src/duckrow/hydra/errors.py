"""What a launcher cannot do, as a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hydra.errors import CompactHydraException


class LauncherError(CompactHydraException):
    """Hydra shows it without a traceback."""


@contextmanager
def told_by_hydra() -> Iterator[None]:
    """A user's or the machine's fault, which duckrow tells as a sentence, is told by Hydra as one."""
    from duckrow.core.errors import DuckrowError

    try:
        yield
    except DuckrowError as error:
        raise LauncherError(str(error)) from None
