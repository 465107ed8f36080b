"""What answers without a secret: the empty shell of the page, its files, whether the server lives, and the way in."""

from __future__ import annotations

import re

READING = frozenset({"GET", "HEAD"})
VIEWS = ("/", "/machine", "/jobs/{job_id}", "/sweeps", "/sweeps/{sweep_id}", "/timeline", "/add")
_VIEW = re.compile("|".join(re.sub(r"\{\w+\}", "[^/]+", view) for view in VIEWS))


def is_open(method: str, path: str) -> bool:
    """Everything else is closed, whatever routes there will be."""
    if path == "/login":
        return method == "POST"  # it asks for a link itself
    return is_view(method, path) or (method in READING and (path == "/healthz" or path.startswith("/static/")))


def is_view(method: str, path: str) -> bool:
    return method in READING and _VIEW.fullmatch(path) is not None
