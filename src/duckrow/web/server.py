"""The server: a socket, the application behind it, and a quick shutdown."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import repeat
from types import FrameType
from typing import Any

import uvicorn

from duckrow.core.errors import DuckrowError
from duckrow.web.answers.change_feed import ChangeFeed
from duckrow.web.app import build
from duckrow.web.gate.request_timeout import TimeLimitedProtocol
from duckrow.web.server_options import ServerOptions

_PORTS_TRIED = 50
_MOST_CONNECTIONS = 1000
_END_S = 2
_QUEUED = 1024  # connections that wait in the kernel
_TAKEN_AT_ONCE = 64  # so few that all can authenticate, two rounds later, before there are too many unknown ones
_TURN_S = 0.0005  # a thread with a row of SQLite's in its hand waits this long for one that works: 5 ms without this
_NO_SUCH_ADDRESS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def listen(serving: ServerOptions, exact: bool) -> tuple[list[socket.socket], ServerOptions]:
    """Sockets on this port, or on the next free one unless `exact`; and the options with that port."""
    for port in _ports(serving.port, exact):
        try:
            found = _listening_at_all(serving.addresses, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            raise DuckrowError(f"Cannot listen on {serving.host}, port {port}: {error.strerror}.") from None
        return found, replace(serving, port=found[0].getsockname()[1])
    last = "" if exact else f" to {serving.port + _PORTS_TRIED - 1}"
    raise DuckrowError(f"Port {serving.port}{last} is in use. Choose another: duckrow web --port 9000")


def _ports(first: int, exact: bool) -> Iterator[int]:
    """Port 0 means any. Try several: the kernel's choice for one address may be in use on another."""
    if first == 0:
        return repeat(0, _PORTS_TRIED)
    return iter(range(first, first + (1 if exact else _PORTS_TRIED)))


def _listening_at_all(addresses: tuple[str, ...], port: int) -> list[socket.socket]:
    """Listen on all addresses or on none. Skip those that this machine does not have (::1 without IPv6)."""
    found: list[socket.socket] = []
    try:
        for address in addresses:
            try:
                found.append(_listening(address, found[0].getsockname()[1] if found else port))
            except OSError as error:
                if not found or error.errno not in _NO_SUCH_ADDRESS:
                    raise
    except BaseException:
        for each in found:
            each.close()
        raise
    return found


def _listening(host: str, port: int) -> socket.socket:
    """With an explicit TCP protocol: only then does asyncio send small answers at once, not 40 ms later."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(_QUEUED)
    except BaseException:
        found.close()
        raise
    return found


class StopRequests:
    """Ctrl-C and SIGTERM, from before the page is announced.

    A KeyboardInterrupt that is raised while modules are loaded can get lost there, and the server would run on.
    """

    def __init__(self) -> None:
        self.any = False
        self.by_key = False
        self.on_request: Callable[[], None] = lambda: None

    @contextmanager
    def heard(self) -> Iterator[StopRequests]:
        before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.any, self.by_key = True, number == signal.SIGINT
        self.on_request()


def serve(listening: list[socket.socket], serving: ServerOptions, stop: StopRequests) -> None:
    """Serve until somebody stops it."""
    sys.setswitchinterval(_TURN_S)
    app, services = build(serving)
    protocol: Any = partial(TimeLimitedProtocol, connections=services.connections)
    config = uvicorn.Config(
        app,
        log_level=logging.WARNING,
        access_log=False,  # URLs contain tickets
        server_header=False,
        proxy_headers=False,
        loop="asyncio",  # uvloop would accept all waiting connections at once
        http=protocol,
        backlog=_TAKEN_AT_ONCE,
        ws="none",
        timeout_graceful_shutdown=_END_S,
        timeout_keep_alive=30,
        limit_concurrency=_MOST_CONNECTIONS,
    )
    _Server(config, services.change_feed, stop).run(listening)


class _Server(uvicorn.Server):
    """Ends its streams at once, because browsers never do."""

    def __init__(self, config: uvicorn.Config, change_feed: ChangeFeed, stop: StopRequests) -> None:
        super().__init__(config)
        self._change_feed = change_feed
        self._stop = stop
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        for listening in sockets or []:
            listening.listen(_QUEUED)  # asyncio uses one number for both: accepted at once, and waiting

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Being asked to stop is not a failure, so the signal is not raised again afterwards."""
        self._stop.on_request = self._end
        self.should_exit = self._stop.any
        yield

    def _end(self) -> None:
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._change_feed.close)
