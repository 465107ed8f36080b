"""The host's end of a keeper: starting one, giving it orders, hearing its news."""

from __future__ import annotations

import fcntl
import marshal
import os
import secrets
import socket
import sys
from collections.abc import Callable
from typing import Any

from duckrow.core.errors import StateError
from duckrow.engines.local import keeper as keeper_program

_READ_BYTES = 1 << 16


class Channel:
    """A keeper of ours, alive until its file says otherwise."""

    def __init__(self, folder: str, log: str, output: str) -> None:
        """`output`: where attempts write. `log`: each to its own log; `inherit`, `terminal`: where we write."""
        self.name = secrets.token_hex(6)
        self.journal = os.path.join(folder, self.name)
        self.started = 0  # how many attempts it was told to start
        self._partial = b""
        self._known_environments: set[int] = set()
        ours, theirs = socket.socketpair()
        self._socket = ours
        self.fd = ours.fileno()
        journal = self._make_journal()
        keep = () if output == "terminal" else (0,) if output == "inherit" else (0, 1, 2)
        actions: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDONLY, 0) for fd in keep[:1]]
        actions += [(os.POSIX_SPAWN_OPEN, fd, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) for fd in keep[1:]]
        theirs.set_inheritable(True)
        os.set_inheritable(journal, True)
        command = [sys.executable, "-I", "-S", "-X", "utf8", keeper_program.__file__]
        command += [str(journal), str(theirs.fileno()), output]
        try:
            os.posix_spawn(sys.executable, command, os.environ, file_actions=actions)
        except OSError as error:
            raise StateError(f"The keeper of the jobs could not be started: {error.strerror}.") from None
        finally:
            theirs.close()
            os.close(journal)

    def _make_journal(self) -> int:
        """The file and its lock are there before any attempt names its keeper, which gets both from us.

        So a missing journal was taken away, and an unlocked one is that of a dead keeper, not of one that has yet
        to begin.
        """
        try:
            fd = os.open(self.journal, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
            fcntl.flock(fd, fcntl.LOCK_EX)
            return fd
        except OSError as error:
            raise StateError(
                f"The journal {self.journal} cannot be made: {error.strerror}. Nothing was started."
            ) from None

    def order(self, orders: list[dict[str, Any]], variables_of: Callable[[int], dict[str, str]]) -> None:
        frames = b""
        for number in {order["environment"] for order in orders} - self._known_environments:
            frames += _frame(("env", number, variables_of(number)))
            self._known_environments.add(number)
        self.started += len(orders)
        try:
            self._socket.sendall(frames + _frame(("start", orders)))
        except OSError:
            pass  # the keeper is dead: its end of file tells us, and its journal what it did

    def news(self) -> list[str] | None:
        """The lines that have come; None when the keeper is gone."""
        try:
            data = self._socket.recv(_READ_BYTES)
        except OSError:
            data = b""
        if not data:
            return None
        *lines, self._partial = (self._partial + data).split(b"\n")
        return [line.decode("utf-8", "replace") for line in lines]

    def close(self) -> None:
        self._socket.close()


def _frame(message: tuple[Any, ...]) -> bytes:
    body = marshal.dumps(message)
    return len(body).to_bytes(4, "little") + body


def remove_if_dead(journal: str) -> bool:
    """Delete a journal that nobody needs, unless its keeper lives."""
    try:
        fd = os.open(journal, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(journal)
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
