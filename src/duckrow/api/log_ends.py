"""The ends of logs, for those who show them."""

from __future__ import annotations

from duckrow.store.log_ends import FIRST_BYTES, MOST_BYTES, fold_progress, last_lines

__all__ = ["FIRST_BYTES", "MOST_BYTES", "fold_progress", "last_lines"]
