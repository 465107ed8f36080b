"""Draws which job was on which GPU when, as an SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from duckrow.core.named_tuple import NamedTuple
from duckrow.core.simulation.trace_job import JobSpans, SimulatedGpus, TraceJob
from duckrow.core.units import format_duration

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _GAP = 1000, 70, 40, 34, 40, 6
_COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1", "#9c755f", "#edc948")
_MOST_TICKS = 8
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_STEPS = [1, 5, 10, 30]
_STEPS += [count * _MINUTE for count in (1, 5, 10, 30)] + [count * _HOUR for count in (1, 2, 3, 6, 12)]
_STEPS += [count * _DAY for count in (1, 2, 5, 10, 30, 100, 300, 1000)]
_NEARLY = 1e-9
_VISIBLE = 0.5  # the least width of a job


class _Piece(NamedTuple):
    """A job for as long as it lies at one height, which is a share of the GPU's memory."""

    number: int
    start: float
    end: float
    low: float


def timeline_picture(title: str, jobs: Sequence[TraceJob], spans: JobSpans, gpus: SimulatedGpus) -> str:
    end_s = max(span.end for span in spans)
    height = _TOP + gpus.number * (_ROW + _GAP) + 24
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + _RIGHT} {height}"',
        'font-family="sans-serif">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="20" font-size="14">{escape(title)}</text>',
    ]
    tops = [_TOP + gpu * (_ROW + _GAP) for gpu in range(gpus.number)]
    for gpu, top in enumerate(tops):
        lines.append(f'<text x="8" y="{top + _ROW / 2 + 4}" font-size="12">GPU {gpu}</text>')
        lines.append(f'<rect x="{_LEFT}" y="{top}" width="{_WIDTH}" height="{_ROW}" fill="#f2f2f2"/>')
    lines += _axis(end_s, height)
    shares = [job.share(gpus.memory_mb) for job in jobs]
    for gpu, top in enumerate(tops):
        here = [number for number, span in enumerate(spans) if gpu in span.gpus]
        lines += (_box(piece, top, shares, jobs, spans, _WIDTH / end_s) for piece in _pieces(here, spans, shares))
    return "\n".join([*lines, "</svg>", ""])


def _axis(end_s: float, height: int) -> Iterator[str]:
    """At round times."""
    step_s = next((step for step in _STEPS if end_s / step <= _MOST_TICKS), _STEPS[-1])
    for tick in range(int(end_s / step_s) + 1):
        x, words = _LEFT + _WIDTH * tick * step_s / end_s, _in_words(tick * step_s)
        yield f'<line x1="{x:.1f}" y1="{_TOP - 6}" x2="{x:.1f}" y2="{height - 20}" stroke="#dddddd"/>'
        yield f'<text x="{x:.1f}" y="{height - 6}" font-size="11" text-anchor="middle">{words}</text>'


def _in_words(seconds: int) -> str:
    """`1h 30m`, `2d`: without what is zero."""
    days, hours, minutes = seconds // _DAY, seconds % _DAY // _HOUR, seconds % _HOUR // _MINUTE
    parts = ((days, "d"), (hours, "h"), (minutes, "m"), (seconds % _MINUTE, "s"))
    return " ".join(f"{count}{unit}" for count, unit in parts if count) or "0"


def _box(
    piece: _Piece, top: float, shares: Sequence[float], jobs: Sequence[TraceJob], spans: JobSpans, scale: float
) -> str:
    number, share, span = piece.number, shares[piece.number], spans[piece.number]
    least = _VISIBLE if (piece.start, piece.end) == (span.start, span.end) else 0.0  # a part need not be seen
    x, width = _LEFT + piece.start * scale, max((piece.end - piece.start) * scale, least)
    y, high = top + (1 - piece.low - share) * _ROW, share * _ROW
    words = escape(f"job {number + 1}: {format_duration(span.end - span.start)}, {jobs[number].command[:80]}")
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{high:.1f}" '
        f'fill="{_COLOURS[number % len(_COLOURS)]}" stroke="#ffffff" stroke-width="0.5">'
        f"<title>{words}</title></rect>"
    )


def _pieces(here: Sequence[int], spans: JobSpans, shares: Sequence[float]) -> Iterator[_Piece]:
    """Jobs that share a GPU lie on top of each other. Memory has no place of its own: if a job does not fit
    between the others, these move together.
    """
    lying: dict[int, _Piece] = {}
    for number in sorted(here, key=lambda number: spans[number].start):
        now = spans[number].start
        for each in [each for each in lying if spans[each].end <= now + _NEARLY]:
            yield lying.pop(each)
        low = _gap(list(lying.values()), shares, shares[number])
        if low is None:
            low = 0.0
            for piece in sorted(lying.values(), key=lambda piece: piece.low):
                if piece.low > low + _NEARLY:
                    yield piece._replace(end=now)
                    lying[piece.number] = piece._replace(start=now, low=low)
                low += shares[piece.number]
        lying[number] = _Piece(number, now, spans[number].end, low)
    yield from lying.values()


def _gap(lying: Sequence[_Piece], shares: Sequence[float], share: float) -> float | None:
    """The lowest place with room for this share."""
    tops = {piece.number: piece.low + shares[piece.number] for piece in lying}
    for low in sorted({0.0, *tops.values()}):
        in_the_way = any(tops[each.number] > low + _NEARLY and each.low < low + share - _NEARLY for each in lying)
        if not in_the_way and low + share <= 1 + _NEARLY:
            return low
    return None
