"""The options of a server: where it listens, its names, and what it allows."""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
from dataclasses import dataclass, field

from duckrow.core.errors import UsageError

DEFAULT_PORT = 8787
LOOPBACKS = ("127.0.0.1", "::1")
_LOCAL_NAMES = frozenset({"localhost", *LOOPBACKS})
_BELOW_LOCALHOST = ".localhost"
_ALL_ADDRESSES = ("0.0.0.0", "::")
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s\[\]:,/@]+)(:\d+)?")


@dataclass(frozen=True)
class ServerOptions:
    home: str  # the state folder
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    base_path: str = ""  # /duckrow, behind a proxy; without a trailing slash
    read_only: bool = False
    proxy_names: tuple[str, ...] = ()  # the names that a proxy uses for this server
    gpupeasy: bool = False  # with GPUPeasy's routes, and the token as the password in a URL
    id: str = field(default_factory=lambda: secrets.token_hex(16))  # of this server, while it is alive
    name: str = field(default_factory=lambda: f"{secrets.token_hex(4)}{_BELOW_LOCALHOST}")  # in links, likewise

    @property
    def is_local(self) -> bool:
        return is_local(self.host)

    def knows_host(self, header: str) -> bool:
        """Whether `Host: ...` can mean this server.

        A website that points its own name to this machine (DNS rebinding) sends that name. That is not possible with
        IP addresses, but a local server accepts only local ones anyway.
        """
        name = host_name(header)
        if name in _LOCAL_NAMES or name in (self.host, self.name) or name in self.proxy_names:
            return True
        return not self.is_local and (_is_address(name) or name in _machine_names())

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where to listen. On both loopbacks, as `localhost` may mean either: else another user could get our links."""
        return LOOPBACKS if self.host in _LOCAL_NAMES else (self.host,)

    def had_host(self, header: str) -> bool:
        """Whether an earlier server had this name: from an old tab or a bookmark."""
        return self.is_local and host_name(header).endswith(_BELOW_LOCALHOST) and not self.knows_host(header)

    def own_host(self, header: str) -> str:
        """This server's name instead of that one; ssh may have changed the port."""
        return self.name + header[len(host_name(header)) :]

    @property
    def url(self) -> str:
        """On this machine, a name that no server had before.

        An earlier program on this port may have left things in the browser for the origin (name and port): an open
        page, a service worker. They do not apply to a new name. Browsers resolve all names below `localhost` to this
        machine. Elsewhere, an IP address: a name may resolve to an address where somebody else listens.
        """
        host = self.name if self.host in _LOCAL_NAMES else _own_address() if self.host in _ALL_ADDRESSES else self.host
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{self.port}{self.base_path}/"

    @property
    def number(self) -> str:
        """The IP address for scripts and ssh on this machine, which do not know our names."""
        return LOOPBACKS[0] if self.host in _LOCAL_NAMES else self.host


def host_name(header: str) -> str:
    """`[::1]:8787` and `localhost:8787` without the port; for anything else empty, which matches no host."""
    found = _HOST.fullmatch(header)
    return found[1].strip("[]").lower() if found else ""


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


def _own_address() -> str:
    """How others reach this machine. Nothing is sent: the kernel only tells the source address that it would use."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.connect(("192.0.2.1", 9))
            return str(asking.getsockname()[0])
    except OSError:
        return socket.gethostname()  # no network at the moment


def _machine_names() -> set[str]:
    return {socket.gethostname().lower(), socket.getfqdn().lower()}
