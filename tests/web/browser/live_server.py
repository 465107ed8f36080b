"""A real daemon over fake GPUs with a real page beside it, and a way to fill and empty its queue quickly."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from duckrow.web.gate.credentials import Credentials
from tests.conftest import DEADLINE_S, Duckrow, until
from tests.fake_nvml import FakeGpus, fakegpu

LIVE = ("starting", "running", "stopping")
GPU_MB = 102_400

# Prints what trainings print: colours, a progress bar that goes back, a last line.
TRAINING = r"""
import json, os, sys, time
rate, steps, pause = float(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
print("\x1b[1mtraining\x1b[0m with \x1b[36mlr=%s\x1b[0m" % rate, flush=True)
if rate > 5:
    raise ValueError("learning rate %s is too high" % rate)
for step in range(steps):
    loss = 2 / (1 + step * rate)
    with open(os.environ["DUCKROW_METRICS"], "a") as file:
        file.write(json.dumps({"step": step, "loss": loss, "accuracy": 1 - loss / 2}) + "\n")
    for percent in range(0, 101, 20):
        sys.stdout.write("\repoch %d: %3d%% |%s" % (step, percent, "#" * (percent // 10)))
        sys.stdout.flush()
    print("\r\x1b[32mepoch %d\x1b[0m loss=%.4f" % (step, loss), flush=True)
    time.sleep(pause)
print("\x1b[33mdone\x1b[0m", flush=True)
"""

# Prints what nested bars of tqdm print (position=0 and 1): a line feed and the bar, then up again.
NESTED = r"""
import sys
epochs, steps = int(sys.argv[1]), int(sys.argv[2])
print("begin", flush=True)
for epoch in range(epochs + 1):
    print("\r\x1b[32mepochs\x1b[0m %3d%%" % (100 * epoch // epochs), end="", flush=True)
    for step in range(steps + 1 if epoch < epochs else 0):
        print("\n\r  steps %3d%% |%-20s|\x1b[A" % (100 * step // steps, "#" * (20 * step // steps)), end="", flush=True)
print("\n\nthe end", flush=True)
"""

# Takes memory of the fake GPU that it was given: `python pretrain.py 30000 80` for 30,000 MB and 80 % busy, with
# `python pretrain.py 30000 80 3` for three seconds.
PRETRAINING = f"""
import os, sys
hold = (sys.argv + ["600"])[3]
words = ["--ramp", "0:1000", "1:" + sys.argv[1], "--hold", hold, "--util", sys.argv[2]]
os.execv(sys.executable, [sys.executable, "-IS", {fakegpu.__file__!r}, *words])
"""


class LiveServer:
    def __init__(self, folder: Path) -> None:
        work = folder / "work"
        work.mkdir()
        self.duckrow = Duckrow(folder / "state", work)
        self.gpus = FakeGpus(folder / "fake-gpus")
        for degrees in (41, 36):
            self.gpus.add("NVIDIA H200", memory_mb=GPU_MB, temperature=degrees)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # `python` is the one that runs the tests
        own = {"PATH": path, "XDG_STATE_HOME": str(folder / "xdg"), "XDG_CONFIG_HOME": str(folder / "xdg-config")}
        self.duckrow.env.update(self.gpus.env(), **own)
        (work / "train.py").write_text(TRAINING)
        (work / "pretrain.py").write_text(PRETRAINING)
        (work / "nested.py").write_text(NESTED)
        self.url = ""
        self._token = ""

    @contextmanager
    def open(self) -> Iterator[None]:
        with self._daemon(), self.page() as link:
            self.link = link
            self.url = address_of(link)
            self._token = Credentials(str(self.duckrow.home), read_only=False).token()
            yield

    @contextmanager
    def _daemon(self) -> Iterator[None]:
        ready, told = os.pipe()
        words = ("up", "--foreground", "--ready-fd", str(told), "--devices", "0,1", "--slots", "4")
        with self.duckrow.spawn(*words, pass_fds=(told,), stderr=subprocess.DEVNULL) as daemon:
            os.close(told)
            try:
                assert os.read(ready, 5) == b"ready"
                yield
            finally:
                os.close(ready)
                self.duckrow("down", "--kill", ok=False)
                daemon.communicate()

    @contextmanager
    def page(self, *words: str) -> Iterator[str]:
        """A server of the page; the link that signs a browser in."""
        pipe: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with self.duckrow.spawn("web", "--no-browser", "--port", "0", *words, **pipe) as server:
            try:
                assert server.stdout is not None
                found = re.search(rb"http://\S+", server.stdout.readline())
                assert found is not None
                yield found.group().decode()
            finally:
                server.terminate()
                server.communicate()

    # -- quick ways around the page ----------------------------------------------------------------------------------

    def session(self) -> str:
        """What the scripts of the page make of the link, which can be used once."""
        link = urlsplit(self.link).fragment.removeprefix("login=")
        told = self.ask("/login", {"Content-Type": "application/json"}, {"link": link})
        return str(told["session"])

    def api(self, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        return self.ask(f"/api/v1{path}", headers, body)

    def ask(self, path: str, headers: dict[str, str], body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{by_number(self.url)}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as got:
            return json.load(got)

    def add(self, *commands: str, **options: Any) -> list[int]:
        """Jobs in CPU slots, unless `gpus` says otherwise."""
        ids: list[int] = self.api("/jobs", {"text": "\n".join(commands), "options": {"gpus": 0, **options}})["ids"]
        return ids

    def running(self, command: str = "sleep 600", **options: Any) -> int:
        (job,) = self.add(command, **options)
        self.duckrow.wait_for(job, "running")
        return job

    def waiting(self, count: int = 1, **options: Any) -> list[int]:
        """Jobs that are not to begin before tomorrow."""
        return self.add(*["echo never"] * count, **{"name": "patient", "begin": "tomorrow", **options})

    def done(self, command: str = "true", **options: Any) -> int:
        (job,) = self.add(command, **options)
        until(lambda: self.status(job) not in ("queued", *LIVE), f"the end of job {job}")
        return job

    def training(self, rate: float = 0.1, steps: int = 3, pause_s: float = 0.0) -> str:
        return f"python train.py {rate} {steps} {pause_s}"

    def pretraining(self, mb: int, busy: int, reserved: str, **options: Any) -> int:
        """A job that has taken its memory of a GPU."""
        held = sum(map(self.gpus.used_mb, (0, 1)))
        (job,) = self.add(f"python pretrain.py {mb} {busy}", gpus=1, gpu_mem=reserved, **options)
        until(lambda: sum(map(self.gpus.used_mb, (0, 1))) >= held + mb, "the job's memory")
        return job

    def status(self, job: int) -> str:
        return self.duckrow.state(job)

    def sweep(self, name: str, **parameters: str) -> int:
        pattern = "python train.py {lr} 6 0 # seed {seed}"
        wanted = {"pattern": pattern, "parameters": parameters, "options": {"name": name, "gpu_mem": "1G"}}
        number: int = self.api("/sweeps", wanted)["sweep"]
        until(lambda: not self.sweep_counts(number) - {"succeeded", "failed"}, "the end of the sweep")
        return number

    def sweep_counts(self, sweep: int) -> set[str]:
        return {word for word, count in self.api(f"/sweeps/{sweep}")["counts"].items() if count}

    def attempts_of(self, sweep: int) -> set[int]:
        return {run["attempts"] for run in self.api(f"/sweeps/{sweep}")["rows"]}

    def clear(self) -> None:
        """Nothing is left of what a test did."""
        status = self.api("/status")
        for project in status["paused_projects"]:
            self.api("/queue/resume", {"project": project})
        if status["paused"]:
            self.api("/queue/resume", {})
        counts = self.api("/jobs?per_page=1")["counts"]
        if set(counts) & {"queued", *LIVE}:
            self.api(
                "/jobs/actions",
                {"action": "kill", "select": "&".join(f"status={state}" for state in ("queued", *LIVE))},
            )
            until(lambda: not set(self.api("/status")["counts"]) & {"queued", *LIVE}, "the end of all jobs")
        if counts:
            self.api("/jobs/actions", {"action": "remove", "select": "status=done"})


def by_number(url: str) -> str:
    """For programs, which do not know that all names below `localhost` are this machine."""
    parts = urlsplit(url)
    return f"{parts.scheme}://127.0.0.1:{parts.port}{parts.path}"


def address_of(link: str) -> str:
    parts = urlsplit(link)
    return f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/')}"
