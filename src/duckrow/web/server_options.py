"""How a server is to serve: where it listens, by which names it is called, what may be done through it."""

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
    base_path: str = ""  # /duckrow, behind a proxy; without a slash at its end
    read_only: bool = False
    proxy_names: tuple[str, ...] = ()  # by which a proxy calls this server
    gpupeasy: bool = False  # with GPUPeasy's routes, and the token as the password of an address
    id: str = field(default_factory=lambda: secrets.token_hex(16))  # of this server, for as long as it lives
    name: str = field(default_factory=lambda: f"{secrets.token_hex(4)}{_BELOW_LOCALHOST}")  # in links, likewise

    @property
    def is_local(self) -> bool:
        return is_local(self.host)

    def knows_host(self, header: str) -> bool:
        """Whether a browser that says `Host: ...` can mean this server.

        A website that lets its own name point to this machine (DNS rebinding) says that name. Addresses cannot be
        used so, but on a local server none but the local ones has any business.
        """
        name = host_name(header)
        if name in _LOCAL_NAMES or name in (self.host, self.name) or name in self.proxy_names:
            return True
        return not self.is_local and (_is_address(name) or name in _machine_names())

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where to listen. `localhost` may mean either loopback: another user on the other one would get our links."""
        return LOOPBACKS if self.host in _LOCAL_NAMES else (self.host,)

    def had_host(self, header: str) -> bool:
        """Whether it is a name that an earlier server had here: of an old tab, or a bookmark."""
        return self.is_local and host_name(header).endswith(_BELOW_LOCALHOST) and not self.knows_host(header)

    def own_host(self, header: str) -> str:
        """This server's name instead of that one; ssh may have changed the port."""
        return self.name + header[len(host_name(header)) :]

    @property
    def url(self) -> str:
        """On this machine by a name that no server had before.

        Whoever had the port before us may have left things in the browser for the origin (name and port): a page that
        is still open, a service worker. To a new name they do not belong. Browsers let all names below `localhost`
        mean this machine. Elsewhere by a number: a name may lead to an address where somebody else listens.
        """
        host = self.name if self.host in _LOCAL_NAMES else _own_address() if self.host in _ALL_ADDRESSES else self.host
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{self.port}{self.base_path}/"

    @property
    def number(self) -> str:
        """The address for scripts and ssh on this machine, which know nothing of names."""
        return LOOPBACKS[0] if self.host in _LOCAL_NAMES else self.host


def host_name(header: str) -> str:
    """`[::1]:8787` and `localhost:8787` without the port; empty, and so nobody's, if it is anything else."""
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
    """By which others reach this machine. Nothing is sent: the kernel only says where it would be sent from."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.connect(("192.0.2.1", 9))
            return str(asking.getsockname()[0])
    except OSError:
        return socket.gethostname()  # there is no network at the moment


def _machine_names() -> set[str]:
    return {socket.gethostname().lower(), socket.getfqdn().lower()}
