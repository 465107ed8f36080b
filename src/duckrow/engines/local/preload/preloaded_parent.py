"""A preloaded Python process: it has imported the libraries that runs need, and forks processes that become runs.

It runs as a script under the Python of the jobs, so it can use only the standard library. It never executes code of the
project: each run does that, with its own variables and random numbers. A process that it forks becomes the host's
child, because the process between them ends, and waits for its order. Then it takes the tag of its attempt, and begins
only if the host is still alive. So if the host dies, the next one either finds the run, or the run does nothing.
"""

from __future__ import annotations

import _socket  # not the classes of `socket`: every page that they touch would be copied in each run
import array
import atexit
import gc
import importlib
import marshal
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import cache_from_source
from typing import Any

if __name__ == "__main__":  # by its path: the files beside it have no package
    from fresh_randomness import make_random, noting_generators  # type: ignore[import-not-found]
    from libraries import (  # type: ignore[import-not-found]
        LOADED_LATER,
        OnlyLibraries,
        is_library,
        is_ours,
        libraries_of,
    )
else:
    from duckrow.engines.local.preload.fresh_randomness import make_random, noting_generators
    from duckrow.engines.local.preload.libraries import (
        LOADED_LATER,
        OnlyLibraries,
        is_library,
        is_ours,
        libraries_of,
    )

EXIT_REQUEUE = 75
READY = b"ready"
_TAG = "DUCKROW_TAG"
_NOTHING_LATER = "DUCKROW_NOTHING_LATER"  # set for ourselves alone
_BYTECODE = "DUCKROW_BYTECODE"  # likewise, by the host
_OWN_VARIABLES = frozenset(
    "CUDA_VISIBLE_DEVICES DUCKROW_JOB_ID DUCKROW_ATTEMPT DUCKROW_RUN_DIR DUCKROW_METRICS DUCKROW_ARRAY_INDEX"
    " DUCKROW_ARRAY_ID SLURM_ARRAY_TASK_ID SLURM_ARRAY_JOB_ID SLURM_JOB_ID MASTER_PORT".split()
)


def main() -> None:
    del sys.path[0]  # runs must not see the folder of this script, nor what was found there
    for name in ("fresh_randomness", "libraries"):
        del sys.modules[name]
    orders = _channel(int(sys.argv[1]))
    modules = [name for name in sys.argv[2].split(",") if name]
    tag_place = _place_of_tag()
    nothing_later = os.environ.pop(_NOTHING_LATER, None) is not None
    bytecode = os.environ.pop(_BYTECODE, "")
    why_cold = _warm_up(modules, sys.argv[3:], not nothing_later, bytecode)
    if why_cold and _loaded_later() and not nothing_later:  # perhaps runs can be forked without these
        os.execve(sys.executable, sys.orig_argv, {**os.environ, _NOTHING_LATER: "1", _BYTECODE: bytecode})
    _say(orders, why_cold)
    run = _serve(orders, tag_place)
    if run is not None:
        run.go()


# -- becoming warm ----------------------------------------------------------------------------------------------------


def _warm_up(modules: list[str], first: list[str], more: bool, bytecode: str) -> str:
    """Import, ready for runs like this first one; why runs cannot be forked from here, or nothing.

    `more`: also what these libraries load later. `bytecode`: where to keep what is compiled.
    """
    path = list(sys.path)
    sys.path.insert(0, os.getcwd())
    gc.disable()  # what is imported stays: to look for garbage again and again takes a sixth of the time
    with _only_libraries(bytecode), _reads_of_own_variables() as read, noting_generators():
        why_cold = _import(modules, first[2:])
        if more and not why_cold:
            _import_later()
    sys.path[:] = path
    gc.enable()
    # All runs share these pages, so the garbage collector must not touch them. It does not even look before: runs would
    # put their own objects where it has made room, and each such page would be copied.
    gc.freeze()
    return why_cold or (f"an import has read {read[0]}, which differs from run to run" if read else _why_unsafe())


def _import(modules: list[str], arguments: list[str]) -> str:
    """The libraries among these modules, and those that the others and the runs import; why that failed, or nothing."""
    needed_by: list[str] = []
    for name in modules:
        try:
            if is_library(name):
                module = importlib.import_module(name)
                needed_by += getattr(module, "imported_by_runs", _nothing)(arguments) if is_ours(name) else []
            else:
                needed_by.append(name)
        except BaseException as error:  # whatever a module does during its import, its runs must hear of it
            return f"the import of {name} failed: {type(error).__name__}: {error}"
    for name, taken in libraries_of(needed_by):
        try:
            __import__(name, fromlist=taken)
        except BaseException:  # it may be missing, and the project may expect that; otherwise its run will say so
            pass
    for name in filter(is_ours, modules):
        getattr(sys.modules[name], "before_forks", _nothing)(arguments)
    return ""


def _import_later() -> None:
    for library in LOADED_LATER.keys() & sys.modules.keys():
        for name in LOADED_LATER[library]:
            try:
                importlib.import_module(name)
            except BaseException:  # this version has none: a run that needs it will say so
                pass


def _loaded_later() -> bool:
    return any(name in sys.modules for names in LOADED_LATER.values() for name in names)


def _nothing(_: object) -> list[str]:
    return []


@contextmanager
def _only_libraries(bytecode: str) -> Iterator[None]:
    """`bytecode`: the folder for compiled modules, if Python must not write them beside their sources."""

    def found(spec: ModuleSpec) -> None:
        """Python reads or compiles it next. What is compiled beside its source is used, and never written there."""
        if spec.has_location and spec.origin is not None and spec.origin.endswith(".py"):
            sys.dont_write_bytecode, sys.pycache_prefix = before
            if not os.path.exists(cache_from_source(spec.origin)):
                sys.dont_write_bytecode, sys.pycache_prefix = False, bytecode

    before = sys.dont_write_bytecode, sys.pycache_prefix
    finder = OnlyLibraries(found if bytecode else _nothing)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        sys.dont_write_bytecode, sys.pycache_prefix = before


@contextmanager
def _reads_of_own_variables() -> Iterator[list[str]]:
    """Which variables were read meanwhile that differ from run to run."""
    read: list[str] = []

    class Watched(os._Environ):  # type: ignore[type-arg]
        def __getitem__(self, name: str) -> str:
            if name in _OWN_VARIABLES:
                read.append(name)
            return super().__getitem__(name)  # type: ignore[no-any-return]

    before = type(os.environ)
    os.environ.__class__ = Watched
    try:
        yield read
    finally:
        os.environ.__class__ = before


def _why_unsafe() -> str:
    # Some libraries (OpenBLAS) end their threads before a fork. A library that still has some does not.
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        return f"the imports have left {threads} threads"
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue  # the listing itself
        if target.startswith("/dev/nvidia"):
            return f"the imports hold {target} open"
    return ""


def _say(orders: _socket.socket, why_cold: str) -> None:
    orders.send(why_cold.encode("utf-8", "replace") or READY)


# -- forking ----------------------------------------------------------------------------------------------------------


def _serve(host: _socket.socket, tag_place: tuple[int, int]) -> PythonProgram | None:
    """Fork on request until the host is gone. In the process of a run, return what it must do."""
    while True:
        message, files = _receive(host)
        if not message:
            return None
        # Do as much as possible before the forks: in a run, every page that it touches is copied.
        channels = [_channel(fd) for fd in files]
        go_between = os.fork()
        if go_between == 0:
            go_between = os.getpid()
            while channels:
                channel = channels.pop()
                pid = os.fork()
                if pid == 0:
                    for other in (host, *channels):
                        other.close()
                    return _wait_for_order(channel, go_between, tag_place)
                channel.send(b"%d" % pid)
                channel.close()
            os._exit(0)
        for channel in channels:
            channel.close()
        os.waitpid(go_between, 0)


def _channel(fd: int) -> _socket.socket:
    return _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, fd)


def _wait_for_order(host: _socket.socket, go_between: int, tag_place: tuple[int, int]) -> PythonProgram:
    message, files = _receive(host)
    if not message:
        os._exit(EXIT_REQUEUE)  # so that nobody takes us for a run
    order = marshal.loads(message)
    os.setsid()
    _write_tag(order["variables"][_TAG], tag_place)
    while os.getppid() == go_between:
        os.sched_yield()
    if os.getppid() != order["host"]:
        os._exit(EXIT_REQUEUE)  # it is dead; if anybody saw us at all, the run must start again
    host.close()
    for name, value in order["variables"].items():  # faster than an update, in a process where nothing is cached
        os.environ[name] = value
    os.chdir(order["cwd"])
    for source, target in zip(files, (1, 2), strict=True):  # standard input has always been /dev/null
        os.dup2(source, target)
        os.close(source)
    return PythonProgram(order["argv"])


_message = bytearray(1 << 20)  # what follows touches only these pages


def _receive(channel: _socket.socket) -> tuple[bytes, list[int]]:
    """A message and the files that came with it; empty if the other end is gone."""
    try:
        length, rights, _, _ = channel.recvmsg_into([_message], _socket.CMSG_SPACE(64))
    except ConnectionError:
        return b"", []
    files = array.array("i")
    for _, _, data in rights:
        files.frombytes(data)
    return bytes(memoryview(_message)[:length]), files.tolist()


def _place_of_tag() -> tuple[int, int]:
    """(address, length) of the tag in the environment that /proc shows of us."""
    with open("/proc/self/stat", "rb") as file:
        start = int(file.read().rpartition(b")")[2].split()[47])
    with open("/proc/self/environ", "rb") as file:
        variables = file.read()
    at = (b"\0" + variables).index(b"\0" + _TAG.encode() + b"=")
    return start + at, variables.index(b"\0", at) - at


def _write_tag(tag: str, place: tuple[int, int]) -> None:
    """With the parent's tag, the processes of a forked run would look like its preloaded parent."""
    address, length = place
    memory = os.open("/proc/self/mem", os.O_RDWR)
    os.pwrite(memory, f"{_TAG}={tag}".encode().ljust(length, b"\0"), address)
    os.close(memory)


# -- running ----------------------------------------------------------------------------------------------------------


class PythonProgram:
    """What `python ARGV...` would do."""

    def __init__(self, argv: list[str]) -> None:
        self._argv = argv

    def go(self) -> None:
        make_random()
        sys.excepthook = _without_our_frames
        if self._argv[0] == "-m":
            forked_main = getattr(sys.modules.get(self._argv[1]), "forked_main", None)
            if forked_main is not None:
                self._call(forked_main)
            import runpy

            sys.argv = self._argv[1:]
            sys.path.insert(0, os.getcwd())
            runpy.run_module(self._argv[1], run_name="__main__", alter_sys=True)
        else:
            self._script(os.path.abspath(self._argv[0]))

    def _script(self, path: str) -> None:
        from types import ModuleType

        sys.argv = self._argv
        sys.path.insert(0, os.path.dirname(path))
        module = sys.modules["__main__"] = ModuleType("__main__")
        module.__file__ = path
        module.__builtins__ = __builtins__  # type: ignore[attr-defined]
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec")
        exec(code, module.__dict__)

    def _call(self, forked_main: Callable[[list[str]], int]) -> None:
        """A module made to be forked: its process ends like one of multiprocessing, without tearing Python down."""
        sys.argv = self._argv[1:]
        code = 1
        try:
            code = forked_main(self._argv[2:])
        finally:
            if "threading" in sys.modules:
                sys.modules["threading"]._shutdown()
            atexit._run_exitfuncs()
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except (OSError, ValueError):
                    pass  # the disk is full, or the function has closed it
            os._exit(code)


def _without_our_frames(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    while trace is not None and trace.tb_next is not None:
        name = trace.tb_frame.f_code.co_filename
        if name != __file__ and "runpy" not in name:
            break
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


if __name__ == "__main__":
    main()
