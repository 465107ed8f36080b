"""The application without a socket, for tests that change something inside it."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

import httpx

from duckrow.web.app import build
from duckrow.web.server_options import ServerOptions


class Inside:
    """Somebody with the token, who asks the application itself."""

    def __init__(self, serving: ServerOptions) -> None:
        self.app, self.services = build(serving)
        self.token = self.services.credentials.token()

    def __enter__(self) -> Inside:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.services.threads.close()

    def ask(self, method: str, path: str, host: str = "localhost", **options: Any) -> httpx.Response:
        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            headers = {"Authorization": f"Bearer {self.token}"}
            async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}", headers=headers) as client:
                return await client.request(method, path, **options)

        return asyncio.run(asked())
