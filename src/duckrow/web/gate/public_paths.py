"""What needs no secret: the empty shell of the page, its files, the health check, and the login."""

from __future__ import annotations

import re

READING = frozenset({"GET", "HEAD"})
VIEWS = ("/", "/machine", "/jobs/{job_id}", "/sweeps", "/sweeps/{sweep_id}", "/timeline", "/add")
_VIEW = re.compile("|".join(re.sub(r"\{\w+\}", "[^/]+", view) for view in VIEWS))


def is_open(method: str, path: str) -> bool:
    """Everything else is closed, including future routes."""
    if path == "/login":
        return method == "POST"  # it checks a link itself
    return is_view(method, path) or (method in READING and (path == "/healthz" or path.startswith("/static/")))


def is_view(method: str, path: str) -> bool:
    return method in READING and _VIEW.fullmatch(path) is not None
