"""GET /status: everything at a glance."""

from __future__ import annotations

import getpass
import os
import socket
import time
from typing import Any

from fastapi import APIRouter, Request

from duckrow import __version__
from duckrow.api.client import Client
from duckrow.api.jobs.limit import project_limits
from duckrow.core.jobs.job_filter import Filter
from duckrow.web.answers.json_response import JsonResponse
from duckrow.web.schemas.installation import Status
from duckrow.web.services import Services, ServicesOf

router = APIRouter(tags=["status"])


@router.get(
    "/status",
    summary="The scheduler, the projects, and how many jobs there are of each kind.",
    response_model=Status,
)
async def status(request: Request, services: ServicesOf) -> JsonResponse:
    return await services.answer_cache.answer(request, _status, services)


def _status(client: Client, services: Services) -> dict[str, Any]:
    daemon = client.daemon()
    pauses = client.pauses()
    limits = project_limits(client)
    by_project = services.job_counts.by_project(client)
    names = sorted({*by_project, *limits, *pauses} - {""})
    return {
        "version": __version__,
        "user": user_name(),
        "machine": socket.gethostname(),
        "read_only": services.serving.read_only,
        "now": time.time(),
        "cwd": os.getcwd(),
        "daemon": {"running": False}
        if daemon is None
        else {"running": True, "pid": daemon.pid, "since": daemon.started_at, "home": client.home},
        "paused": "" in pauses,
        "paused_projects": [name for name in pauses if name],
        "counts": services.job_counts.of_filter(client, Filter()),
        "projects": [{"name": name, "counts": by_project.get(name, {}), "limit": limits.get(name)} for name in names],
        "hosts": [
            {"id": host.id, "name": host.name, "kind": host.kind, "alive": True} for host in client.living_hosts()
        ],
    }


def user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, for example in containers
        return str(os.getuid())
