"""The user's own control daemon of NVIDIA's MPS, which lets processes compute on one GPU at the same time."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import select
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence

from duckrow.core.devices.device import Device
from duckrow.engines.local.processes.processes import TAG, Trace, processes_of, send
from duckrow.kernel.process import all_pids, environment_of, open_pidfd

PROGRAM = "nvidia-cuda-mps-control"
_START_S, _ASK_S, _QUIT_S, _SIGNAL_S, _LOOK_S = 5.0, 1.0, 2.0, 1.0, 0.02
_LONGEST_PATH = 75  # the path of a socket has room for 107 bytes; the daemon and its servers add names of their own
_USUAL_DIRECTORY = "/tmp/nvidia-mps"  # of a daemon that was started without naming one
_PIPES, _LOGS = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"


class Mps:
    """One daemon for all hosts of a state folder. It outlives them; the next host finds it by its pipe directory.

    With MPS, the numbers in a job's CUDA_VISIBLE_DEVICES index the GPUs that the daemon sees. Ours sees all GPUs of the
    machine, in PCI bus order, so that a number means the same GPU with and without MPS.
    """

    def __init__(self, folder: str) -> None:
        self._own = _pipe_directory(folder)
        self._tag = f"mps.{self._own}"  # not an attempt's: nobody must take the daemon for a job or a leftover of one
        self._used = ""  # the pipe directory of the daemon in use
        self._lock: int | None = None  # shared by hosts that use our daemon; to end it, a host must hold it alone

    def start(self, gpus: Sequence[Device]) -> str:
        """Empty if a daemon runs now, else the reason why not. `gpus`: the names of all GPUs of this machine."""
        deadline = time.monotonic() + _START_S
        if self._used and self.is_running():
            return ""
        self._used = ""
        if any(gpu.is_mig_instance for gpu in gpus):
            return "MPS is not used on a machine with MIG devices: each would need a control daemon of its own."
        if shutil.which(PROGRAM) is None:
            return f"{PROGRAM} is not installed; it comes with NVIDIA's driver."
        named = os.environ.get(_PIPES, "")
        foreign = named or (_USUAL_DIRECTORY if _is_ours(f"{_USUAL_DIRECTORY}/control") else "")
        if foreign and foreign != self._own:
            if self._answers(foreign, deadline):
                self._used = foreign
                return ""
            if named:
                return f"{_PIPES} is {named}, where no MPS daemon answers. Start one there, or unset the variable."
        return self._start_own(deadline)

    @property
    def variables(self) -> dict[bytes, bytes]:
        """The environment variables for its clients; empty when it does not run."""
        if not self._used or (self._used == self._own and self._control_pid() is None):
            return {}
        logs = self._own if self._used == self._own else os.environ.get(_LOGS)
        variables = {_PIPES: self._used, **({_LOGS: logs} if logs else {})}
        return {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}

    def is_running(self) -> bool:
        """Whether the daemon in use is running; if none is in use yet, whether an earlier host has left us one."""
        if self._used not in ("", self._own):
            return self._answers(self._used, time.monotonic() + _ASK_S)  # its PID may be from another container
        return self._control_pid() is not None

    def end(self) -> None:
        """End our own daemon, unless other hosts or running jobs need it. A foreign one is left alone."""
        used, self._used = self._used, ""
        if used == self._own:
            self._leave(gently=True)

    # -- our own daemon ---------------------------------------------------------------------------------------

    def _start_own(self, deadline: float) -> str:
        try:
            _make_private(self._own)
            self._lock = self._lock or os.open(f"{self._own}/hosts.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            return f"The folder of MPS, {self._own}, cannot be used: {error.strerror}."
        alone = self._has_locked(fcntl.LOCK_EX)
        why_not = self._launch(deadline, alone) if alone or self._has_shared_lock(deadline) else ""
        if not why_not and not self._has_shared_lock(deadline):
            why_not = f"Another duckrow has been starting or ending the MPS daemon for {_START_S:.0f} s."
        if why_not:
            self._leave(gently=False)
        else:
            self._used = self._own
        return why_not

    def _launch(self, deadline: float, alone: bool) -> str:
        if self._control_pid() is None:
            if alone and not self._has_clients():
                self._end_processes(gently=False)  # servers that a dead daemon left
            code, said = self._call(self._own, deadline, "-d")
            if code:
                return f"{PROGRAM} refused: {said.splitlines()[-1] if said else f'exit code {code}.'}"
        if _within(deadline, lambda: self._answers(self._own, deadline)):
            return ""
        return f"{PROGRAM} did not answer within {_START_S:.0f} s."

    def _leave(self, gently: bool) -> None:
        assert self._lock is not None
        # The last host ends it, but not while a job uses it: the job would lose its GPU.
        if self._has_locked(fcntl.LOCK_EX) and not self._has_clients():
            self._end_processes(gently)
        os.close(self._lock)
        self._lock = None

    def _end_processes(self, gently: bool) -> None:
        if gently:
            self._call(self._own, time.monotonic() + _QUIT_S, orders=b"quit\n")
        for number in (0, signal.SIGTERM, signal.SIGKILL) if gently else (signal.SIGKILL,):
            for process in processes_of(Trace(self._tag)):
                send(process, number)
            if _within(time.monotonic() + _SIGNAL_S, lambda: not processes_of(Trace(self._tag))):
                return

    def _control_pid(self) -> int | None:
        """The PID that the daemon has written down, if that is still the daemon."""
        try:
            with open(f"{self._own}/{PROGRAM}.pid") as file:
                pid = int(file.read())
        except (OSError, ValueError):
            return None
        return pid if os.fsencode(f"{TAG}={self._tag}") in environment_of(pid) else None

    def _has_clients(self) -> bool:
        """Whether a living job was told to use it. We ask the kernel, because the daemon may not answer."""
        told, its_own = os.fsencode(f"{_PIPES}={self._own}"), os.fsencode(f"{TAG}={self._tag}")
        pids = {*all_pids()} - {os.getpid()}
        return any(told in variables and its_own not in variables for variables in map(environment_of, pids))

    def _has_shared_lock(self, deadline: float) -> bool:
        return _within(deadline, lambda: self._has_locked(fcntl.LOCK_SH))

    def _has_locked(self, how: int) -> bool:
        assert self._lock is not None
        try:
            fcntl.flock(self._lock, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    # -- asking -----------------------------------------------------------------------------------------------

    def _answers(self, directory: str, deadline: float) -> bool:
        return self._call(directory, deadline, orders=b"get_server_list\n")[0] == 0

    def _call(self, directory: str, deadline: float, *words: str, orders: bytes = b"") -> tuple[int | None, str]:
        """(exit code, output); None if it took too long. Uses files, because a daemon may keep pipes open."""
        with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as answer:
            asked.write(orders)
            asked.seek(0)
            try:
                process = subprocess.Popen(
                    [PROGRAM, *words],
                    env=self._environment(directory),
                    cwd="/",
                    stdin=asked,
                    stdout=answer,
                    stderr=answer,
                    start_new_session=True,
                )
            except OSError as error:
                return error.errno, f"{error.strerror}."
            code = _wait(process, max(deadline - time.monotonic(), _LOOK_S))
            answer.seek(0)
            return code, answer.read().decode(errors="replace").strip()

    def _environment(self, directory: str) -> dict[str, str]:
        """Also for the daemon: it must see all GPUs, and not be part of the job that we ourselves may run in."""
        kept = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
        ours = {TAG: self._tag, "CUDA_DEVICE_ORDER": "PCI_BUS_ID", _PIPES: directory, _LOGS: self._own}
        return {**kept, **ours}


def _pipe_directory(folder: str) -> str:
    directory = os.path.join(os.path.abspath(folder), "mps")
    if len(os.fsencode(directory)) <= _LONGEST_PATH:
        return directory
    return f"/tmp/duckrow-mps-{os.getuid()}-{hashlib.sha256(os.fsencode(directory)).hexdigest()[:12]}"


def _make_private(directory: str) -> None:
    os.makedirs(directory, mode=0o700, exist_ok=True)
    if not stat.S_ISDIR(os.lstat(directory).st_mode) or not _is_ours(directory):
        raise PermissionError(errno.EPERM, "it belongs to somebody else")
    os.chmod(directory, 0o700)


def _is_ours(path: str) -> bool:
    try:
        return os.lstat(path).st_uid == os.getuid()
    except OSError:
        return False


def _within(deadline: float, condition: Callable[[], bool]) -> bool:
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_LOOK_S)
    return True


def _wait(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """Its exit code; None if it took too long. The kernel tells of its end: Python would look every 50 ms."""
    fd = open_pidfd(process.pid)
    if fd is not None:
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        poller.poll(seconds * 1000)
        os.close(fd)
    try:
        return process.wait(seconds if fd is None else 0)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    try:
        process.wait(_SIGNAL_S)
    except subprocess.TimeoutExpired:
        pass  # stuck in the driver, where not even SIGKILL reaches it
    return None
