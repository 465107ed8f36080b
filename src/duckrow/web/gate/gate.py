"""The gate in front of all routes: it checks secrets, origins and sizes.

It is plain ASGI, so that no route can be reached around it. Nothing that a browser sends by itself lets anybody in: no
cookie is ever set or read.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from duckrow.web.errors import RequestRefused, answer_of
from duckrow.web.gate.authentication import Authentication
from duckrow.web.gate.public_paths import READING, is_open, is_view
from duckrow.web.gate.request_body import read_body
from duckrow.web.gate.unknown_connections import UnknownConnections
from duckrow.web.server_options import ServerOptions

_LONGEST_PATH = 2000
_CHANGES_NOTHING = "/ticket"  # a POST because it hands out a secret
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Gate:
    def __init__(
        self, app: ASGIApp, serving: ServerOptions, persons: Authentication, connections: UnknownConnections
    ) -> None:
        self._app = app
        self._serving = serving
        self._persons = persons
        self._connections = connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._let_in(scope, receive, _with_headers(send))
        else:
            await send({"type": "websocket.close", "code": 1008})  # we have no WebSockets

    def _without_base(self, scope: Scope) -> Scope:
        """A proxy may keep the base path or strip it: both work."""
        path, base = scope["path"], self._serving.base_path
        if base and (path == base or path.startswith(f"{base}/")):
            path = path[len(base) :] or "/"
        return {**scope, "path": path, "root_path": ""}

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        is_bare_base = scope["path"] == self._serving.base_path != ""
        scope = self._without_base(scope)
        try:
            self._check_address(scope)
            if self._serving.had_host(headers.get("host", "")):
                await RedirectResponse(self._by_its_name(scope, headers["host"]), 307)(scope, receive, send)
                return
            self._check_origin(scope, headers)
            if is_bare_base and scope["method"] in READING:
                await RedirectResponse(f"{self._serving.base_path}/", 307)(scope, receive, send)
                return
            if not is_open(scope["method"], scope["path"]):
                scope = self._persons.check(scope, headers)
                self._connections.is_known(scope.get("client"))
                self._check_mode(scope)
            if scope["method"] not in READING:
                receive = await read_body(headers, receive)
        except RequestRefused as refusal:
            answer = answer_of(refusal)
            if refusal.status == 401:
                answer.headers["WWW-Authenticate"] = "Bearer"
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _by_its_name(self, scope: Scope, host: str) -> str:
        """The current URL of a view that was requested by the host name of an earlier server; all else is refused."""
        if not is_view(scope["method"], scope["path"]):
            raise RequestRefused(401, "This server was restarted after you logged in.", self._persons.how_to_log_in())
        query = scope["query_string"].decode("latin-1")
        path = self._serving.base_path + quote(scope["path"]) + (f"?{query}" if query else "")
        return f"http://{self._serving.own_host(host)}{path}"

    def _check_mode(self, scope: Scope) -> None:
        """Applies to every secret."""
        if self._serving.read_only and scope["method"] not in READING and scope["path"] != _CHANGES_NOTHING:
            raise RequestRefused(403, "This server is read-only.")

    def _check_address(self, scope: Scope) -> None:
        """No real URL contains numbers with thousands of digits."""
        if len(scope["path"]) > _LONGEST_PATH:
            raise RequestRefused(414, f"This address is longer than {_LONGEST_PATH} characters.")

    # -- other websites -----------------------------------------------------------------------------------------

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        host = headers.get("host", "")
        if not self._serving.knows_host(host):
            raise RequestRefused(
                403,
                f"This server is not called '{host[:100]}'.",
                "Behind a proxy, name it: duckrow web --proxy-name NAME.",
            )
        origin = headers.get("origin")
        if origin is not None and _place_of(origin) != host.lower():
            raise RequestRefused(403, "Requests from other websites are refused.")
        from_elsewhere = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if from_elsewhere and not _is_navigation(scope, headers):
            raise RequestRefused(403, "Requests from other websites are refused.")


def _place_of(origin: str) -> str:
    """`http://localhost:8787` without its scheme; empty, which matches no host, if it cannot be parsed."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _is_navigation(scope: Scope, headers: Headers) -> bool:
    """Whether somebody followed a link to a page, whose shell is empty."""
    return (
        scope["method"] == "GET"
        and not scope["path"].startswith("/api/")
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return send_with_headers
