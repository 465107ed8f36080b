"""Streams: what is told, how many there may be, and that nobody pays for those who do not read."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from tests.conftest import DEADLINE_S, Duckrow, until
from tests.web.conftest import API, Server
from tests.web.test_log import events_of

MOST = 300


def hold_open(server: Server, path: str) -> socket.socket:
    """A client that asks and then never reads."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.sendall(
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode()
    )
    return connection


def test_a_change_of_the_queue_is_told(queue: Server) -> None:
    with queue.script() as script, script.stream("GET", f"{API}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = events_of(stream.iter_lines())
        assert next(events)[0] == "hello"
        queue.add("true")
        kind, change = next(events)
        assert (kind, change["jobs"]) == ("change", True)
        assert change["seq"] >= 1


def test_many_changes_are_told_together(queue: Server, duckrow: Duckrow) -> None:
    with queue.script() as script, script.stream("GET", f"{API}/events") as stream:
        events = events_of(stream.iter_lines())
        next(events)
        began = time.monotonic()
        ids = queue.add("true\n" * 40)
        told = 0
        while duckrow.state(ids[-1]) != "succeeded":
            next(events)
            told += 1
        assert told <= (time.monotonic() - began) * 2 + 2


def test_two_hundred_clients_that_never_read_cost_next_to_nothing(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add("yes | head -c 3000000; sleep 600")
    duckrow.wait_for(job_id, "running")
    before = queue.memory_mb()
    held = [hold_open(queue, f"{API}/events") for _ in range(100)]
    held += [hold_open(queue, f"{API}/jobs/{job_id}/log/stream") for _ in range(100)]
    try:
        ids = queue.add("true\n" * 50)
        duckrow.wait_for(ids[-1], "succeeded")
        assert queue.get("/jobs")["total"] == 51
        assert queue.memory_mb() < before + 120
    finally:
        for connection in held:
            connection.close()
    until(lambda: _open_streams(queue, duckrow) == 0, "the end of the streams")


def _open_streams(server: Server, duckrow: Duckrow) -> int:
    """How many connections the server still has, beside that of whoever asks."""
    with open(f"/proc/{server.process.pid}/net/tcp") as file:
        lines = [line.split() for line in file][1:]
    port = f":{server.port:04X}"
    return sum(1 for line in lines if line[1].endswith(port) and line[3] == "01")


def test_of_too_many_streams_the_last_is_refused_with_a_sentence(server: Server) -> None:
    held = [hold_open(server, f"{API}/events") for _ in range(MOST)]
    try:
        for connection in held:
            assert connection.recv(12) == b"HTTP/1.1 200"
        with server.script() as script:
            answer = script.get(f"{API}/events")
            assert answer.status_code == 503
            assert "streams are already open" in answer.json()["error"]["sentence"]
            assert script.get(f"{API}/status").status_code == 200
    finally:
        for connection in held:
            connection.close()


def test_streams_end_with_the_server_and_do_not_delay_it(serve: Callable[..., Server]) -> None:
    server = serve()
    held = [hold_open(server, f"{API}/events") for _ in range(20)]
    for connection in held:
        connection.recv(12)
    assert server.end() == 0
    for connection in held:
        connection.settimeout(DEADLINE_S)
        while connection.recv(4096):
            pass
        connection.close()
    assert "Traceback" not in server.log.read_text()
    assert "ERROR" not in server.log.read_text()
