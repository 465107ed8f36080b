"""Other users of this machine can connect and listen, too. They do not get in, and do not keep the owner out."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from duckrow.api.calls.private_folder import private_folder
from duckrow.core.errors import DuckrowError
from duckrow.web.gate.unknown_connections import UnknownConnections
from duckrow.web.server import listen
from duckrow.web.server_options import ServerOptions
from tests.conftest import Duckrow
from tests.other_users import as_other_user, needs_other_users
from tests.web.conftest import API, Server
from tests.web.test_streams import MOST, hold_open

STRANGERS = 1100

# Connects many times, sends one of these each time, and never anything more.
CROWD = """
port, count, said = int(sys.argv[1]), int(sys.argv[2]), [word.encode() for word in sys.argv[3:]]
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 5000), hard))
held = []
for number in range(count):
    held.append(socket.create_connection(("127.0.0.1", port)))
    held[-1].sendall(said[number % len(said)])
print("ready", flush=True)
select.select([], [], [])
"""
# Connects again and again, and keeps the last thousand.
RUSH = """
held = [None] * 1000
print("ready", flush=True)
while True:
    for number in range(len(held)):
        held[number] = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
"""
LISTENER = """
taken = socket.create_server(("::1", int(sys.argv[1])), family=socket.AF_INET6)
print("ready", flush=True)
select.select([], [], [])
"""
HALF_A_LOGIN = (
    "POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
)
HALF_A_HEAD = "GET /api/v1/status HTTP/1.1\r\nHost: 127."


@needs_other_users
def test_eleven_hundred_idle_strangers_do_not_lock_the_owner_out(server: Server) -> None:
    """Some say nothing, some never end the head of a request, some never send what they log in with."""
    with (
        server.browser() as known,
        as_other_user(CROWD, str(server.port), str(STRANGERS), "", HALF_A_HEAD, HALF_A_LOGIN),
    ):
        assert known.get(f"{API}/status").status_code == 200
        for _ in range(5):
            with server.script() as script:  # a new connection each time
                assert script.get(f"{API}/status").status_code == 200


@needs_other_users
def test_strangers_who_come_and_come_do_not_lock_the_owner_out(server: Server) -> None:
    with as_other_user(RUSH, str(server.port)):
        for _ in range(10):
            with server.script() as script:
                assert script.get(f"{API}/status").status_code == 200


def test_of_too_many_strangers_the_oldest_go_and_whoever_is_known_stays() -> None:
    closed: list[int] = []
    connections = UnknownConnections(most=3)
    for number in range(6):
        connections.opened(number, partial(closed.append, number))
        if number == 1:
            connections.is_known(number)
    assert closed == [0, 2]


def test_the_limit_of_streams_holds_when_many_ask_at_once(server: Server) -> None:
    held = [hold_open(server, f"{API}/events") for _ in range(MOST + 200)]
    with ThreadPoolExecutor(50) as readers:
        answers = list(readers.map(lambda connection: connection.recv(12), held))
    for connection in held:
        connection.close()
    assert answers.count(b"HTTP/1.1 200") == MOST
    assert answers.count(b"HTTP/1.1 503") == 200


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


@needs_other_users
def test_a_port_where_another_user_listens_on_the_other_loopback_is_not_used(duckrow: Duckrow) -> None:
    port = free_port()
    with as_other_user(LISTENER, str(port)):
        refused = duckrow("web", "--no-browser", "--port", str(port), ok=False)
        assert refused.returncode == 1
        assert f"Port {port} is in use" in refused.stderr
        assert "http" not in refused.stdout
        found, serving = listen(ServerOptions("/nowhere", port=port), exact=False)
        for each in found:
            each.close()
        assert serving.port > port


def test_nobody_can_listen_on_the_other_loopback_beside_a_server(idle: Server) -> None:
    for address, family in (("::1", socket.AF_INET6), ("::", socket.AF_INET6), ("127.0.0.1", socket.AF_INET)):
        with pytest.raises(OSError, match="in use"):
            socket.create_server((address, idle.port), family=family)


def test_where_there_is_no_ipv6_the_one_loopback_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_ipv6(self: socket.socket, address: tuple[str, int]) -> None:
        if ":" in address[0]:
            raise OSError(99, "Cannot assign requested address")
        bound(self, address)

    bound = socket.socket.bind
    monkeypatch.setattr("duckrow.web.server.socket.socket.bind", without_ipv6)
    found, serving = listen(ServerOptions("/nowhere", port=0), exact=True)
    assert [each.getsockname() for each in found] == [("127.0.0.1", serving.port)]
    found[0].close()


def test_the_web_folder_is_private_however_it_was_made(duckrow: Duckrow, serve: Callable[..., Server]) -> None:
    folders = [duckrow.home / path for path in ("web", "web/links", "web/servers")]
    for folder in folders:
        folder.mkdir(parents=True)
        folder.chmod(0o755)
    serve()
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700] * 3


def test_a_web_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "web").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DuckrowError, match="is not your folder"):
        private_folder(str(tmp_path / "web"))
