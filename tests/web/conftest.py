"""A real server over HTTP on this machine, with a real daemon beside it where a test wants one."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from duckrow.web.gate.credentials import Credentials
from tests.conftest import DEADLINE_S, Duckrow, until
from tests.web.described import API, check_answer

NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Nothing here is encrypted, but each client would load all certificates of this machine: 26 ms of a core."""


class Server:
    """`duckrow web`, running."""

    def __init__(self, duckrow: Duckrow, *words: str, env: dict[str, str] | None = None) -> None:
        self.duckrow = duckrow
        self.log = duckrow.home.parent / "web-server.log"
        with self.log.open("ab") as log:
            self.process = duckrow.spawn(
                "web", "--no-browser", "--port", "0", *words, env=env, stdout=subprocess.PIPE, stderr=log
            )
        assert self.process.stdout is not None
        self.greeting = [self.process.stdout.readline().decode().strip()]
        assert "http" in self.greeting[0], f"{self.greeting} {self.log.read_text()}"
        self.greeting += [self.process.stdout.readline().decode().strip() for _ in range(2)]
        self.link = self.greeting[0].split()[-1]
        self.port = urlsplit(self.link).port or 0
        self.address = f"http://127.0.0.1:{self.port}"
        self.mode = [word for word in words if word == "--read-only"]
        self.token = Credentials(str(duckrow.home), read_only=bool(self.mode)).token()

    def stranger(self, **options: Any) -> httpx.Client:
        """Somebody without a token and without a session."""
        return httpx.Client(
            base_url=self.address, timeout=DEADLINE_S, trust_env=False, verify=NO_CERTIFICATES, **options
        )

    def script(self, **headers: str) -> httpx.Client:
        """Somebody with the token of scripts."""
        return self.stranger(headers={"Authorization": f"Bearer {self.token}", **headers})

    def browser(self) -> httpx.Client:
        """A tab that has followed a link."""
        answer = self.log_in(self.duckrow("web", "--url", "--port", str(self.port)).stdout.strip())
        assert answer.status_code == 200, answer.text
        return self.stranger(headers={"X-Duckrow": answer.json()["session"], "Origin": self.address})

    def log_in(self, link: str, **headers: str) -> httpx.Response:
        """What the scripts of the page do with the link in the address."""
        with self.stranger() as newcomer:
            return newcomer.post("/login", json={"link": link_of(link)}, headers=headers)

    def get(self, path: str, **query: Any) -> Any:
        """The answer of the interface to somebody who may ask. It must be as the description says, here and below."""
        with self.script() as script:
            answer = script.get(f"{API}{path}", params=query)
            assert answer.status_code == 200, answer.text
            if path != "/openapi.json":
                check_answer("GET", f"{API}{path}", 200, answer.json())
            return answer.json()

    def post(self, path: str, body: Any = None, status: int = 200, method: str = "POST") -> Any:
        with self.script() as script:
            answer = script.request(method, f"{API}{path}", json={} if body is None else body)
            assert answer.status_code == status, f"{answer.status_code} {answer.text}"
            check_answer(method, f"{API}{path}", status, answer.json())
            return answer.json()

    def add(self, text: str, **options: Any) -> list[int]:
        ids: list[int] = self.post("/jobs", {"text": text, "options": options}, 201)["ids"]
        return ids

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(DEADLINE_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def memory_mb(self) -> float:
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def link_of(address: str) -> str:
    """What follows the `#`, which no browser sends."""
    link = urlsplit(address)
    assert not link.query
    return link.fragment.removeprefix("login=")


@pytest.fixture
def serve(duckrow: Duckrow) -> Iterator[Callable[..., Server]]:
    """Starts servers, which end with the test."""
    started: list[Server] = []

    def start(*words: str, **options: Any) -> Server:
        started.append(Server(duckrow, *words, **options))
        return started[-1]

    yield start
    for server in started:
        server.end()


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that the tests of a module share: they ask, and change nothing."""
    folder = tmp_path_factory.mktemp("idle")
    (folder / "work").mkdir()
    program = Duckrow(folder / "state", folder / "work")
    server = Server(program)
    yield server
    server.end()
    program.kill_everything()


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    return serve()


@pytest.fixture
def queue(duckrow: Duckrow, server: Server) -> Server:
    """A server, and a daemon with two slots."""
    duckrow.up("--slots", "2")
    return server


__all__ = ["API", "Server", "link_of", "until"]
