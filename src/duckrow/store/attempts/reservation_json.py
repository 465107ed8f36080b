"""What an attempt holds of devices, as JSON of [[device, share], ...]."""

from __future__ import annotations

import json
from functools import lru_cache

from duckrow.core.devices.device import Reservations, reservations


@lru_cache(maxsize=4096)
def text_of(holds: Reservations) -> str:
    return json.dumps(holds)


@lru_cache(maxsize=4096)  # most rows hold the same
def reservations_from(text: str) -> Reservations:
    return reservations(json.loads(text))
