"""`python -m benchmarks.gpu.claims`: what duckrow says of a real GPU, put to the proof; needs a GPU and PyTorch.

Prints a line for each claim, and exits with 1 if one does not hold. Takes less than four minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CLIENT = Path(__file__).with_name("client.py")
DUCKROW = str(Path(sys.executable).with_name("duckrow"))
CLIENTS = 52  # more than MPS takes on one GPU
NEAR_MB = 64  # two tools that look one after the other


class Bench:
    """A duckrow of its own over GPU 0, and the claims so far."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder
        self.python = python
        self.env = {**os.environ, "DUCKROW_HOME": str(folder / "state")}
        self.failures = 0

    def claim(self, what: str, holds: bool, seen: str) -> None:
        self.failures += not holds
        print(f"{'ok  ' if holds else 'FAIL'}  {what:<62} {seen}", flush=True)

    def duckrow(self, *words: str) -> str:
        return subprocess.run([DUCKROW, *words], env=self.env, cwd=self.folder, capture_output=True, text=True).stdout

    def client(self, gate: str, mb: int = 8) -> str:
        """A command that holds so much memory until the gate is opened."""
        return shlex.join([self.python, str(CLIENT), "--mb", str(mb), "--until", str(self.folder / gate)])

    def submit(self, command: str, *words: str) -> str:
        return self.duckrow("submit", *words, "--", command).strip()

    def state(self, job: str) -> str:
        (story,) = json.loads(self.duckrow("ls", job, "--json"))
        return str(story["outcome"] or story["state"])

    def gpu(self) -> dict[str, Any]:
        """GPU 0 as duckrow tells it."""
        return next(device for device in json.loads(self.duckrow("gpus", "--json")) if device["device"] == "0")

    @contextmanager
    def daemon(self, *words: str) -> Iterator[None]:
        command = [DUCKROW, "up", "--foreground", "--devices", "0", *words]
        with open(self.folder / "daemon.log", "a") as log:
            daemon = subprocess.Popen(command, env=self.env, cwd=self.folder, stdout=log, stderr=log)
        try:
            until(lambda: "daemon" in self.duckrow("gpus"), 20)
            yield
        finally:
            self.duckrow("down", "--kill")
            daemon.wait(30)


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether it came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def nvidia_smi(what: str, fields: str) -> list[tuple[int, ...]]:
    """What it does not tell is -1."""
    words = ["nvidia-smi", "-i", "0", f"--query-{what}={fields}", "--format=csv,noheader,nounits"]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    cells = [[cell.strip() for cell in line.split(",")] for line in lines if line.strip()]
    return [tuple(int(cell) if cell.isdigit() else -1 for cell in line) for line in cells]


def free_mb() -> int:
    return nvidia_smi("gpu", "memory.free")[0][0]


def processes() -> dict[int, int]:
    """PID -> MB."""
    return {pid: mb for pid, mb, *_ in nvidia_smi("compute-apps", "pid,used_memory")}


# -- the claims -----------------------------------------------------------------------------------------------------


def readings(bench: Bench) -> None:
    """What `duckrow gpus` says is what nvidia-smi says."""
    empty_mb = free_mb()
    with bench.daemon("--mps", "off"):
        job = bench.submit(bench.client("readings", 6000), "--gpu-mem", "8G")
        until(lambda: empty_mb - free_mb() > 6000, 40)
        time.sleep(1.0)  # a utilization is that of the second before
        told, smi_mb, smi_processes = bench.gpu(), free_mb(), processes()
        (busy,) = nvidia_smi("gpu", "utilization.gpu")[0]
        (bench.folder / "readings").touch()
        until(lambda: bench.state(job) == "succeeded", 20)
        used = json.loads(bench.duckrow("show", job, "--json"))[0]
    free = told["free_mb"]
    bench.claim("free memory is that of nvidia-smi", abs(free - smi_mb) <= NEAR_MB, f"{free} MB, {smi_mb} MB")
    ours = {process["pid"]: process["mb"] for process in told["processes"]}
    same = ours.keys() == smi_processes.keys() and all(abs((ours[p] or 0) - smi_processes[p]) <= NEAR_MB for p in ours)
    bench.claim("processes and their memory are those of nvidia-smi", same, f"{ours}, {smi_processes}")
    near = told["utilization"] is not None and abs(told["utilization"] - busy) <= 25
    bench.claim("utilization is about that of nvidia-smi", near, f"{told['utilization']} %, {busy} %")
    peak = used["peak_memory_mb"] or 0
    bench.claim("what a job took is known afterwards", peak > 6000, f"{peak} MB")


def leftovers(bench: Bench) -> None:
    """A killed job leaves nothing on the GPU, whatever it has started."""
    with bench.daemon("--mps", "off"):
        until(lambda: not processes(), 10)
        empty_mb = free_mb()
        never = bench.client("never", 3000)
        job = bench.submit(f"setsid {never} & exec {never}", "--gpu-mem", "10G")
        full = until(lambda: empty_mb - free_mb() > 6000, 60)
        began = time.monotonic()
        bench.duckrow("kill", job)
        until(lambda: bench.state(job) == "killed", 40)
        left_mb = empty_mb - free_mb()
        told = f"{left_mb} MB left, {time.monotonic() - began:.1f} s after the kill"
        bench.claim("a killed job's GPU is empty once it is done, descendants too", full and left_mb <= NEAR_MB, told)


def killed_client(bench: Bench) -> None:
    """One client of MPS dies, and the others continue."""
    with bench.daemon("--mps", "on"):
        empty_mb = free_mb()
        # Without a shell in between, whose word "Killed" is what the end of one without host memory looks like.
        jobs = [bench.submit(f"exec {bench.client('mps', 500)}", "--gpu-mem", "2G") for _ in range(4)]
        until(lambda: empty_mb - free_mb() > 2000, 60)
        os.kill(json.loads(bench.duckrow("ls", jobs[0], "--json"))[0]["pid"], signal.SIGKILL)
        until(lambda: bench.state(jobs[0]) != "running", 20)
        time.sleep(2)  # for the others to suffer from it, if they do
        (bench.folder / "mps").touch()
        until(lambda: all(bench.state(job) not in ("running", "queued") for job in jobs), 40)
        states = [bench.state(job) for job in jobs]
        others = [bench.duckrow("logs", job).strip() for job in jobs[1:]]
    bench.claim("a client of MPS that is killed is seen", states[0] in ("failed", "killed"), states[0])
    fine = states[1:] == ["succeeded"] * 3 and all(said.endswith("with MPS") for said in others)
    bench.claim("and the others continue", fine, f"{states[1:]}, {others}")
    gone = until(lambda: not _mps_processes(), 10)
    bench.claim("after the last, no process of MPS is left", gone, f"{_mps_processes()}")


def many_clients(bench: Bench) -> None:
    """More jobs at once than MPS takes clients: all succeed."""
    (bench.folder / "commands").write_text(f"{bench.client('many')}\n" * CLIENTS)
    words = [DUCKROW, "run", "--devices", "0", "--pack", "--mps", "on", "commands"]
    most = 0
    with open(bench.folder / "run.log", "w") as log:
        run = subprocess.Popen(words, env=bench.env, cwd=bench.folder, stdout=log, stderr=log)

    def all_are_there() -> bool:
        nonlocal most
        running = json.loads(bench.duckrow("ls", "-s", "running", "--all", "--json"))
        most = max(most, len(running))
        return most == CLIENTS or run.poll() is not None

    until(all_are_there, 60)
    until(lambda: len(processes()) >= CLIENTS or run.poll() is not None, 30)
    on_it = len(processes())
    (bench.folder / "many").touch()
    try:
        code: int | None = run.wait(50)
    except subprocess.TimeoutExpired:
        run.kill()
        code = None
    said = (bench.folder / "run.log").read_text()
    notes = [line for line in said.splitlines() if "MPS" in line]
    bench.claim(f"{CLIENTS} packed jobs run at once under MPS", most == CLIENTS, f"{most} jobs, {on_it} processes")
    bench.claim("and all of them succeed", code == 0, f"exit {code}; {'; '.join(notes) or 'nothing was said of MPS'}")


def _mps_processes() -> list[str]:
    found = subprocess.run(["pgrep", "-u", str(os.getuid()), "-a", "nvidia-cuda-mps"], capture_output=True, text=True)
    return found.stdout.splitlines()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default=sys.executable, help="one that has PyTorch")
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="duckrow-claims-", dir="/tmp") as folder:
        bench = Bench(Path(folder), options.python)
        for part in (readings, leftovers, killed_client, many_clients):
            part(bench)
    print(f"{bench.failures or 'No'} claim{'s' * (bench.failures != 1)} failed, in {time.monotonic() - began:.0f} s")
    return 1 if bench.failures else 0


if __name__ == "__main__":
    sys.exit(main())
