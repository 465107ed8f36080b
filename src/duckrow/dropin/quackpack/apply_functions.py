"""Functions that adapt a command to the place where it is launched, and what they are made of."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping

_LAUNCHER = "torch.distributed.launch"
_TRIES = 100  # ports that other jobs have been given
_claims: list[int] = []  # files that have the names of the ports which were given out


def insert_string(total_str: str, previous_str: str, insert_str: str) -> str:
    """Put a word behind the first that is `previous_str`. All else, quotes and blanks too, stays as it is."""
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
    """A free port that no other job has been given that still runs, although it may not have opened it yet."""
    for _ in range(_TRIES):
        port = find_free_ports()
        assert isinstance(port, int)
        if _claim(port):
            return port
    raise OSError(f"each of {_TRIES} free ports has been given to another job")


def _claim(port: int) -> bool:
    """Put our name on it. The socket goes along to the command, and the kernel closes it when that has ended."""
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
    """The files that came with the ports given out since this was last asked: whoever takes them closes them."""
    taken, _claims[:] = list(_claims), []
    return taken
