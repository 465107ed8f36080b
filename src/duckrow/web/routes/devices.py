"""Devices: their state, and add, drain, remove."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from duckrow.api.client import Client
from duckrow.api.devices.wishes import wish_of_devices
from duckrow.core.devices.inventory import names_one_gpu
from duckrow.core.errors import UsageError
from duckrow.core.life.wishes import DeviceWish
from duckrow.web.answers.json_response import JsonResponse
from duckrow.web.schemas.devices import DeviceCards, DeviceHistory
from duckrow.web.schemas.installation import Sentence
from duckrow.web.services import ServicesOf

router = APIRouter(tags=["devices"])

DeviceName = Annotated[str, Path(max_length=100, description="The number of a GPU, or its UUID.")]


class NewDevices(BaseModel):
    names: list[str] = Field(min_length=1, max_length=64)


@router.get(
    "/devices",
    summary="Each device, its jobs, and other people's processes.",
    response_model=DeviceCards,
)
async def list_devices(services: ServicesOf) -> JsonResponse:
    return await services.threads.answer(services.device_cache.cards, slow=True)


@router.get(
    "/devices/history",
    summary="Memory, utilisation and temperature of the last minutes.",
    response_model=DeviceHistory,
)
async def history(services: ServicesOf, minutes: Annotated[float, Query(gt=0, le=10_080)] = 10) -> JsonResponse:
    return await services.threads.answer(services.device_cache.history, minutes)


@router.post("/devices", summary="Use these GPUs as well.", response_model=Sentence)
async def add_devices(services: ServicesOf, new: NewDevices) -> JsonResponse:
    return await services.threads.change(_wish, new.names, DeviceWish.ADD)


@router.post(
    "/devices/{name}/{wish}",
    summary="Drain, undrain or remove it.",
    response_model=Sentence,
)
async def change_device(
    services: ServicesOf, name: DeviceName, wish: Literal["drain", "undrain", "remove"]
) -> JsonResponse:
    return await services.threads.change(_wish, [name], DeviceWish(wish))


def _wish(client: Client, names: list[str], wish: DeviceWish) -> dict[str, str]:
    for name in names:
        if not names_one_gpu(name):
            raise UsageError(f"'{name}' does not name a GPU. Write its number or its UUID.")
    return {"sentence": " ".join(wish_of_devices(client, names, wish))}
