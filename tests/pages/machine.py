"""A machine for a page: a folder, eight GPUs that are not there, the programs that pages name, and a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests import fork_server, quick_duckrow
from tests.conftest import DEADLINE_S, Duckrow
from tests.fake_nvml import FakeGpus
from tests.pages import stand_ins
from tests.shown import forked, is_plain, typed
from tests.system.pretend_slurm import PretendSlurm

GPUS = 8
HOME = "/home/ann"
WIDTH = "160"
USES_NETWORK = re.compile(r"duckrow (web|up --web|dropin gpupeasy)|\bcurl ")


class Machine:
    """`work` is where a person types, `programs` what comes first on the PATH."""

    def __init__(self, folder: Path, gpus: int = GPUS) -> None:
        self.folder = folder
        self.work = folder / "mnist"
        self.programs = folder / "programs"
        for name in ("mnist", "home"):
            (folder / name).mkdir()
        stand_ins.put_into(self.programs)
        self.gpus = FakeGpus(folder / "gpus")
        for _ in range(gpus):
            self.gpus.add("NVIDIA H100", memory_mb=81_920, temperature=41)
        PretendSlurm(folder / "slurm", str(self.programs / "duckrow"))
        self.env = self._environment()
        self.env[quick_duckrow.ADDRESS] = fork_server.address_for(self.env).replace("\0", "@")
        self.network: list[str] = []  # before the shell: how it gets into a network of its own
        # What a page calls it.
        self.aliases = {re.escape(str(folder / "home")): HOME, re.escape(str(folder)): HOME}

    def _environment(self) -> dict[str, str]:
        dropped = ("CUDA_VISIBLE_DEVICES", "FORCE_COLOR", "PYTHONPATH", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
        kept = {name: value for name, value in os.environ.items() if name not in dropped}
        home = self.folder / "home"
        own = {
            "PATH": f"{self.programs}:{self.folder}/slurm/bin:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "DUCKROW_HOME": str(home / ".local/state/duckrow"),
            "XDG_STATE_HOME": str(home / ".local/state"),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "FAKE_NVML": str(self.gpus.folder.path),
            "NO_COLOR": "1",
            "COLUMNS": WIDTH,
            "no_proxy": "127.0.0.1,localhost",
            quick_duckrow.PYTHON: sys.executable,
        }
        without = {name: value for name, value in kept.items() if not name.startswith("DUCKROW_")}
        return without | self.gpus.env() | own

    def duckrow(self) -> Duckrow:
        """The same, for a test that looks behind what is shown."""
        program = Duckrow(Path(self.env["DUCKROW_HOME"]), self.work)
        program.env = self.env
        return program

    # -- typing -----------------------------------------------------------------------------------------------------

    def type(self, script: str, shell: str = "/bin/sh", ok: bool = True) -> str:
        prefix, env = self._around(script)
        if not prefix and is_plain(script):
            done = forked(script, self.work, env)
        else:
            done = typed(script, self.work, env, *prefix, shell, *(["-e"] if ok else []))
        assert not ok or done.returncode == 0, f"exit {done.returncode}:\n{script}\n\n{done.stdout}"
        return done.stdout

    def _around(self, script: str) -> tuple[list[str], dict[str, str]]:
        """What is put before the shell, and its variables. The fork server does not live in another network."""
        if not self.network or not USES_NETWORK.search(script):
            return [], self.env
        return self.network, {name: value for name, value in self.env.items() if name != quick_duckrow.ADDRESS}

    def retold(self, command: str) -> str:
        """What it prints, whatever its end, with the paths of somebody called ann."""
        told = self.type(command, ok=False)
        for pattern, alias in self.aliases.items():
            told = re.sub(pattern, alias, told)
        return told

    def type_until(self, command: str, seen: str, meanwhile: Callable[[], object]) -> str:
        """Type it in a real terminal, and press Ctrl-C once this is seen."""
        terminal, own = pty.openpty()
        prefix, env = self._around(command)
        with subprocess.Popen(
            [*prefix, "/bin/sh", "-c", command],
            cwd=self.work,
            env={**env, "LINES": "40", "TERM": "xterm"},
            stdin=own,
            stdout=own,
            stderr=own,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        ) as process:
            os.close(own)
            shown = _read_until(terminal, seen, meanwhile)
            os.write(terminal, b"\x03")
            shown += _read_to_end(terminal)
            process.wait(DEADLINE_S)
        return shown

    # -- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        with suppress(OSError):
            self.type("duckrow down --kill", ok=False)
        self.duckrow().kill_everything()


def _read_until(terminal: int, seen: str, meanwhile: Callable[[], object]) -> str:
    shown = ""
    end = time.monotonic() + DEADLINE_S
    while not re.search(seen, shown):
        assert time.monotonic() < end, f"waited in vain for {seen!r} in\n{shown}"
        if select.select([terminal], [], [], 0.1)[0]:
            shown += os.read(terminal, 65536).decode(errors="replace")
        else:
            meanwhile()
    return shown


def _read_to_end(terminal: int) -> str:
    shown = b""
    with suppress(OSError):  # how a terminal says that the other side is gone
        while data := os.read(terminal, 65536):
            shown += data
    os.close(terminal)
    return shown.decode(errors="replace")


@contextmanager
def machine(folder: Path, gpus: int = GPUS) -> Iterator[Machine]:
    made = Machine(folder, gpus)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def own_network(made: Machine) -> Iterator[None]:
    """What serves and what asks within has a loopback of its own, where every port is free."""
    up = "import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh14x', b'lo', 1))"
    hold = f'{sys.executable} -IS -c "{up}" && echo up && exec sleep {DEADLINE_S * 2:.0f}'
    with subprocess.Popen(["unshare", "--net", "/bin/sh", "-c", hold], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"up\n", "no network of its own"
        made.network = ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
        try:
            yield
        finally:
            made.type("duckrow down --kill", ok=False)
            made.network = []
            holder.kill()


def can_have_own_network() -> bool:
    tools = shutil.which("unshare") and shutil.which("nsenter")
    return bool(tools) and subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode == 0
