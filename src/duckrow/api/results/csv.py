"""Rows of results as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence

from duckrow.core.sweeps.results import Row, cell_text

_FORMULA = tuple("=+-@\t\r")  # what starts a formula in a spreadsheet, or is skipped before one


def csv_text(rows: Iterable[Row], columns: Sequence[str]) -> str:
    lines = _Lines()
    writer = csv.writer(lines, lineterminator="\r\n")  # it quotes cells only for characters in this: so both
    writer.writerow([_harmless(column) for column in columns])
    writer.writerows([_harmless(cell_text(row[column])) for column in columns] for row in rows)
    return "".join(lines).encode("utf-8", "replace").decode()


class _Lines(list[str]):
    def write(self, line: str) -> None:
        self.append(line.removesuffix("\r\n") + "\n")


def _harmless(cell: str) -> str:
    """With a ' in front, as spreadsheets themselves mark text. Negative numbers are harmless."""
    if not cell.startswith(_FORMULA) or _is_number(cell):
        return cell
    return f"'{cell}"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return cell.isascii() and cell.strip() == cell
