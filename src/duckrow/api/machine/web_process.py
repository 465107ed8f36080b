"""The web servers of a state folder, seen from outside: listing them, starting one beside the daemon, stopping it.

Each has a file that says where it listens, and holds a lock on that file while it is alive.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass

from duckrow.api.calls.private_folder import private_folder
from duckrow.core.errors import DuckrowError
from duckrow.kernel.process import identity_of, signal_process

_END_S = 10.0
_PROGRAM = "import sys; sys.path[:] = filter(None, sys.path); from duckrow.cli.main import main; main()"


@dataclass(frozen=True)
class WebServer:
    pid: int
    host: str
    port: int
    base_path: str
    read_only: bool
    beside_daemon: bool  # started by `duckrow up --web`, and so ended by `duckrow down`
    id: str = ""  # secret: links are bound to it
    name: str = ""  # its host name in links
    process: str = ""  # identifies its process, even after PID reuse


def announce(home: str, server: WebServer) -> int:
    """Announce that this process serves; the lock is released when it ends, however it ends."""
    private_folder(f"{home}/web")
    path = f"{private_folder(_folder_of(home))}/{server.port}.json"
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    os.ftruncate(fd, 0)
    os.write(fd, json.dumps({**asdict(server), "process": identity_of(server.pid)}).encode())
    return fd


def running_servers(home: str) -> list[WebServer]:
    """The live ones, newest last."""
    try:
        with os.scandir(_folder_of(home)) as found:
            paths = sorted(found, key=lambda file: file.stat().st_mtime)
    except OSError:
        return []  # there was none yet
    return [server for path in paths if (server := _living(path.path)) is not None]


def _living(path: str) -> WebServer | None:
    try:
        with open(path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return WebServer(**json.load(file))
        os.unlink(path)  # left behind by a dead server
    except (OSError, ValueError, TypeError):
        pass  # being written at this moment, or gone
    return None


def start_beside_daemon(home: str) -> str:
    """Start a server that outlives this command; returns what it prints."""
    if any(server.beside_daemon for server in running_servers(home)):
        return "duckrow: the page is already being served; `duckrow web --url` prints a new link.\n"
    import subprocess

    command = [sys.executable, "-c", _PROGRAM, "web", "--no-browser", "--beside-daemon"]
    with open(os.open(f"{home}/web.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as log:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "DUCKROW_HOME": home},
            start_new_session=True,
        )
    assert child.stdout is not None
    said = child.stdout.read().decode(errors="replace")  # it closes this once it listens
    if not said:
        raise DuckrowError(f"The page could not be served; {home}/web.log says why. The daemon is running.")
    return said


def end_beside_daemon(home: str) -> bool:
    """Stop it; whether there was one."""
    ended = [server for server in running_servers(home) if server.beside_daemon]
    for server in ended:
        signal_process(server.process, signal.SIGTERM)
    deadline = time.monotonic() + _END_S
    while ended and time.monotonic() < deadline and set(ended) & set(running_servers(home)):
        time.sleep(0.02)
    return bool(ended)


def _folder_of(home: str) -> str:
    return f"{home}/web/servers"
