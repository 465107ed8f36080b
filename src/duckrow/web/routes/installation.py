"""This installation: its settings and where they come from, whether all is well, its daemon."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel

from duckrow.api.client import Client
from duckrow.api.machine.doctor import examine
from duckrow.api.machine.finding import PROBLEM
from duckrow.api.machine.settings import Settings
from duckrow.api.machine.settings_files import user_file
from duckrow.core.jobs.job import check_name
from duckrow.web.answers.json_response import JsonResponse
from duckrow.web.schemas.installation import DaemonEnded, DaemonStarted, Findings, SettingsInForce
from duckrow.web.services import ServicesOf

router = APIRouter(tags=["installation"])


class EndDaemon(BaseModel):
    kill: bool = False  # the running jobs too


@router.get("/config", summary="Each setting, its value, and where it comes from.", response_model=SettingsInForce)
async def config(services: ServicesOf, project: Annotated[str | None, Query(max_length=100)] = None) -> JsonResponse:
    return await services.threads.answer(_config, project)


def _config(_client: Client, project: str | None) -> dict[str, Any]:
    if project is not None:
        check_name("project", project)
    settings = Settings()
    items = [
        {"setting": name, "value": value.written, "source": value.source, "help": value.setting.help}
        for name, value in settings.values(project).items()
    ]
    return {"file": user_file(), "items": items, "projects": settings.projects()}


@router.get(
    "/doctor",
    summary="Whether all is well with this installation, and what to do.",
    response_model=Findings,
)
async def doctor(services: ServicesOf) -> JsonResponse:
    return await services.threads.answer(_doctor, slow=True)


def _doctor(_client: Client) -> dict[str, Any]:
    findings = list(examine())
    problems = sum(finding.level == PROBLEM for finding in findings)
    return {"items": [finding._asdict() for finding in findings], "problems": problems}


@router.post(
    "/daemon/up",
    summary="Start the daemon with the devices that you chose last time.",
    response_model=DaemonStarted,
)
async def up(services: ServicesOf) -> JsonResponse:
    return await services.threads.change(_up)


def _up(client: Client) -> dict[str, Any]:
    started = client.ensure_daemon()
    daemon = client.daemon()
    return {"started": started, "pid": None if daemon is None else daemon.pid}


@router.post(
    "/daemon/down",
    summary="Stop the daemon; running jobs and this server keep running.",
    response_model=DaemonEnded,
)
async def down(services: ServicesOf, wanted: EndDaemon) -> JsonResponse:
    return await services.threads.change(_down, wanted.kill)


def _down(client: Client, kill: bool) -> dict[str, Any]:
    return {"ended": client.end_daemon(kill), "still_running": client.running()}
