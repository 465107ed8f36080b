"""GPUs for tests on machines without one: a libnvidia-ml.so.1 of our own, and the files that tell it what to say.

    gpus.add("NVIDIA H200", memory_mb=141_000)
    duckrow.env.update(gpus.env())
    duckrow("run", stdin=gpus.job("--ramp", "0:100", "2:8000"))

The fixture `gpus` is in `plugin.py`; simulated jobs run `fakegpu.py`; what the files look like is told in `nvml.c`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.fake_nvml import fakegpu
from tests.fake_nvml.fakegpu import VARIABLE, Event, Folder, Place, Use, replace

__all__ = ["Call", "Event", "FakeGpus", "NoCompiler", "Place", "Use", "Word", "shared_object"]

HERE = Path(__file__).parent
NAME = "libnvidia-ml.so.1"
FLAGS = ("-shared", "-fPIC", "-pthread", "-O1", "-Wall", "-Werror", f"-Wl,-soname,{NAME}")

Word = bool | int | str | Sequence[int] | None
"""True: a switch is on. False and None: the word is not there. A list: the MB of MIG instances."""


class NoCompiler(Exception):
    def __init__(self) -> None:
        super().__init__("the fake libnvidia-ml.so.1 needs a C compiler (cc, gcc or clang): apt install gcc")


class Call(NamedTuple):
    """A question that was put to NVML."""

    pid: int
    function: str  # as it is called in the library: nvmlDeviceGetCount_v2
    place: Place | None


def shared_object() -> Path:
    """The library, built once for each version of its source."""
    source = (HERE / "nvml.c").read_bytes()
    version = hashlib.sha256(source + " ".join(FLAGS).encode()).hexdigest()[:16]
    folder = _own_folder() / version
    folder.mkdir(exist_ok=True)
    built = folder / NAME
    with open(folder / "lock", "w") as lock:  # all workers want it at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            _compile(HERE / "nvml.c", built)
    return built


def _own_folder() -> Path:
    """A folder that outlives the session and that nobody else could have filled: it becomes part of our processes."""
    folder = Path(tempfile.gettempdir()) / f"duckrow-fake-nvml-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022 or folder.is_symlink():
        raise PermissionError(f"{folder} can be written by others: remove it")
    return folder


def _compile(source: Path, target: Path) -> None:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise NoCompiler
    new = target.with_suffix(".new")
    subprocess.run([compiler, *FLAGS, "-o", str(new), str(source)], check=True)
    new.replace(target)


class FakeGpus:
    """The GPUs of a machine, as the processes that have `env()` see them; a change is seen at once."""

    def __init__(self, folder: Path) -> None:
        self.shared_object = shared_object()
        self.folder = Folder(folder)
        (folder / "allocations").mkdir(parents=True, exist_ok=True)
        for name in ("gpus", "history"):
            (folder / name).touch()

    def env(self) -> dict[str, str]:
        """What a process needs in its environment to see these GPUs and no real ones.

        The locks of GPUs are for the whole machine, and those of other tests have the same names.
        """
        paths = [str(self.shared_object.parent), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        locks = str(self.folder.path / "locks")
        return {"LD_LIBRARY_PATH": ":".join(paths), VARIABLE: str(self.folder.path), "DUCKROW_GPU_LOCKS": locks}

    def cuda_env(self, folder: Path, order: Sequence[int]) -> dict[str, str]:
        """The same, and a libcuda.so.1 in this folder that numbers them in this order."""
        _compile(HERE / "cuda.c", folder / "libcuda.so.1")
        digits = [self.uuid(gpu).removeprefix("GPU-").replace("-", "") + "," for gpu in order]
        env = self.env()
        return {**env, "LD_LIBRARY_PATH": f"{folder}:{env['LD_LIBRARY_PATH']}", "DUCKROW_FAKE_CUDA": "".join(digits)}

    def job(self, *words: str | float) -> str:
        """A shell command that uses a GPU; see `fakegpu.py` for the words."""
        return shlex.join([sys.executable, "-IS", fakegpu.__file__, *map(str, words)])

    # -- what there is ----------------------------------------------------------------------------------------------

    def add(self, name: str = "NVIDIA H200", memory_mb: int = 141_000, **words: Word) -> int:
        """One GPU more; its number here, which is NVML's too while no GPU is `gone`."""
        with self.folder.locked():
            gpus = self.folder.gpus()
            number = len(gpus)
            own = {"uuid": f"GPU-{uuid.uuid5(uuid.NAMESPACE_OID, f'duckrow {number}')}"}
            gpus.append(_words({"name": name, "memory_mb": memory_mb, **own, **words}))
            self._write(gpus)
        return number

    def change(self, gpu: int, **words: Word) -> None:
        """Change what is named of a GPU and leave the rest."""
        with self.folder.locked():
            gpus = self.folder.gpus()
            gpus[gpu] = {key: value for key, value in gpus[gpu].items() if key not in words} | _words(words)
            self._write(gpus)

    def driver(self, version: str = "570.124.06", **words: Word) -> None:
        """The driver's version, or `missing`, or `mismatch`. `cuda`: CUDA's, as in 12080; `fail`: calls that fail."""
        with self.folder.locked():
            self._write(self.folder.gpus(), _line({"driver": version, **_words(words)}))

    def _write(self, gpus: list[dict[str, str]], driver: str | None = None) -> None:
        file = self.folder.path / "gpus"
        if driver is None:
            driver = next((line for line in file.read_text().splitlines() if line.startswith("driver=")), "")
        replace(file, "\n".join([driver, *map(_line, gpus)]).lstrip() + "\n")

    def uuid(self, gpu: int, mig: int | None = None) -> str:
        return self.folder.uuid(Place(gpu, mig))

    # -- who uses it ------------------------------------------------------------------------------------------------

    def allocate(
        self, pid: int, gpu: int, mb: int, *, mig: int | None = None, util: int = 0, kind: str = "compute"
    ) -> None:
        """Let any living process (`kind`: compute, graphics, both or mps) hold so much until it ends."""
        self.folder.take(pid, Place(gpu, mig), mb, util, kind)

    def free(self, pid: int, gpu: int, mig: int | None = None) -> None:
        self.folder.drop(pid, Place(gpu, mig))

    def used_mb(self, gpu: int, mig: int | None = None) -> int:
        return self.folder.used_mb(Place(gpu, mig))

    def uses(self) -> list[Use]:
        return self.folder.uses()

    def history(self) -> list[Event]:
        """All that was taken, freed (not by dying) and refused, in order."""
        with self.folder.locked():  # what NVML shows already is noted then
            return self.folder.history()

    def peak_mb(self, gpu: int) -> int:
        with self.folder.locked():
            return self.folder.peak_mb(gpu)

    def ooms(self) -> list[Event]:
        return [event for event in self.history() if event.what == "oom"]

    # -- who asked --------------------------------------------------------------------------------------------------

    def record_calls(self) -> None:
        """Note every call of NVML from now on, and forget the earlier ones."""
        replace(self.folder.path / "calls", "")

    def calls(self) -> list[Call]:
        lines = (line.split() for line in (self.folder.path / "calls").read_text().splitlines())
        return [Call(int(pid), function, _place(*where)) for pid, function, *where in lines]


def _place(where: str = "") -> Place | None:
    gpu, _, mig = where.partition(".")
    return Place(int(gpu), int(mig) if mig else None) if gpu else None


def _words(words: Mapping[str, Word]) -> dict[str, str]:
    return {key: _text(value) for key, value in words.items() if value is not None and value is not False}


def _text(value: Word) -> str:
    if value is True:
        return ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"{len(value)}:{','.join(map(str, value))}"
    return str(value).replace(" ", "_")


def _line(words: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" if value else key for key, value in words.items())
