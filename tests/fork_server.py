"""Our program without the start of an interpreter: processes are forked from one that has loaded all modules.

A test calls `duckrow` ten times, and most of what that costs is loading modules. `Program` is a `subprocess.Popen` that
forks where that makes no difference, and starts an interpreter where it does. What is forked is a process of its own,
with its own variables (also in /proc), folder, session and files; what the linker and the interpreter do when they
start is done once.
"""

from __future__ import annotations

import atexit
import builtins
import errno
import fcntl
import gc
import hashlib
import importlib
import io
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, AnyStr, NamedTuple

from duckrow.kernel.process import identity_of, pid_in
from tests.heap_holes import fill_holes

ROOT = Path(__file__).parent.parent
# What the linker and the interpreter read when they start: a server for each such start.
AT_START = ("LD_", "PYTHON", "LC_", "LANG")
# What is read before there could be a fork.
ONLY_AT_START = ("LD_PRELOAD", "DUCKROW_CRASH_AT")
WORTH_A_SERVER = 3  # calls
MOST_BYTES = 60_000  # of a message

KERNEL_KILLS = "DUCKROW_TESTS_KERNEL_KILLS"
"""In the variables of a test that has the kernel kill for memory. The kernel counts that for the whole machine, and
hosts of other tests would take a SIGKILL of theirs for one: they see a count that does not rise."""
_ROOM_VARIABLE = "DUCKROW_TESTS_ROOM"  # where the variables will stand that /proc shows of a forked process
_SERVE = {"web", "gpupeasy"}  # words of commands that answer HTTP
_PACKAGES = [f"duckrow.{name}" for name in "core kernel store devices engines clusters api scheduler cli".split()]
_MORE_PACKAGES = {
    "web": ["duckrow.web"],
    "hydra": ["duckrow.hydra", "hydra_plugins.duckrow_launcher", "hydra._internal.core_plugins"],
}
_MORE = {
    "web": "fastapi uvicorn jinja2",
    "hydra": "hydra.main hydra._internal.utils hydra.plugins.launcher",
}
_MAIN = (
    "import sys; sys.path[0] = {root!r}; from tests.fork_server import serve;"
    " serve({fd}, {door}, {address!r}, {key!r})()"
)


def _as_in_proc(env: Mapping[str, str]) -> bytes:
    return b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in env.items())


# Those of the tests, and some more. Who looks through all processes, again and again, reads the whole room.
_ROOM = len(os.environ.get(_ROOM_VARIABLE, "")) or len(_as_in_proc(os.environ)) + 6_000


class Key(NamedTuple):
    """What servers differ in."""

    kind: str  # what else it has loaded
    start: tuple[tuple[str, str], ...]  # the variables that it was started with


@dataclass(frozen=True)
class Order:
    """A process that is to be: `python ARGUMENTS` with these variables, in this folder."""

    arguments: list[str]
    env: dict[str, str]
    cwd: str
    new_session: bool
    files: list[int]  # their numbers there

    def message(self) -> bytes:
        return json.dumps(vars(self)).encode()

    def may_be_forked(self) -> bool:
        first = next(iter(_without_flag(self.arguments)), "-")
        has_options = first.startswith("-") and first not in ("-c", "-m")
        has_room = len(_as_in_proc(self.env)) < _ROOM and len(self.message()) < MOST_BYTES
        return not has_options and not self.env.keys() & set(ONLY_AT_START) and has_room

    def is_ours(self) -> bool:
        first, second = [*_without_flag(self.arguments), "", ""][:2]
        return (
            (first, second) == ("-m", "duckrow")
            or "duckrow.cli.main" in second
            or first.endswith("crashing_duckrow.py")
        )

    def key(self, kind: str = "") -> Key:
        start = sorted((name, value) for name, value in self.env.items() if name.startswith(AT_START))
        serves = not _SERVE.isdisjoint(self.arguments)
        return Key(kind or ("web" if serves else ""), tuple(start))


def _without_flag(arguments: list[str]) -> list[str]:
    """`-P`: the first place to look for modules is not where the program or its user is."""
    return arguments[1:] if arguments[:1] == ["-P"] else arguments


# -- the side of who wants a process -------------------------------------------------------------------------------

# The process with whose end all servers end: the one that forks the workers, which loads this module for them.
_RUN = identity_of(os.getpid())
_servers: dict[Key, str] = {}  # -> its address
_asked: Counter[Key] = Counter()
_own: list[tuple[Key, str]] = []  # in what was forked: its server, which will do for all that it starts


class Program(subprocess.Popen[AnyStr]):
    kind = ""
    _told: socket.socket | None = None  # where its server tells its end

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, *rest: Any) -> None:
        """As in `subprocess`, whose own has these arguments from 3.10 on."""
        passed: tuple[int, ...] = tuple(rest[1])
        cwd, env, shell = rest[2], rest[3], rest[6]
        pipes: Sequence[int] = rest[7:13]
        restores_signals, gid, gids, uid, umask, new_session, *group = rest[13:]
        is_plain = (preexec_fn, shell, gid, gids, uid, umask) == (None, False, None, None, None, -1)
        if is_plain and restores_signals and set(group) <= {-1} and list(args[:1]) == [sys.executable]:
            where = os.getcwd() if cwd is None else os.path.abspath(cwd)
            files = [0, 1, 2, *passed]
            variables = dict(os.environ if env is None else env)
            order = Order([os.fsdecode(word) for word in args[1:]], variables, where, new_session, files)
            given = [
                *(fd if fd != -1 else number for number, fd in enumerate(pipes[at] for at in (0, 3, 5))),
                *passed,
            ]
            address = self._address_of_server(order)
            if address:
                self._told, self.pid = _ask(address, order, given)
                self._child_created = True
                self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
                return
        super()._execute_child(args, executable, preexec_fn, *rest)  # type: ignore[misc]

    def _address_of_server(self, order: Order) -> str | None:
        """None where an interpreter must start, or so few want such a server that it is not worth its own start."""
        if not order.may_be_forked() or not (order.is_ours() or self.kind):
            return None
        key = order.key(self.kind)
        for own, address in _own:
            return address if own.start == key.start else None
        _asked[key] += 1
        if key not in _servers and (_asked[key] >= _worth_a_server(key.kind) or _is_there(key)):
            _servers[key] = _start_server(key)
        return _servers.get(key)

    @property
    def is_forked(self) -> bool:
        return self._told is not None

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._told is None:
            return super()._try_wait(wait_flags)  # type: ignore[misc,no-any-return]
        try:
            status = self._told.recv(16, socket.MSG_DONTWAIT if wait_flags & os.WNOHANG else 0)
        except BlockingIOError:
            return 0, 0
        self._told.close()  # whereupon the server lets go of its PID
        return self.pid, int(status or signal.SIGKILL)

    def _internal_poll(self, *options: Any, **more: Any) -> int | None:
        if self._told is None:
            return super()._internal_poll(*options, **more)  # type: ignore[misc,no-any-return]
        if self.returncode is None and self._waitpid_lock.acquire(False):  # type: ignore[attr-defined]
            try:
                pid, status = (0, 0) if self.returncode is not None else self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


class Script(Program[AnyStr]):
    """`python SCRIPT`, of somebody who has imported duckrow."""

    kind = "script"


class HydraScript(Script[AnyStr]):
    """`python SCRIPT`, of somebody who has imported Hydra."""

    kind = "hydra"


def run_to_end(
    kind: type[Script[str]], words: Sequence[str | Path], cwd: Path, env: Mapping[str, str], limit_s: float
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run`: a script, and what it has said."""
    pipe = subprocess.PIPE
    with kind([sys.executable, *words], cwd=cwd, env=env, stdout=pipe, stderr=pipe, text=True) as process:
        said = process.communicate(timeout=limit_s)
    return subprocess.CompletedProcess(process.args, process.returncode, *said)


def address_for(env: Mapping[str, str]) -> str:
    """Of the server for `duckrow` with these variables: for who asks it without us, as `quick_duckrow.py` does."""
    key = Order(["-m", "duckrow"], dict(env), "/", False, []).key()
    if key not in _servers:
        _servers[key] = _start_server(key)
    return _servers[key]


def _worth_a_server(kind: str) -> int:
    """How many calls are. To load what answers HTTP takes as long as the start of a server that has loaded it."""
    return 1 if kind == "web" else WORTH_A_SERVER


def _address_of(key: Key) -> str:
    return f"\0duckrow-tests-{hashlib.sha256(repr((_RUN, key)).encode()).hexdigest()}"


def _is_there(key: Key) -> bool:
    """Whether another worker has started one."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        return door.connect_ex(_address_of(key)) == 0


def _start_server(key: Key) -> str:
    """One for all workers of a run: who comes first starts it.

    Not by `subprocess`: what a test begins in that way ends with the test. Its socket listens at once: who asks waits
    until all modules are loaded, without asking again and again.
    """
    address = _address_of(key)
    with open(__file__) as one_at_a_time, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        fcntl.flock(one_at_a_time, fcntl.LOCK_EX)
        try:
            door.bind(address)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return address
        door.listen(100)
        _spawn_server(key, address, door, lifeline=os.pidfd_open(pid_in(_RUN) or 0))
    return address


def _spawn_server(key: Key, address: str, door: socket.socket, lifeline: int) -> None:
    for fd in (lifeline, door.fileno()):
        os.set_inheritable(fd, True)
    program = _MAIN.format(root=str(ROOT), fd=lifeline, door=door.fileno(), address=address, key=tuple(key))
    os.posix_spawn(sys.executable, [sys.executable, "-c", program], {**dict(key.start), _ROOM_VARIABLE: " " * _ROOM})
    os.close(lifeline)


def _ask(address: str, order: Order, files: list[int]) -> tuple[socket.socket, int]:
    told = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    told.connect(address)
    socket.send_fds(told, [order.message()], files)
    return told, int(told.recv(16))


# -- the side of the server ----------------------------------------------------------------------------------------


_callers: set[socket.socket] = set()  # of those who run


def serve(lifeline: int, door_fd: int, address: str, key: tuple[str, Any]) -> Callable[[], None]:
    """Fork whenever asked to, until the tests are over. In what was forked: return what that is to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    with socket.socket(fileno=door_fd) as door, selectors.DefaultSelector() as ready:
        for fd in (lifeline, door_fd):
            os.set_inheritable(fd, False)
        _load(key[0])
        _own.append((Key(*key), address))
        ready.register(lifeline, selectors.EVENT_READ)
        ready.register(door, selectors.EVENT_READ)
        while True:
            for found, _ in ready.select():
                if found.fd == lifeline:
                    return lambda: None
                todo = found.data(ready) if found.data else _answer(door, ready)
                if todo is not None:
                    return todo


def _load(kind: str) -> None:
    for package in [*_PACKAGES, *_MORE_PACKAGES.get(kind, [])]:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    for name in ["rich.table", "rich.console", "rich.progress", "rich.live", *_MORE.get(kind, "").split()]:
        importlib.import_module(name)
    gc.freeze()  # so that looking for garbage does not copy all of it
    fill_holes()


def _answer(door: socket.socket, ready: selectors.BaseSelector) -> Callable[[], None] | None:
    caller, _ = door.accept()
    _, uid, _ = struct.unpack("3i", caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    message, files, _, _ = socket.recv_fds(caller, 2 * MOST_BYTES, 16)
    if uid != os.getuid() or not message:
        caller.close()
        return None
    pid = os.fork()
    if pid == 0:
        ready.close()
        for ours in (door, caller, *_callers):
            ours.detach()  # or it would close, some time, a file that has its number by then
        order = Order(**json.loads(message))
        _become(order, files)
        return lambda: _run_and_end(order.arguments)
    for fd in files:
        os.close(fd)
    _callers.add(caller)
    _tell(caller, pid)
    watched = os.pidfd_open(pid)
    ready.register(watched, selectors.EVENT_READ, lambda ready: _tell_end(ready, watched, pid, caller))
    return None


def _tell_end(ready: selectors.BaseSelector, watched: int, pid: int, caller: socket.socket) -> None:
    """Its PID is its own until the caller has heard of it."""
    ready.unregister(watched)
    os.close(watched)
    end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert end is not None
    _tell(caller, end.si_status << 8 if end.si_code == os.CLD_EXITED else end.si_status)
    ready.register(caller, selectors.EVENT_READ, lambda ready: _bury(ready, pid, caller))


def _tell(caller: socket.socket, number: int) -> None:
    try:
        caller.send(str(number).encode())
    except BrokenPipeError:
        pass  # it has ended, or does not want to know


def _bury(ready: selectors.BaseSelector, pid: int, caller: socket.socket) -> None:
    ready.unregister(caller)
    _callers.remove(caller)
    caller.close()
    os.waitpid(pid, 0)


# -- in what was forked --------------------------------------------------------------------------------------------


def _become(order: Order, files: list[int]) -> None:
    if order.new_session:
        os.setsid()
    first_free = 1 + max(*files, *order.files)
    for number, fd in zip(order.files, [os.dup2(fd, first_free + at) for at, fd in enumerate(files)], strict=True):
        os.dup2(fd, number)
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in order.files:
            try:
                os.close(int(name))
            except OSError:
                pass  # the listing itself
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(order.env)
    if KERNEL_KILLS not in order.env:
        vars(sys.modules["duckrow.engines.local.kernel_kills"])["_counted"] = lambda: 0
    _show_variables(order.env)
    os.chdir(order.cwd)
    streams = [_reopened(number, mode) for number, mode in enumerate(("rb", "wb", "wb"))]
    sys.stdin, sys.stdout, sys.stderr = streams
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = streams  # type: ignore[misc]
    subprocess.Popen = Program  # type: ignore[misc]


def _show_variables(env: Mapping[str, str]) -> None:
    """In /proc, by which is seen whose a process is; one that is forked has those of its parent there."""
    start, end = map(int, Path("/proc/self/stat").read_text().rpartition(")")[2].split()[47:49])
    variables = _as_in_proc(env)
    assert len(variables) <= end - start
    memory = os.open("/proc/self/mem", os.O_RDWR)
    os.pwrite(memory, variables.ljust(end - start, b"\0"), start)
    os.close(memory)


def _reopened(number: int, mode: str) -> Any:
    """As the interpreter opens them."""
    at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
    like = (sys.stdin, sys.stdout, sys.stderr)[number]
    file: Any = os.fdopen(number, mode, 0 if at_once and number else -1, closefd=False)
    by_line = not at_once and (number == 2 or os.isatty(number))
    return io.TextIOWrapper(file, like.encoding, like.errors, line_buffering=by_line, write_through=at_once)


def _run_and_end(arguments: list[str]) -> None:
    """What `python ARGUMENTS` does, but that it does not take itself apart at its end: that copies all that was loaded,
    and costs four times as much as all else. A script that ends in another way than these two ends as ever."""
    code = 0
    try:
        _run(arguments)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    main = vars(sys.modules["__main__"])
    main.update(dict.fromkeys(main.keys() - {"__builtins__"}))  # whereupon its open files are written
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            sys.exit(code)  # closed, or its reader is gone: the interpreter knows what to say of it
    os._exit(code & 0xFF)


def _run(given: list[str]) -> None:
    """What `python GIVEN` does before its end."""
    sys.orig_argv = [sys.executable, *given]
    arguments = _without_flag(given)
    sys.path[:1] = [_first_place(arguments)] if arguments is given else []
    if arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        exec(_compiled(arguments[1], "<string>"), {"__name__": "__main__"})
    elif arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        main = sys.modules["__main__"] = ModuleType("__main__")
        loader = SourceFileLoader("__main__", arguments[0])
        vars(main).update(__file__=arguments[0], __cached__=None, __loader__=loader, __builtins__=builtins)
        exec(_compiled(Path(arguments[0]).read_bytes(), arguments[0]), vars(main))


def _first_place(arguments: list[str]) -> str:
    """Where modules are looked for first."""
    places = {"-c": "", "-m": os.getcwd()}
    return places[arguments[0]] if arguments[0] in places else os.path.dirname(os.path.abspath(arguments[0]))


def _compiled(source: str | bytes, name: str) -> CodeType:
    """Without what this module has from the future: functions would not be those that an interpreter compiles."""
    return compile(source, name, "exec", dont_inherit=True)
