"""How a tab gets in: a link becomes a session of this server, and a session gets tickets for downloads."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from duckrow.web.errors import RequestRefused
from duckrow.web.services import ServicesOf

router = APIRouter(include_in_schema=False)


class LoginLink(BaseModel):
    link: Annotated[str, Field(max_length=200)]


class DownloadAddress(BaseModel):
    address: Annotated[str, Field(max_length=2000, pattern="^/api/")]  # with the query, without the base path


@router.post("/login")
async def login(services: ServicesOf, body: LoginLink) -> dict[str, str]:
    """By POST, so that no program that only looks at links uses one up."""
    if not services.credentials.use_link(services.serving.id, body.link):
        raise RequestRefused(401, "This link no longer works: each works once, within an hour, on its own server.")
    return {"session": services.sessions.new()}


@router.post("/ticket")
async def ticket(services: ServicesOf, body: DownloadAddress) -> dict[str, str]:
    return {"ticket": services.sessions.new_ticket(body.address)}
