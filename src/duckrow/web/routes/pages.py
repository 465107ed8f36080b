"""The page: one shell for all views, the way in, and its static files."""

from __future__ import annotations

import os
import secrets
import socket

from fastapi import APIRouter, Request
from jinja2 import Environment, FileSystemLoader, select_autoescape
from starlette.responses import HTMLResponse, RedirectResponse, Response

from duckrow import __version__
from duckrow.web.credentials import SESSION_S
from duckrow.web.gate import session_of
from duckrow.web.parts import Of
from duckrow.web.routes.status import user_name
from duckrow.web.serving import Serving

router = APIRouter(include_in_schema=False)

HERE = os.path.dirname(os.path.dirname(__file__))
_TEMPLATES = Environment(loader=FileSystemLoader(f"{HERE}/templates"), autoescape=select_autoescape(default=True))
_VIEWS = ("/", "/machine", "/jobs/{job_id}", "/sweeps", "/sweeps/{sweep_id}", "/timeline", "/add")


def page(serving: Serving) -> Response:
    text = _TEMPLATES.get_template("page.html").render(
        base_path=serving.base_path,
        version=__version__,
        read_only=serving.read_only,
        user=user_name(),
        machine=socket.gethostname(),
    )
    return HTMLResponse(text)


def login_page(serving: Serving, message: str = "") -> Response:
    """Its style stands in it, behind a nonce: static files are for those who are logged in."""
    nonce = secrets.token_urlsafe(16)
    text = _TEMPLATES.get_template("login.html").render(
        base_path=serving.base_path, nonce=nonce, message=message, port=serving.port
    )
    csp = f"default-src 'none'; style-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return HTMLResponse(text, 401, {"Content-Security-Policy": csp, "WWW-Authenticate": "Bearer"})


@router.get("/login")
async def login(request: Request, of: Of, token: str = "") -> Response:
    home = f"{of.serving.base_path}/"
    if not token or not of.credentials.use_link(token):
        known = session_of(request.headers.get("cookie", ""), of.serving.cookie_name)
        if known is not None and of.credentials.is_session(known):
            return RedirectResponse(home, 303)  # a link that was followed twice
        return login_page(of.serving, "This link does not work any more: each works once, and for an hour.")
    answer = _on_to(home, request)
    answer.set_cookie(
        of.serving.cookie_name,
        of.credentials.new_session(),
        max_age=int(SESSION_S),
        path=home,
        httponly=True,
        samesite="strict",
        secure=of.serving.came_by_tls(
            request.url.scheme, request.headers.get("host", ""), request.headers.get("x-forwarded-proto", "")
        ),
    )
    return answer


def _on_to(home: str, request: Request) -> Response:
    """A browser that came by a link on another website would not send the new cookie along a redirect."""
    if request.headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return RedirectResponse(home, 303)
    return HTMLResponse("<!doctype html><title>duckrow</title>", headers={"Refresh": f"0; url={home}"})


@router.api_route("/healthz", methods=["GET", "HEAD"])
async def healthz() -> dict[str, bool]:
    return {"ok": True}


def _add_views() -> None:
    async def view(of: Of) -> Response:
        return page(of.serving)

    for path in _VIEWS:
        router.add_api_route(path, view, methods=["GET"])


_add_views()
