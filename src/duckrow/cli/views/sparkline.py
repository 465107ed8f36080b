"""A curve as one line of text."""

from __future__ import annotations

import sys
from collections.abc import Sequence

_WIDTH = 48
_BLOCKS, _ASCII = "▁▂▃▄▅▆▇█", "_.-:=+*#"


def sparkline(points: Sequence[tuple[float, float]], top: float, width: int = _WIDTH) -> str:
    """`points`: (time, value), by time. Each character covers the same time span, and shows its highest value.

    A span without readings shows the value of the one before.
    """
    speaks_utf = (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
    signs = _BLOCKS if speaks_utf else _ASCII
    first, last = points[0][0], points[-1][0]
    span = max(last - first, 1e-9)
    cells: dict[int, float] = {}
    for at, value in points:
        cell = min(int((at - first) / span * width), width - 1)
        cells[cell] = max(cells.get(cell, 0.0), value)
    line, value = "", 0.0
    for cell in range(width):
        value = cells.get(cell, value)
        line += signs[min(round(value / max(top, 1e-9) * (len(signs) - 1)), len(signs) - 1)]
    return line
