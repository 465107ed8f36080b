"""When two failures are the same, and how their jobs are named together."""

from __future__ import annotations

from collections.abc import Iterable

from duckrow.core.late_pattern import late_pattern

# What differs between two jobs that failed alike, in the order in which it is replaced.
_PARTICULARS = (
    (late_pattern(r"0x[0-9a-fA-F]+"), "0x…"),
    (late_pattern(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "…"),
    (late_pattern(r"(['\"])~?/[^'\"]*\1"), r"\1/…\1"),
    (late_pattern(r"(?<![\w/])~?(?:/[\w.+=@%-]+)+/?"), "/…"),
    (late_pattern(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b"), "…"),
    (late_pattern(r"\d+(?:[.,:]\d+)*(?:e[+-]?\d+)?"), "N"),
)


def essence(line: str) -> str:
    """The line without its numbers, addresses and paths: equal for errors that are the same."""
    for pattern, instead in _PARTICULARS:
        line = pattern.sub(instead, line)
    return " ".join(line.split())


def compact_ids(ids: Iterable[int]) -> str:
    """`3,5,9-12`: as every command takes them."""
    ranges: list[list[int]] = []
    for job_id in sorted(set(ids)):
        if ranges and job_id == ranges[-1][1] + 1:
            ranges[-1][1] = job_id
        else:
            ranges.append([job_id, job_id])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
