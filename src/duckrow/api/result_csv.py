"""Rows of results as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from duckrow.core.results import Row, cell_text


def csv_text(rows: Iterable[Row], columns: Sequence[str]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([cell_text(row[column]) for column in columns] for row in rows)
    return text.getvalue().encode("utf-8", "replace").decode()
