"""The gate in front of all routes: who may come in, from where, and with how much.

It is plain ASGI, so that nothing behind it, static files included, can be reached around it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from duckrow.web.body import read_body
from duckrow.web.credentials import Credentials
from duckrow.web.errors import Refused, answer_of
from duckrow.web.serving import Serving

_LONGEST_PATH = 2000
_OPEN = frozenset({"/healthz", "/login"})  # the second asks for a link's token itself
_LOOKING = frozenset({"GET", "HEAD"})
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
HOW_TO_LOG_IN = "Open the URL that `duckrow web --url` prints; scripts send the token of `duckrow web --token`."


class Gate:
    def __init__(
        self, app: ASGIApp, serving: Serving, credentials: Credentials, login_page: Callable[[], Response]
    ) -> None:
        self._app = app
        self._serving = serving
        self._credentials = credentials
        self._login_page = login_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._let_in(scope, receive, _with_headers(send))
        else:
            await send({"type": "websocket.close", "code": 1008})  # nothing here speaks WebSocket

    def _without_base(self, scope: Scope) -> Scope:
        """A proxy may hand on the base path or take it away: both are understood."""
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
            self._check_origin(scope, headers)
            if is_bare_base and scope["method"] in _LOOKING:
                # The cookie is for what lies below the base path: no browser sends it to the base itself.
                await RedirectResponse(f"{self._serving.base_path}/", 307)(scope, receive, send)
                return
            if scope["path"] not in _OPEN:
                self._check_person(scope, headers)
            if scope["method"] not in _LOOKING:
                receive = await read_body(headers, receive)
        except Refused as refusal:
            answer: Response = answer_of(refusal)
            if refusal.status == 401 and _wants_page(scope, headers):
                answer = self._login_page()
            if refusal.status == 401:
                answer.headers["WWW-Authenticate"] = "Bearer"
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _check_address(self, scope: Scope) -> None:
        """Numbers of thousands of digits stand in no address that anybody means."""
        if len(scope["path"]) > _LONGEST_PATH:
            raise Refused(414, f"This address is longer than {_LONGEST_PATH} characters.")

    # -- other websites -----------------------------------------------------------------------------------------

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        host = headers.get("host", "")
        if not self._serving.knows_host(host):
            raise Refused(
                403,
                f"This server is not called '{host[:100]}'.",
                "Behind a proxy, name it: duckrow web --proxy-name NAME.",
            )
        origin = headers.get("origin")
        if origin is not None and _place_of(origin) != host.lower():
            raise Refused(403, "Requests from other websites are refused.")
        from_elsewhere = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if from_elsewhere and not _is_navigation(scope, headers):
            raise Refused(403, "Requests from other websites are refused.")

    # -- persons --------------------------------------------------------------------------------------------------

    def _check_person(self, scope: Scope, headers: Headers) -> None:
        by_token = self._has_token(headers)
        if not by_token and not self._has_session(headers):
            raise Refused(401, "You are not logged in, or not with a token that is known here.", HOW_TO_LOG_IN)
        if scope["method"] in _LOOKING:
            return
        if self._serving.read_only:
            raise Refused(403, "This server is read-only: it shows, and changes nothing.")
        if not by_token and headers.get("x-duckrow") is None:
            # No form and no link of another website can add a header.
            raise Refused(403, "What changes something needs the header 'X-Duckrow: 1', or the token of scripts.")

    def _has_token(self, headers: Headers) -> bool:
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "basic" and self._serving.gpupeasy:
            token = _password(token)
        elif kind.lower() != "bearer":
            return False
        return self._credentials.is_token(token.strip())

    def _has_session(self, headers: Headers) -> bool:
        session = session_of(headers.get("cookie", ""), self._serving.cookie_name)
        return session is not None and self._credentials.is_session(session)


def _password(encoded: str) -> str:
    """Of `http://name:password@host/`, as programs send it: scripts of GPUPeasy have an address and nothing else."""
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def session_of(cookies: str, name: str) -> str | None:
    """Whatever the cookies of other servers on this machine look like, which a browser sends along."""
    for cookie in cookies.split(";"):
        key, _, value = cookie.strip().partition("=")
        if key == name:
            return value
    return None


def _place_of(origin: str) -> str:
    """`http://localhost:8787` without its scheme; empty, and so nobody's, if it cannot be read."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _wants_page(scope: Scope, headers: Headers) -> bool:
    return not scope["path"].startswith("/api/") and "text/html" in headers.get("accept", "")


def _is_navigation(scope: Scope, headers: Headers) -> bool:
    """Somebody has followed a link to a page. The cookie does not come along (SameSite=Strict)."""
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
