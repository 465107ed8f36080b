"""Answers as JSON, whatever is in them."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from duckrow.core.sweeps.results import json_ready


class JsonResponse(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return as_json(content)


def as_json(content: Any) -> bytes:
    """ASCII only: names that are not UTF-8 on disk contain lone surrogates, which no encoding accepts."""
    try:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    except ValueError:
        return json.dumps(json_ready(content), allow_nan=False, separators=(",", ":")).encode()
