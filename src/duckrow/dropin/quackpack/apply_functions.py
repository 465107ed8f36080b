"""Functions that adapt a command to the place where it is launched, and their building blocks."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping

_LAUNCHER = "torch.distributed.launch"
_TRIES = 100  # how often to try another port
_claims: list[int] = []  # sockets that claim the ports in use


def insert_string(total_str: str, previous_str: str, insert_str: str) -> str:
    """Insert a word after the first `previous_str`. Everything else, including quotes and blanks, stays the same."""
    found = re.search(rf"(?<!\S){re.escape(previous_str)}(?!\S)", total_str)
    if found is None:
        raise ValueError(f"'{previous_str}' is not a word of this command: {total_str}")
    return f"{total_str[: found.end()]} {insert_str}{total_str[found.end() :]}"


def find_free_ports(n: int = 1) -> int | list[int]:
    """A TCP port that nobody uses now; a list of them for more than one."""
    sockets: list[socket.socket] = []
    try:
        for _ in range(n):
            sockets.append(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            sockets[-1].bind(("", 0))
        ports = [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
    return ports if n > 1 else ports[0]


def fresh_port_mod_fn(cmd: str, env: Mapping[str, str] | None = None) -> str:
    return insert_string(cmd, _LAUNCHER, f"--master_port={_own_port()}")


def fresh_n_proc_per_node(cmd: str, env: Mapping[str, str]) -> str:
    gpus = len(env["CUDA_VISIBLE_DEVICES"].split(","))
    return insert_string(cmd, _LAUNCHER, f"--nproc_per_node={gpus}")


def _own_port() -> int:
    """A free port that was not given to another running job, which may not have opened it yet."""
    for _ in range(_TRIES):
        port = find_free_ports()
        assert isinstance(port, int)
        if _claim(port):
            return port
    raise OSError(f"each of {_TRIES} free ports has been given to another job")


def _claim(port: int) -> bool:
    """Claim the port by a named socket. The command inherits it, and the kernel closes it when the command ends."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0duckrow-port-{port}")
    except OSError:
        name.close()
        return False
    name.set_inheritable(True)
    _claims.append(name.detach())
    return True


def take_claims() -> list[int]:
    """The claims of the ports handed out since the last call; the caller must close them."""
    taken, _claims[:] = list(_claims), []
    return taken
