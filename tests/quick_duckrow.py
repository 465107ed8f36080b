"""`duckrow` for a shell in a test: asks the fork server for the process instead of starting an interpreter.

Run by its path with `python -IS`, so that it starts quickly. `tests/fork_server.py` explains the server.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

ADDRESS = "FORK_SERVER"  # as a variable; a null byte cannot be in one
PYTHON = "FORK_SERVER_PYTHON"


def main() -> None:
    words = sys.argv[1:] if sys.argv[1:2] == ["-m"] else ["-m", "duckrow", *sys.argv[1:]]
    if ADDRESS not in os.environ or os.isatty(0):  # a terminal's Ctrl-C reaches only those who were started in it
        os.execv(os.environ[PYTHON], [os.environ[PYTHON], *words])
    order = {"arguments": words, "env": dict(os.environ), "cwd": os.getcwd(), "new_session": False, "files": [0, 1, 2]}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.connect(os.environ[ADDRESS].replace("@", "\0", 1))
        socket.send_fds(server, [json.dumps(order).encode()], [0, 1, 2])
        process = int(server.recv(16))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(process, number))
        status = int(server.recv(16) or signal.SIGKILL)
    if os.WIFSIGNALED(status):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
