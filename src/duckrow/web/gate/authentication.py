"""Checks the secret of a request. No browser sends any of these secrets by itself."""

from __future__ import annotations

import base64

from starlette.datastructures import Headers
from starlette.types import Scope

from duckrow.web.errors import RequestRefused
from duckrow.web.gate.credentials import Credentials
from duckrow.web.gate.public_paths import READING
from duckrow.web.gate.sessions import Sessions
from duckrow.web.server_options import ServerOptions

SESSION_HEADER = "X-Duckrow"  # not Authorization, which belongs to a proxy that asks for a password
_API = "/api/"


class Authentication:
    def __init__(self, serving: ServerOptions, credentials: Credentials, sessions: Sessions) -> None:
        self._serving = serving
        self._credentials = credentials
        self._sessions = sessions

    def check(self, scope: Scope, headers: Headers) -> Scope:
        """The request to pass on, without its ticket; raises if it has no valid secret."""
        session = headers.get(SESSION_HEADER)
        if self._has_token(scope, headers) or (session is not None and self._sessions.is_session(session)):
            return scope
        without = self._by_ticket(scope)
        if without is None:
            raise RequestRefused(401, "You are not logged in, or your token is not valid here.", self.how_to_log_in())
        return without

    def how_to_log_in(self) -> str:
        mode = " --read-only" if self._serving.read_only else ""
        return (
            f"Log in again: open the URL that `duckrow web{mode} --url` prints. "
            f"Scripts send the token of `duckrow web{mode} --token`."
        )

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "basic" and self._may_be_basic(scope, headers):
            token = _password(token)
        elif kind.lower() != "bearer":
            return False
        return self._credentials.is_token(token.strip())

    def _may_be_basic(self, scope: Scope, headers: Headers) -> bool:
        """Scripts for GPUPeasy know only a URL, so its password counts. Not in browsers: they would resend it."""
        is_browser = "sec-fetch-site" in headers or "sec-fetch-mode" in headers or "origin" in headers
        return self._serving.gpupeasy and not is_browser and not scope["path"].startswith(_API)

    def _by_ticket(self, scope: Scope) -> Scope | None:
        """A download that a logged-in tab asked for. The ticket comes last in the URL, and works once."""
        query = scope["query_string"].decode("latin-1")
        rest, _, ticket = query.rpartition("ticket=")
        if not ticket or scope["method"] not in READING or not scope["path"].startswith(_API):
            return None
        rest = rest.removesuffix("&")
        address = scope["path"] + (f"?{rest}" if rest else "")
        if not self._sessions.use_ticket(ticket, address):
            return None
        return {**scope, "query_string": rest.encode("latin-1")}


def _password(encoded: str) -> str:
    """The password of `http://name:password@host/`, as programs send it."""
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""
