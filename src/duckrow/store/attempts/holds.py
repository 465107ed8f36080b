"""What an attempt holds of devices, as JSON of [[device, share], ...]."""

from __future__ import annotations

import json
from functools import lru_cache

Holds = tuple[tuple[str, int], ...]


@lru_cache(maxsize=4096)
def text_of(holds: Holds) -> str:
    return json.dumps(holds)


def holds_from(text: str) -> Holds:
    return tuple((device, share) for device, share in json.loads(text))
