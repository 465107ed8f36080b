"""The copy of the journal that host and keeper share."""

from __future__ import annotations

import os
import signal

from duckrow.engines.local.keeper.journal_copy import JournalCopy


def test_at_whatever_instant_somebody_looks_all_of_the_text_is_there() -> None:
    """A host may be killed at that instant, and its keeper believes what it finds."""
    copy = JournalCopy()
    copy.append(b"short")
    writer = os.fork()
    if writer == 0:
        while True:
            copy.append(b" and long")
            copy.cut(5)
    try:
        seen: dict[int, int] = {}
        while min(seen.get(5, 0), seen.get(14, 0)) < 10_000:
            size = copy.size
            seen[size] = seen.get(size, 0) + 1
            assert size in (5, 14)
    finally:
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
