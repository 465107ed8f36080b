"""The page: one empty shell for all views. Its scripts fetch what it shows, with the secret of their tab."""

from __future__ import annotations

import os

from fastapi import APIRouter
from jinja2 import Environment, FileSystemLoader, select_autoescape
from starlette.responses import HTMLResponse, Response

from duckrow.web.gate.public_paths import VIEWS
from duckrow.web.page_files import version
from duckrow.web.services import ServicesOf

router = APIRouter(include_in_schema=False)

HERE = os.path.dirname(os.path.dirname(__file__))
_TEMPLATES = Environment(loader=FileSystemLoader(f"{HERE}/templates"), autoescape=select_autoescape(default=True))


@router.api_route("/healthz", methods=["GET", "HEAD"])
async def healthz() -> dict[str, bool]:
    return {"ok": True}


def _add_views() -> None:
    async def view(services: ServicesOf) -> Response:
        base_path = services.serving.base_path
        files = f"{base_path}/static/{version()}"
        return HTMLResponse(_TEMPLATES.get_template("page.html").render(base_path=base_path, files=files))

    for path in VIEWS:
        router.add_api_route(path, view, methods=["GET"])


_add_views()
