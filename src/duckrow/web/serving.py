"""How a server is to serve: where it listens, by which names it is called, what may be done through it."""

from __future__ import annotations

import hashlib
import ipaddress
import re
import socket
from dataclasses import dataclass

from duckrow.core.errors import UsageError

DEFAULT_PORT = 8787
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Serving:
    home: str  # the state folder
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    base_path: str = ""  # /duckrow, behind a proxy; without a slash at its end
    read_only: bool = False
    proxy_names: tuple[str, ...] = ()  # by which a proxy calls this server
    gpupeasy: bool = False  # with GPUPeasy's routes, and the token as the password of an address

    @property
    def cookie_name(self) -> str:
        """One for each state folder of each machine: a browser sends cookies to all ports of localhost."""
        return "duckrow-" + hashlib.sha256(f"{socket.gethostname()}:{self.home}".encode()).hexdigest()[:12]

    @property
    def is_local(self) -> bool:
        return is_local(self.host)

    def knows_host(self, header: str) -> bool:
        """Whether a browser that says `Host: ...` can mean this server.

        A website that lets its own name point to this machine (DNS rebinding) says that name. Addresses cannot be
        used so, but on a local server none but the local ones has any business.
        """
        name = host_name(header)
        if name in _LOCAL_NAMES or name == self.host or name in self.proxy_names:
            return True
        return not self.is_local and (_is_address(name) or name in _machine_names())

    def came_by_tls(self, scheme: str, host: str, forwarded: str) -> bool:
        """`forwarded`: what a proxy says that it was asked by; only one that we were told of is believed."""
        return scheme == "https" or (host_name(host) in self.proxy_names and forwarded.strip().lower() == "https")

    def url(self, host: str | None = None) -> str:
        shown = host or ("localhost" if self.is_local else socket.gethostname())
        return f"http://{shown}:{self.port}{self.base_path}/"


def host_name(header: str) -> str:
    """`[::1]:8787` and `localhost:8787` without the port."""
    bracketed = re.fullmatch(r"\[([0-9a-fA-F:.]+)\](?::\d+)?", header)
    return (bracketed[1] if bracketed else header.rsplit(":", 1)[0] if ":" in header else header).lower()


def is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def checked_base_path(text: str) -> str:
    path = "/" + text.strip("/") if text.strip("/") else ""
    if not re.fullmatch(r"(/[A-Za-z0-9._~-]+)*", path) or "/.." in path:
        raise UsageError(f"'{text}' cannot be a base path. Write it like /duckrow.")
    return path


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
        return True
    except ValueError:
        return False


def _machine_names() -> set[str]:
    return {socket.gethostname().lower(), socket.getfqdn().lower()}
