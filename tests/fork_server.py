"""The program without the start of an interpreter: commands are forked from one that has loaded everything.

A test calls `duckrow` ten times to look, and most of what that costs is loading modules. Each command still is a
process of its own, with its own variables, folder and pipes; only what the interpreter and the linker do at its start
is done once. `may_be_forked` says for which commands that makes no difference.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, TextIO, cast

ROOT = Path(__file__).parent.parent
# What ends by itself.
VERBS = set(
    "run submit ls show logs results why wait kill rerun hold release priority move edit rm clean pause resume batches "
    "limit gpus memory up down config sweep".split()
)
SERVICES = {"--foreground", "--web", "--service"}
# What the linker, the interpreter and our modules read when they start.
AT_START = ("LD_", "PYTHON", "LC_", "LANG")
ONLY_AT_START = ("LD_PRELOAD", "DUCKROW_CRASH_AT")
MOST_BYTES = 60_000  # of a message to the server, or in a pipe that nobody reads yet
WORTH_A_SERVER = 3  # calls

_ROOM = "DUCKROW_TESTS_ROOM"  # where the variables of the command will stand that /proc shows
_PACKAGES = ("core", "kernel", "store", "devices", "engines", "api", "scheduler", "cli")
_PROGRAM = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.fork_server import serve; serve(int(sys.argv[1]))"
)


@dataclass(frozen=True)
class Call:
    words: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    stdin: bytes

    def message(self) -> bytes:
        return json.dumps({"words": self.words, "env": dict(self.env), "cwd": self.cwd}).encode()


def may_be_forked(call: Call) -> bool:
    verb = call.words[0] if call.words else ""
    return (
        verb in VERBS
        and SERVICES.isdisjoint(call.words)
        and not any(name in call.env for name in ONLY_AT_START)
        and max(len(call.stdin), len(call.message())) < MOST_BYTES
    )


# -- the side of the tests -----------------------------------------------------------------------------------------

_servers: dict[frozenset[tuple[str, str]], socket.socket] = {}
_asked: Counter[frozenset[tuple[str, str]]] = Counter()


def server_for(env: Mapping[str, str]) -> socket.socket | None:
    """The server that was started as this command would be; None where too few want such a one."""
    start = frozenset((name, value) for name, value in env.items() if name == "PATH" or name.startswith(AT_START))
    _asked[start] += 1
    if start not in _servers and _asked[start] >= WORTH_A_SERVER:
        _servers[start] = _start({**dict(start), _ROOM: " " * MOST_BYTES})
    return _servers.get(start)


def _start(env: dict[str, str]) -> socket.socket:
    """Not by `subprocess`: what a test begins in that way ends with the test."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        theirs.set_inheritable(True)
        os.posix_spawn(sys.executable, [sys.executable, "-c", _PROGRAM, str(theirs.fileno())], env)
    atexit.register(ours.close)  # which ends it
    return ours


def run_forked(server: socket.socket, call: Call, limit_s: float) -> tuple[int, bytes, bytes]:
    """Run a command to its end, and to the end of what it writes; its exit code, and both."""
    with ExitStack() as stack:
        answers, answer = (stack.enter_context(end) for end in socket.socketpair())
        pipes = [os.pipe() for _ in range(3)]
        stdin, stdout, stderr = (
            stack.enter_context(open(fd, mode)) for fd, mode in zip(_ours(pipes), ("wb", "rb", "rb"), strict=True)
        )
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        try:
            socket.send_fds(server, [call.message()], [*theirs, answer.fileno()])
        finally:
            for fd in theirs:
                os.close(fd)
        answer.close()
        pid = int(answers.recv(16))
        try:
            stdin.write(call.stdin)  # it fits into the pipe
            stdin.close()
        except BrokenPipeError:
            pass  # as of subprocess: it did not want to read it
        return _end_of(pid, answers, stdout, stderr, limit_s)


def _ours(pipes: list[tuple[int, int]]) -> list[int]:
    return [pipes[0][1], pipes[1][0], pipes[2][0]]


def _end_of(
    pid: int, answers: socket.socket, stdout: IO[Any], stderr: IO[Any], limit_s: float
) -> tuple[int, bytes, bytes]:
    read: dict[IO[Any], bytes] = {stdout: b"", stderr: b""}
    end = time.monotonic() + limit_s
    with selectors.DefaultSelector() as ready:
        for pipe in read:
            ready.register(pipe, selectors.EVENT_READ)
        while ready.get_map():
            for key, _ in ready.select(max(0, end - time.monotonic())) or _overdue(pid, limit_s):
                data = os.read(key.fd, 65536)
                read[key.fileobj] += data  # type: ignore[index]
                if not data:
                    ready.unregister(key.fileobj)
    return int(answers.recv(16)), read[stdout], read[stderr]


def _overdue(pid: int, limit_s: float) -> NoReturn:
    os.kill(pid, signal.SIGKILL)
    raise TimeoutError(f"process {pid} has not ended within {limit_s:.0f} s")


# -- the side of the server ----------------------------------------------------------------------------------------


def serve(channel_fd: int) -> None:
    """Fork commands until the tests are over."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    _load_everything()
    channel = socket.socket(fileno=channel_fd)
    running: dict[int, tuple[int, socket.socket]] = {}
    with selectors.DefaultSelector() as ready:
        ready.register(channel, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                if key.fileobj is not channel:
                    ready.unregister(key.fd)
                    _tell_end(key.fd, *running.pop(key.fd))
                    continue
                message, fds, _, _ = socket.recv_fds(channel, 2 * MOST_BYTES, 4)
                if not message:
                    return
                pid, answer = _fork(message, fds)
                watched = os.pidfd_open(pid)
                running[watched] = pid, answer
                ready.register(watched, selectors.EVENT_READ)


def _load_everything() -> None:
    for package in _PACKAGES:
        paths = importlib.import_module(f"duckrow.{package}").__path__
        for module in pkgutil.walk_packages(paths, f"duckrow.{package}."):
            importlib.import_module(module.name)
    for name in ("rich.table", "rich.console", "rich.progress", "rich.live"):
        importlib.import_module(name)
    gc.freeze()  # so that those who look for garbage do not copy all of it


def _fork(message: bytes, fds: list[int]) -> tuple[int, socket.socket]:
    pid = os.fork()
    if pid == 0:
        _be_the_program(json.loads(message), fds)
    for fd in fds[:3]:
        os.close(fd)
    answer = socket.socket(fileno=fds[3])
    answer.send(str(pid).encode())
    return pid, answer


def _tell_end(watched: int, pid: int, answer: socket.socket) -> None:
    os.close(watched)
    with answer:
        answer.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())


def _show_variables(env: dict[str, str]) -> None:
    """In /proc, where whose process it is can be seen; there a forked one has its parent's."""
    start, end = map(int, Path("/proc/self/stat").read_text().rpartition(")")[2].split()[47:49])
    variables = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in env.items())
    memory = os.open("/proc/self/mem", os.O_RDWR)
    os.pwrite(memory, variables.ljust(end - start, b"\0"), start)
    os.close(memory)


def _reopened(stream: TextIO, mode: str, buffering: int = -1) -> TextIO:
    """With nothing of the server's in its buffers, and not written line by line because the server has a terminal."""
    fd, encoding, errors = stream.fileno(), stream.encoding, stream.errors
    return cast(TextIO, open(fd, mode, buffering, encoding, errors, closefd=False))


def _be_the_program(call: dict[str, Any], fds: list[int]) -> NoReturn:
    """As `python -m duckrow` with these words would be."""
    try:
        for target, fd in enumerate(fds[:3]):
            os.dup2(fd, target)
        os.closerange(3, 1024)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.clear()
        os.environ.update(call["env"])
        _show_variables(call["env"])
        os.chdir(call["cwd"])
        sys.path[0] = call["cwd"]
        sys.argv = ["duckrow", *call["words"]]
        sys.stdin, sys.stdout = _reopened(sys.stdin, "r"), _reopened(sys.stdout, "w")
        sys.stderr = _reopened(sys.stderr, "w", buffering=1)
        from duckrow.cli.main import main

        main()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)
