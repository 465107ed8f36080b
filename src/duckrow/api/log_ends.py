"""The ends of logs, for those who show them."""

from __future__ import annotations

from duckrow.store.log_ends import FIRST_BYTES, LINE_SHOWN, MOST_BYTES, fold_progress, last_lines
from duckrow.store.plain_files import open_plain

__all__ = ["FIRST_BYTES", "LINE_SHOWN", "MOST_BYTES", "fold_progress", "last_lines", "open_plain"]
