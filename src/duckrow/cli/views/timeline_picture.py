"""Draws which job was on which GPU when, as an SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from duckrow.core.simulation.trace_job import JobSpans, SimulatedGpus, TraceJob
from duckrow.core.units import format_duration

_WIDTH, _LEFT, _TOP, _ROW, _GAP = 1000, 70, 34, 40, 6
_COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1", "#9c755f", "#edc948")
_TICKS = 5


def timeline_picture(title: str, jobs: Sequence[TraceJob], spans: JobSpans, gpus: SimulatedGpus) -> str:
    end_s = max(span.end for span in spans)
    height = _TOP + gpus.number * (_ROW + _GAP) + 24
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH + _LEFT + 20} {height}"',
        'font-family="sans-serif">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="20" font-size="14">{escape(title)}</text>',
        *(_axis(end_s, height)),
    ]
    for gpu in range(gpus.number):
        top = _TOP + gpu * (_ROW + _GAP)
        lines.append(f'<text x="8" y="{top + _ROW / 2 + 4}" font-size="12">GPU {gpu}</text>')
        lines += _boxes(gpu, top, jobs, spans, gpus, _WIDTH / end_s)
    return "\n".join([*lines, "</svg>", ""])


def _axis(end_s: float, height: int) -> Iterator[str]:
    for tick in range(_TICKS + 1):
        x, words = _LEFT + _WIDTH * tick / _TICKS, format_duration(end_s * tick / _TICKS)
        yield f'<line x1="{x}" y1="{_TOP - 6}" x2="{x}" y2="{height - 20}" stroke="#dddddd"/>'
        yield f'<text x="{x}" y="{height - 6}" font-size="11" text-anchor="middle">{words}</text>'


def _boxes(
    gpu: int, top: float, jobs: Sequence[TraceJob], spans: JobSpans, gpus: SimulatedGpus, scale: float
) -> Iterator[str]:
    """Jobs that share a GPU lie on top of each other, each as high as its share."""
    lying: list[tuple[float, float, float]] = []  # (until when, from which height, to which)
    here = sorted(number for number, span in enumerate(spans) if gpu in span.gpus)
    for number in sorted(here, key=lambda number: spans[number].start):
        span, share = spans[number], jobs[number].share(gpus.memory_mb)
        lying = [each for each in lying if each[0] > span.start + 1e-9]
        low = _lowest(lying, share)
        lying.append((span.end, low, low + share))
        x, width = _LEFT + span.start * scale, max((span.end - span.start) * scale, 0.5)
        y, high = top + (1 - low - share) * _ROW, share * _ROW
        words = escape(f"job {number + 1}: {format_duration(span.end - span.start)}, {jobs[number].command[:80]}")
        yield (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{high:.1f}" '
            f'fill="{_COLOURS[number % len(_COLOURS)]}" stroke="#ffffff" stroke-width="0.5">'
            f"<title>{words}</title></rect>"
        )


def _lowest(lying: Sequence[tuple[float, float, float]], share: float) -> float:
    """Where there is room for it; memory has no place of its own, so it may have to lie over another."""
    for low in sorted({0.0, *(top for _, _, top in lying)}):
        is_free = all(top <= low + 1e-9 or bottom >= low + share - 1e-9 for _, bottom, top in lying)
        if is_free and low + share <= 1 + 1e-9:
            return low
    return max(1 - share, 0.0)
