"""How a tab gets in: a link becomes a session of this server, and a session gets tickets for downloads."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from duckrow.web.errors import RequestRefused
from duckrow.web.services import Of

router = APIRouter(include_in_schema=False)


class LoginLink(BaseModel):
    link: Annotated[str, Field(max_length=200)]


class DownloadAddress(BaseModel):
    address: Annotated[str, Field(max_length=2000, pattern="^/api/")]  # without the base path, with the query


@router.post("/login")
async def login(of: Of, body: LoginLink) -> dict[str, str]:
    """By POST, so that no program that only looks at links uses one up."""
    if not of.credentials.use_link(of.serving.id, body.link):
        raise RequestRefused(401, "This link no longer works: each works once, within an hour, on its own server.")
    return {"session": of.sessions.new()}


@router.post("/ticket")
async def ticket(of: Of, body: DownloadAddress) -> dict[str, str]:
    return {"ticket": of.sessions.new_ticket(body.address)}
