"""What simulated jobs run: takes memory of the fake GPUs over time, as a training takes it of real ones.

    python tests/fake_nvml/fakegpu.py --ramp 0:100 2:8000 --hold 3

Standard library only, and run by its path, for jobs know nothing of this repository. DUCKROW_FAKE_NVML names the folder
of the fake GPUs; nvml.c says what is in it.
"""

from __future__ import annotations

import argparse
import fcntl
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, NoReturn, TextIO

VARIABLE = "DUCKROW_FAKE_NVML"
LOOK_S = 0.02


class Place(NamedTuple):
    """A GPU, by its line in the file `gpus`, or a MIG instance of it."""

    gpu: int
    mig: int | None = None

    def __str__(self) -> str:
        return f"{self.gpu}" if self.mig is None else f"{self.gpu}.{self.mig}"


class Use(NamedTuple):
    pid: int
    place: Place
    mb: int
    util: int
    kind: str  # compute, graphics, both, mps


class Event(NamedTuple):
    """What a simulated job did to a GPU; for tests to read afterwards."""

    at: float  # time.time()
    pid: int
    what: str  # took, freed, oom
    place: Place
    mb: int  # what it then held; for oom: what it wanted to hold
    used_mb: int  # by all together


class CudaError(Exception):
    """What makes a job fail that is not a lack of memory."""


class OutOfMemory(Exception):
    def __init__(self, place: Place, wanted_mb: int, held_mb: int, free_mb: int, total_mb: int) -> None:
        super().__init__(f"GPU {place} has {free_mb} MB left for {wanted_mb - held_mb} MB")
        self.place = place
        self.more_mb = wanted_mb - held_mb
        self.held_mb = held_mb
        self.free_mb = free_mb
        self.total_mb = total_mb


class Folder:
    """The files behind the fake GPUs, as the other side of nvml.c sees them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self) -> Iterator[None]:
        with open(self.path / "lock", "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def gpus(self) -> list[dict[str, str]]:
        """The words of each GPU; a switch has an empty value."""
        lines = (line.partition("#")[0].split() for line in (self.path / "gpus").read_text().splitlines())
        words = [line for line in lines if line and not line[0].startswith("driver=")]
        return [{key: value for key, _, value in (word.partition("=") for word in line)} for line in words]

    def mig_mb(self, gpu: int) -> list[int]:
        sizes = self.gpus()[gpu].get("mig", "").partition(":")[2]
        return [int(size) for size in sizes.split(",") if size]

    def uuid(self, place: Place) -> str:
        gpu = self.gpus()[place.gpu].get("uuid") or f"GPU-{place.gpu + 1:08x}-0000-4000-8000-{place.gpu + 1:012x}"
        if place.mig is None:
            return gpu
        return f"MIG-{place.mig + 1:08x}{gpu[12:] if len(gpu) > 12 else gpu[3:]}"

    # -- memory ---------------------------------------------------------------------------------------------------

    def uses(self) -> list[Use]:
        """What living processes hold."""
        found = (self._use(file) for file in (self.path / "allocations").iterdir() if file.name[0] != ".")
        return sorted(use for use in found if use is not None)

    def _use(self, file: Path) -> Use | None:
        pid, gpu, *mig = (int(part) for part in file.name.split("."))
        try:
            mb, *rest = file.read_text().split()
        except (OSError, ValueError):  # freed just now
            return None
        words = dict(word.split("=") for word in rest)
        start = started(pid)
        if start is None or int(words.get("start", start)) != start:
            return None
        place = Place(gpu, mig[0] if mig else None)
        return Use(pid, place, int(mb), int(words.get("util", 0)), words.get("kind", "compute"))

    def used_mb(self, place: Place) -> int:
        """By living processes, and what belongs to none."""
        used = sum(use.mb for use in self.uses() if place in (use.place, Place(use.place.gpu)))
        return used + (int(self.gpus()[place.gpu].get("unowned_mb", 0)) if place.mig is None else 0)

    def total_mb(self, place: Place) -> int:
        """What programs can use: all but what the driver keeps for itself."""
        if place.mig is not None:
            return self.mig_mb(place.gpu)[place.mig]
        gpu = self.gpus()[place.gpu]
        return int(gpu["memory_mb"]) - int(gpu.get("reserved_mb", 0))

    def take(self, pid: int, place: Place, mb: int, util: int = 0, kind: str = "compute") -> None:
        """Let a process hold so much from now on, instead of what it held there."""
        with self.locked():
            self._sweep()
            self._check(pid, place, kind)
            held = sum(use.mb for use in self.uses() if (use.pid, use.place) == (pid, place))
            free = self.total_mb(place) - self.used_mb(place)
            if mb - held > free:
                self._note(pid, "oom", place, mb)
                raise OutOfMemory(place, mb, held, free, self.total_mb(place))
            self._write(pid, place, mb, util, kind)
            self._note(pid, "took", place, mb)

    def _check(self, pid: int, place: Place, kind: str) -> None:
        gpu = self.gpus()[place.gpu]
        if "lost" in gpu or "gone" in gpu:
            raise CudaError("unspecified launch failure")
        others = any(use.place == place and use.pid != pid and use.kind != "graphics" for use in self.uses())
        mode = gpu.get("compute_mode", "0")
        if mode == "2" or (mode == "3" and others and kind != "mps"):
            raise CudaError("CUDA-capable device(s) is/are busy or unavailable")

    def drop(self, pid: int, place: Place) -> None:
        with self.locked():
            if (self.path / "allocations" / f"{pid}.{place}").exists():
                (self.path / "allocations" / f"{pid}.{place}").unlink()
                self._note(pid, "freed", place, 0)

    def hand_over(self, pid: int, to: int) -> None:
        """All that a process holds belongs to another one from now on."""
        with self.locked():
            for use in self.uses():
                if use.pid == pid:
                    self._write(to, use.place, use.mb, use.util, use.kind)
                    (self.path / "allocations" / f"{pid}.{use.place}").unlink()
                    self._note(to, "took", use.place, use.mb)

    def _write(self, pid: int, place: Place, mb: int, util: int, kind: str) -> None:
        start = started(pid)
        if start is None:
            raise ValueError(f"there is no process {pid}")
        text = f"{mb} start={start} util={util} kind={kind}\n"
        replace(self.path / "allocations" / f"{pid}.{place}", text)

    def _sweep(self) -> None:
        """The files of the dead count for nothing, but reading them takes time."""
        for file in (self.path / "allocations").iterdir():
            if file.name[0] != "." and self._use(file) is None:
                file.unlink(missing_ok=True)

    def _note(self, pid: int, what: str, place: Place, mb: int) -> None:
        with open(self.path / "history", "a") as file:
            file.write(f"{time.time():.6f} {pid} {what} {place} {mb} {self.used_mb(Place(place.gpu))}\n")

    def history(self) -> list[Event]:
        """What is just being written is not in it."""
        events = []
        for line in (self.path / "history").read_text().split("\n")[:-1]:
            at, pid, what, where, mb, used = line.split()
            gpu, *mig = (int(part) for part in where.split("."))
            place = Place(gpu, mig[0] if mig else None)
            events.append(Event(float(at), int(pid), what, place, int(mb), int(used)))
        return events

    def peak_mb(self, gpu: int) -> int:
        """The most that was ever used of it, by all together."""
        return max((event.used_mb for event in self.history() if event.place.gpu == gpu), default=0)

    # -- what CUDA would see ----------------------------------------------------------------------------------------

    def visible(self, environment: Mapping[str, str]) -> list[Place]:
        """The devices of a process, its device 0 first; of a GPU that is divided, one instance."""
        gpus = self.gpus()
        order = [gpu for gpu, words in enumerate(gpus) if "gone" not in words]
        if environment.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":  # else the fastest comes first
            order.sort(key=lambda gpu: -int(gpus[gpu].get("speed", 0)))
        named = environment.get("CUDA_VISIBLE_DEVICES")
        if named is None:
            return [self._first_of(gpu) for gpu in order]
        found: list[Place] = []
        for word in named.split(","):
            place = self._place(word.strip(), order)
            if place is None:
                break  # what comes after a wrong name is not seen either
            if place in found:
                return []
            found.append(place)
        return found

    def _place(self, word: str, order: list[int]) -> Place | None:
        if word.isdigit():
            return self._first_of(order[int(word)]) if int(word) < len(order) else None
        if len(word) <= len("GPU-"):
            return None
        instances = [Place(gpu, mig) for gpu in order for mig in range(len(self.mig_mb(gpu)))]
        if word.startswith("MIG-"):
            return next((place for place in instances if self.uuid(place).startswith(word)), None)
        return next((self._first_of(gpu) for gpu in order if self.uuid(Place(gpu)).startswith(word)), None)

    def _first_of(self, gpu: int) -> Place:
        return Place(gpu, 0 if self.mig_mb(gpu) else None)


def started(pid: int) -> int | None:
    """When the process began, in ticks since boot; None if it is gone, or a zombie, which has no memory any more."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()
    return None if fields[0] in b"ZX" else int(fields[19])


def replace(path: Path, text: str) -> None:
    """Write a file of which nobody ever sees a half."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_text(text)
    new.replace(path)


# -- how frameworks die ---------------------------------------------------------------------------------------------


def _gib(mb: int) -> str:
    return f"{mb / 1024:.2f} GiB"


OOM_TEXTS: dict[str, Callable[[OutOfMemory], str]] = {
    "torch": lambda e: (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {_gib(e.more_mb)}. GPU 0 has a total capacity "
        f"of {_gib(e.total_mb)} of which {_gib(e.free_mb)} is free. Including non-PyTorch memory, this process has "
        f"{_gib(e.held_mb)} memory in use. Of the allocated memory {_gib(e.held_mb)} is allocated by PyTorch, and "
        "0 bytes is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
        "Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    ),
    "torch-old": lambda e: (
        f"RuntimeError: CUDA out of memory. Tried to allocate {_gib(e.more_mb)} (GPU 0; {_gib(e.total_mb)} total "
        f"capacity; {_gib(e.held_mb)} already allocated; {_gib(e.free_mb)} free; {_gib(e.held_mb)} reserved in "
        "total by PyTorch)"
    ),
    "jax": lambda e: (
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate "
        f"{e.more_mb << 20} bytes."
    ),
    "tf": lambda e: (
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{function_node __wrapped__Mul_device_/job:"
        f"localhost/replica:0/task:0/device:GPU:0}}}} OOM when allocating tensor with shape[{e.more_mb},262144] "
        "and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:Mul]"
    ),
    "cupy": lambda e: (
        f"cupy.cuda.memory.OutOfMemoryError: Out of memory allocating {e.more_mb << 20:,} bytes "
        f"(allocated so far: {e.held_mb << 20:,} bytes)."
    ),
    "cublas": lambda e: "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "cudnn": lambda e: "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    "driver": lambda e: (
        f"failed to allocate {_gib(e.more_mb)} ({e.more_mb << 20} bytes) from device: "
        "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
    ),
}


def die(text: str) -> NoReturn:
    print(f'Traceback (most recent call last):\n  File "train.py", line 7, in <module>\n{text}', file=sys.stderr)
    sys.exit(1)


# -- a job ----------------------------------------------------------------------------------------------------------


class Job:
    def __init__(self, folder: Folder, options: argparse.Namespace) -> None:
        self.folder = folder
        self.options = options
        self.begun = time.monotonic()
        self.pools_mb: dict[Place, int] = {}  # what was taken at once, from which all else is served
        self.places = self._places() if options.ramp else []
        pipes = os.environ.get("CUDA_MPS_PIPE_DIRECTORY")
        self.kind = "mps" if pipes and Path(pipes, "control").exists() else "compute"

    def _places(self) -> list[Place]:
        if self.options.gpu_index_from_env:
            for word in os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(","):
                int(word)
        if self.options.override_gpu is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = self.options.override_gpu
        places = self.folder.visible(os.environ)
        if not places:
            die("RuntimeError: No CUDA GPUs are available")
        return places if self.options.all else places[:1]

    def run(self) -> None:
        """Climb the ramp, stay, and leave the GPU."""
        try:
            for number, (at, mb) in enumerate(self.options.ramp):
                self._sleep_until(self.begun + at)
                if number and self.options.meet:
                    self._await_others(self.options.meet)
                self._hold(mb)
        except OutOfMemory as error:
            if self.options.kill_oom:
                os.kill(os.getpid(), signal.SIGKILL)
            die(OOM_TEXTS[self.options.log_oom](error))
        except CudaError as error:
            die(f"RuntimeError: CUDA error: {error}")
        if self.options.leave is not None:
            self._leave()
        if self.options.until_peak is not None:
            self._stay_until_peak(self.options.until_peak)
        if self.options.until_read:
            self._stay_until_read()
        self._sleep_until(time.monotonic() + self.options.hold)
        for place in self.places:
            self.folder.drop(os.getpid(), place)

    def _hold(self, mb: int) -> None:
        for place in self.places:
            self.folder.take(os.getpid(), place, self._in_pool(place, mb), self.options.util, self.kind)
        where = " and ".join(str(place) for place in self.places)
        print(f"fakegpu: process {os.getpid()} holds {mb} MB on GPU {where}", flush=True)

    def _in_pool(self, place: Place, mb: int) -> int:
        """JAX and TensorFlow take a GPU at once unless they are told not to."""
        share = preallocated_share(self.options.preallocate, os.environ)
        if not share:
            return mb
        total = self.folder.total_mb(place)
        if place not in self.pools_mb:
            self.pools_mb[place] = min(int(total * share), total - self.folder.used_mb(place))
        if mb > self.pools_mb[place]:
            raise OutOfMemory(place, mb, 0, self.pools_mb[place], total)
        return self.pools_mb[place]

    def _stay_until_peak(self, mb: int) -> None:
        while any(self.folder.peak_mb(place.gpu) < mb for place in self.places):
            time.sleep(LOOK_S)

    def _await_others(self, count: int) -> None:
        while len({event.pid for event in self.folder.history()}) < count:
            time.sleep(LOOK_S)

    def _stay_until_read(self) -> None:
        """Until somebody has asked NVML for what we hold, and has had time to take the answer in.

        Who asks again has certainly done so. But not everybody asks again soon.
        """
        calls = self.folder.path / "calls"
        calls.touch()
        with calls.open() as file:
            file.seek(0, os.SEEK_END)
            self._await_reading(file, math.inf)
            self._await_reading(file, time.monotonic() + 0.5)

    def _await_reading(self, calls: TextIO, until: float) -> None:
        while time.monotonic() < until:
            for line in calls:
                _, function, *where = line.split()
                if function.startswith("nvmlDeviceGetMemoryInfo") and where == [str(self.places[0])]:
                    return
            time.sleep(LOOK_S)

    def _leave(self) -> None:
        """A worker in a session of its own holds all that we held, and outlives us."""
        ready, told = os.pipe()
        worker = os.fork()
        if not worker:
            os.setsid()
            for number in (0, 1, 2):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            os.write(told, b".")
            time.sleep(self.options.leave)
            os._exit(0)
        os.read(ready, 1)
        self.folder.hand_over(os.getpid(), worker)
        print(f"fakegpu: process {worker} stays behind", flush=True)

    @staticmethod
    def _sleep_until(moment: float) -> None:
        while (left := moment - time.monotonic()) > 0:
            time.sleep(left)


def preallocated_share(framework: str | None, environment: Mapping[str, str]) -> float:
    """What a framework takes of a GPU before it needs it."""
    if framework == "tf" and environment.get("TF_FORCE_GPU_ALLOW_GROWTH", "").lower() not in ("1", "true"):
        return 1.0
    if framework == "jax" and environment.get("XLA_PYTHON_CLIENT_PREALLOCATE", "").lower() not in ("0", "false"):
        return float(environment.get("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.75"))
    return 0.0


def run_in_children(job: Job, count: int) -> None:
    """As data-parallel trainings do: the processes that hold the memory are not the one that was started."""
    sys.stdout.flush()
    for _ in range(count):
        if not os.fork():
            try:
                job.run()
            except SystemExit as end:
                sys.stderr.flush()
                os._exit(end.code if isinstance(end.code, int) else 1)
            os._exit(0)
    ends = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(count)]
    if any(ends):
        sys.exit(f"fakegpu: the children ended with {ends}")


def step(text: str) -> tuple[float, int]:
    at, _, mb = text.partition(":")
    return float(at), int(mb)


def parser() -> argparse.ArgumentParser:
    new = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    new.add_argument(
        "--ramp", nargs="+", type=step, default=[], metavar="S:MB", help="MB to hold from so many seconds on"
    )
    new.add_argument("--hold", type=float, default=0.0, metavar="S", help="stay so long after the last step")
    new.add_argument(
        "--meet", type=int, metavar="N", help="wait with the second step until N jobs have taken the first"
    )
    new.add_argument("--until-peak", type=int, metavar="MB", help="but at least until so much was used of the GPU")
    new.add_argument("--until-read", action="store_true", help="but at least until somebody has read what it holds")
    new.add_argument("--util", type=int, default=0, help="per cent that it keeps the GPU busy")
    new.add_argument("--all", action="store_true", help="hold it on each visible device, not only on the first")
    new.add_argument("--gpu-index-from-env", action="store_true", help="call int() on CUDA_VISIBLE_DEVICES, as many do")
    new.add_argument("--override-gpu", metavar="NAMES", help="set CUDA_VISIBLE_DEVICES itself, whatever was assigned")
    new.add_argument("--log-oom", choices=OOM_TEXTS, default="torch", help="whose words to die with")
    new.add_argument("--kill-oom", action="store_true", help="die of SIGKILL, without a word, instead")
    new.add_argument(
        "--preallocate", choices=("jax", "tf"), help="take most of the GPU at once, as these do by default"
    )
    new.add_argument("--fork", type=int, default=0, metavar="N", help="let so many children do it all")
    new.add_argument("--stubborn", action="store_true", help="ignore SIGTERM and SIGINT")
    new.add_argument("--leave", type=float, nargs="?", const=60.0, metavar="S", help="leave a worker with the memory")
    new.add_argument("--exit", type=int, default=0, metavar="CODE", help="the exit code if all goes well")
    return new


def main() -> None:
    options = parser().parse_args()
    if not os.environ.get(VARIABLE):
        sys.exit(f"fakegpu: {VARIABLE} names no folder of fake GPUs")
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    job = Job(Folder(Path(os.environ[VARIABLE])), options)
    if options.fork:
        run_in_children(job, options.fork)
    else:
        job.run()
    sys.exit(options.exit)


if __name__ == "__main__":
    main()
