"""GET /metrics: numbers for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from duckrow.api.client import Client
from duckrow.core.life.states import Outcome, State
from duckrow.web.services import Services, ServicesOf

router = APIRouter(tags=["metrics"], include_in_schema=False)

_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OF_DEVICES = {
    "memory_total_bytes": ("total_mb", "Memory of the GPU.", 1 << 20),
    "memory_used_bytes": ("used_mb", "Memory of the GPU that is in use.", 1 << 20),
    "memory_reserved_bytes": ("reserved_mb", "Memory that is reserved for jobs.", 1 << 20),
    "utilization_percent": ("utilization", "Share of the time in which the GPU was busy.", 1),
    "temperature_celsius": ("temperature", "Temperature of the GPU.", 1),
}


@router.get("/metrics")
async def metrics(services: ServicesOf) -> Response:
    return Response(await services.threads.read(_text, services, slow=True), media_type=_TYPE)


def _text(client: Client, services: Services) -> str:
    return "".join(f"{line}\n" for line in _lines(client, services))


def _lines(client: Client, services: Services) -> Iterator[str]:
    yield from _heading("scheduler_up", "Whether the daemon is alive.")
    yield f"duckrow_scheduler_up {int(client.daemon() is not None)}"
    yield from _heading("jobs", "Jobs by state, and by outcome once they are done.")
    for project, counts in services.job_counts.by_project(client).items():
        for kind in [*State, *Outcome]:
            if kind in counts:
                is_done = kind in list(Outcome)
                state, outcome = ("done", kind.value) if is_done else (kind.value, "")
                labels = _labels(project=project, state=state, outcome=outcome)
                yield f"duckrow_jobs{labels} {counts[kind]}"
    cards = services.device_cache.cards(client)["items"]
    yield from _heading("device_jobs", "Jobs that are running on the device.")
    for card in cards:
        yield f"duckrow_device_jobs{_device(card)} {len(card['jobs'])}"
    for name, (key, text, unit) in _OF_DEVICES.items():
        known = [card for card in cards if card[key] is not None]
        if known:
            yield from _heading(f"device_{name}", text)
        for card in known:
            yield f"duckrow_device_{name}{_device(card)} {card[key] * unit}"


def _heading(name: str, text: str) -> Iterator[str]:
    yield f"# HELP duckrow_{name} {text}"
    yield f"# TYPE duckrow_{name} gauge"


def _device(card: dict[str, Any]) -> str:
    return _labels(device=card["name"], model=card["model"] or "", host=card["host"])


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
