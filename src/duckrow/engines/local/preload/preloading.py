"""Preloading: the parents that fork runs, one for each set of modules, and when a run must start cold."""

from __future__ import annotations

import array
import errno
import marshal
import os
import re
import signal
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping

from duckrow.core.jobs.job import QueuedJob
from duckrow.core.jobs.title import without_call
from duckrow.core.late_pattern import late_pattern
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import RUNS_FOLLOW, Reactor
from duckrow.engines.local.processes.processes import TAG

MOST_PARENTS = 4
_IDLE_S = 300.0
_IMPORT_S = 60.0  # runs wait no longer for a parent that imports
_ANSWER_S = 20.0  # a parent that takes longer to fork has a problem
_TAG_ROOM = 120
_FEW, _AT_ONCE = 3, 8
_OLD_FORMAT = 2  # of marshal: every Python 3 reads it, whichever the job has
_WORTH_IT = 2  # a preloaded parent for a single run would be a waste
_SCRIPT = os.path.join(os.path.dirname(__file__), "preloaded_parent.py")

BYTECODE = "DUCKROW_BYTECODE"
"""The variable that tells a preloaded parent where to keep compiled modules; runs do not see it."""

PARENT_TAG = b"nest"
"""The beginning of the tag of a preloaded parent and of its children that are not runs yet."""

Variables = Mapping[bytes, bytes]
_Key = tuple[str, str, int, str]

_PLAIN = late_pattern(r"[\w@%+=:,./-]+( [\w@%+=:,./-]+)*", re.ASCII)  # no character that a shell would change


class PythonCommand(NamedTuple):
    python: str
    argv: list[str]  # what follows it


def python_command(command: str, path: str | None) -> PythonCommand | None:
    """What Python must do, if the command is only `python train.py --lr 0.1` and needs no shell."""
    words = _plain_words(without_call(command).removeprefix("exec "))
    if not words or not os.path.basename(words[0]).startswith("python"):
        return None
    python = words[0] if "/" in words[0] else _found(words[0], path)
    rest = words[1:]
    is_call = len(rest) > 1 and (rest[0] == "-m" or not rest[0].startswith("-"))
    is_script = len(rest) == 1 and not rest[0].startswith("-")
    return PythonCommand(python, rest) if python and (is_call or is_script) else None


def _found(program: str, path: str | None) -> str | None:
    import shutil

    return shutil.which(program, path=path)


def _plain_words(command: str) -> list[str]:
    if _PLAIN.fullmatch(command):
        return command.split(" ")
    import shlex

    try:
        words = shlex.split(command)
    except ValueError:
        return []
    return words if shlex.join(words) == command else []


class _PreloadedParent:
    """A warm parent, and its children that wait to become runs."""

    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self.channel = channel
        self.ready = False
        self.why_cold = ""
        self.used_at = time.monotonic()
        self._spares: deque[socket.socket] = deque()

    def fork_ahead(self) -> None:
        """Let it fork children in advance, several at a time, so that no start waits for a fork."""
        if len(self._spares) > _FEW:
            return
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(_AT_ONCE)]
        _send(self.channel, b"fork", [theirs.fileno() for _, theirs in pairs])
        for ours, theirs in pairs:
            theirs.close()
            ours.settimeout(_ANSWER_S)
            self._spares.append(ours)

    def start(self, order: bytes, files: list[int]) -> int:
        """Make a run of the next child; its PID."""
        child = self._spares.popleft()
        try:
            pid = int(child.recv(32))
            _send(child, order, files)
        except (OSError, ValueError) as error:
            raise OSError(errno.EAGAIN, f"its preloaded parent did not answer ({error})") from None
        finally:
            child.close()
        return pid

    def close(self) -> None:
        for channel in (self.channel, *self._spares):
            channel.close()


def _send(channel: socket.socket, message: bytes, files: list[int]) -> None:
    rights = array.array("i", files)
    channel.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])


class PreloadedParents:
    def __init__(self, reactor: Reactor, bytecode_folder: Callable[[], str | None]) -> None:
        self._reactor = reactor
        self._bytecode_folder = bytecode_folder
        self.on_ready: Callable[[], None] = lambda: None
        self._parents: dict[_Key, _PreloadedParent] = {}
        self._wanted: Counter[_Key] = Counter()  # how many starts each would have served
        self._ended: set[int] = set()  # asked to stop, and not yet waited for

    @property
    def pids(self) -> set[int]:
        return {parent.pid for parent in self._parents.values()} | self._ended

    def is_importing_for(self, job: QueuedJob, base: Variables, runs_follow: bool) -> bool:
        """Whether this job should wait for a preloaded parent that is importing; starts one if it is worth it.

        A cold start would not be faster, and many processes that import the same at once are slow.
        """
        command = _command_of(job, base)
        parent = None if command is None else self._parent_of(command, job, base, runs_follow)
        return parent is not None and not parent.ready

    def start(self, job: QueuedJob, base: Variables, extra: Variables, out: int, err: int) -> tuple[int | None, str]:
        """(PID of a run forked for this job, ""), or (None, why it must start cold, if that is worth saying)."""
        command = _command_of(job, base)
        if command is None:
            return None, "the command is more than `python SCRIPT ARGUMENTS`"
        parent = self._parents.get(_key_of(command, job))
        if parent is None or not parent.ready:
            return None, ""
        if parent.why_cold:
            return None, parent.why_cold
        parent.used_at = time.monotonic()
        variables = {os.fsdecode(name): os.fsdecode(value) for name, value in extra.items()}
        order = {"argv": command.argv, "cwd": job.cwd, "variables": variables, "host": os.getpid()}
        try:
            return parent.start(marshal.dumps(order, _OLD_FORMAT), [out, err]), ""
        finally:
            parent.fork_ahead()

    def reap(self) -> None:
        """Forget children that have ended: they are not leftovers of a job."""
        for pid in list(self._ended):
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._ended.discard(pid)

    def close(self) -> None:
        for key in list(self._parents):
            self._end(key)

    # -- parents ----------------------------------------------------------------------------------------------

    def _parent_of(
        self, command: PythonCommand, job: QueuedJob, base: Variables, runs_follow: bool
    ) -> _PreloadedParent | None:
        key = _key_of(command, job)
        if key not in self._parents:
            self._wanted[key] += 1
            if self._wanted[key] < _WORTH_IT and not runs_follow and RUNS_FOLLOW.encode() not in base:
                return None
            if len(self._parents) >= MOST_PARENTS and not self._end_oldest():
                return None
            parent = _begin(command, job.preload or "", self._with_bytecode(base))
            if parent is None:
                return None
            self._parents[key] = parent
            self._reactor.watch(parent.channel.fileno(), lambda: self._heard(key))
            self._reactor.later(_IDLE_S, lambda: self._rest(key))
            self._reactor.later(_IMPORT_S, lambda: self._lose_patience(parent))
        return self._parents[key]

    def _with_bytecode(self, base: Variables) -> Variables:
        """Whose Python must write no bytecode keeps it in a folder of ours, and compiles a library only once."""
        if not base.get(b"PYTHONDONTWRITEBYTECODE") or base.get(b"PYTHONPYCACHEPREFIX"):
            return base
        folder = self._bytecode_folder()
        return base if folder is None else {**base, BYTECODE.encode(): os.fsencode(folder)}

    def _lose_patience(self, parent: _PreloadedParent) -> None:
        if not parent.ready:
            parent.ready, parent.why_cold = True, f"the imports have taken more than {_IMPORT_S:.0f} s so far"
            self.on_ready()

    def _heard(self, key: _Key) -> None:
        from duckrow.engines.local.preload.preloaded_parent import READY  # with all that it needs; few runs have one

        parent = self._parents[key]
        try:
            message = parent.channel.recv(1 << 16)
        except OSError:
            message = b""
        if message:
            parent.ready, parent.why_cold = True, "" if message == READY else message.decode()
            if not parent.why_cold:
                parent.fork_ahead()
        elif parent.ready:
            self._end(key)
        else:  # if its imports killed it, they would do so again
            parent.ready, parent.why_cold = True, "Python crashed during the imports"
            self._reactor.unwatch(parent.channel.fileno())
        self.on_ready()

    def _rest(self, key: _Key) -> None:
        """Stop preloaded parents that nobody needs, to free their memory."""
        parent = self._parents.get(key)
        if parent is None:
            return
        idle_s = time.monotonic() - parent.used_at
        if idle_s >= _IDLE_S:
            self._end(key)
        else:
            self._reactor.later(_IDLE_S - idle_s, lambda: self._rest(key))

    def _end_oldest(self) -> bool:
        """Make room for another one; False while runs wait for all of them."""
        ready = [key for key, parent in self._parents.items() if parent.ready]
        if ready:
            self._end(min(ready, key=lambda key: self._parents[key].used_at))
        return bool(ready)

    def _end(self, key: _Key) -> None:
        parent = self._parents.pop(key)
        self._reactor.unwatch(parent.channel.fileno())
        parent.close()
        self._ended.add(parent.pid)
        self.reap()


def _command_of(job: QueuedJob, base: Variables) -> PythonCommand | None:
    return python_command(job.command, os.fsdecode(base.get(b"PATH", b"")) or None)


def _key_of(command: PythonCommand, job: QueuedJob) -> _Key:
    """Runs with the same key can be forked from the same parent."""
    return command.python, job.preload or "", job.environment_id, job.cwd


def _begin(command: PythonCommand, modules: str, base: Variables) -> _PreloadedParent | None:
    """In the folder where we are."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    null = os.open(os.devnull, os.O_RDWR)
    environment = {**base, TAG.encode(): PARENT_TAG.ljust(_TAG_ROOM, b".")}
    theirs.set_inheritable(True)
    try:
        pid = os.posix_spawn(
            command.python,
            [command.python, _SCRIPT, str(theirs.fileno()), modules, *command.argv],
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)],
            setpgroup=0,  # not in a new session: after its end, that would make it look like an attempt
            setsigmask=(),
            setsigdef=(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD),
        )
    except OSError:
        ours.close()
        return None
    finally:
        theirs.close()
        os.close(null)
    return _PreloadedParent(pid, ours)
