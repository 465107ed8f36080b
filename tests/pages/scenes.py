"""What must have happened before a block shows what it shows. `<!-- scene: NAME -->` above the block names it."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from tests.conftest import until
from tests.fake_nvml import fakegpu
from tests.pages.arounds import EXAMPLES, jobs, lines
from tests.pages.machine import Machine

# Fails with a high rate, and trains with a low one until there is a file `gate`.
TRAINING = """import os, sys, time

lr = float(sys.argv[-1])
if lr > 1:
    raise ValueError(f"learning rate {lr:g} is too high")
while lr < 1 and not os.path.exists("gate"):
    time.sleep(0.02)
"""
# The same, and reports a loss.
REPORTING = """import json, os, sys, time

model, lr = sys.argv[2], float(sys.argv[4])
if lr > 1:
    sys.exit(f"ValueError: learning rate {lr:g} is too high")
with open(os.environ["DUCKROW_METRICS"], "a") as file:
    for epoch in range(3):
        loss = {"cnn": 0.03, "resnet": 0.06}[model] + lr + (2 - epoch) / 100
        print(json.dumps({"loss": round(loss, 4), "epoch": epoch}), file=file, flush=True)
        while (model, lr, epoch) == ("resnet", 0.01, 1):
            time.sleep(0.02)
"""
# Holds memory of its GPU until it is killed.
ON_GPU = 'import os, sys\nwords = "--ramp 0:25600 --util 35 --hold 600".split()\n' + (
    f'os.execv(sys.executable, [sys.executable, "-IS", {fakegpu.__file__!r}, *words])\n'
)


def _trains(machine: Machine, text: str = TRAINING) -> None:
    (machine.work / "train.py").write_text(text)


def _wait_for(machine: Machine, job: int, state: str) -> None:
    machine.duckrow().wait_for(job, state)


def _as_if_it_had_taken(machine: Machine, job: int, seconds: float) -> None:
    machine.duckrow().sql("UPDATE attempts SET started_at = started_at - ? WHERE job_id = ?", seconds, job)


def a_list(machine: Machine) -> None:
    _trains(machine)
    machine.type(
        "duckrow up --devices 0,1 --slots 1\n"
        "duckrow submit --cpu -n prep -- python prep.py; duckrow submit -- python train.py --lr 1; duckrow wait 1-2"
    )
    _as_if_it_had_taken(machine, 2, 3600)
    machine.type(
        "duckrow submit --retries 2 --backoff 0s -- python train.py --lr 10; duckrow wait 3 || true\n"
        "duckrow submit --gpus 2 -- python train.py --lr 0.1; duckrow submit -- python train.py --lr 0.01"
    )
    _wait_for(machine, 4, "running")


def errors(machine: Machine) -> None:
    _trains(machine)
    stubborn = 'trap "" TERM; echo epoch 12; while :; do sleep 0.05; done'
    machine.type(
        f"duckrow up --slots 1\n{jobs(2)}; {lines('python train.py --lr 10', 3)} | duckrow submit --file -; {jobs(2)}\n"
        f"duckrow submit --timeout 0.5s --signal none --grace 0.1s '{stubborn}'; duckrow wait 1-8 || true"
    )


def waiting(machine: Machine) -> None:
    _trains(machine)
    machine.type(
        f"duckrow up --devices 0,1 --slots 1; {jobs(7, '--cpu')}; duckrow submit -- python train.py --lr 1\n"
        "duckrow wait 1-8"
    )
    _as_if_it_had_taken(machine, 8, 3600)
    machine.type(
        f"duckrow submit -- python train.py --lr 0.1; {jobs(2, '--cpu')}; duckrow wait 10-11\n"
        "duckrow submit --gpus 2 -- python train.py --lr 0.01"
    )
    _wait_for(machine, 9, "running")


@contextmanager
def _alice(machine: Machine) -> Iterator[None]:
    """Somebody else with a process on GPU 0. Who that is, only root can choose."""
    if os.geteuid() != 0:
        pytest.skip("only root can start a process of another user")
    nobody = pwd.getpwnam("nobody")
    machine.aliases |= {"nobody": "alice", r"(alice: .*: )sleep": r"\1python"}
    with subprocess.Popen(["sleep", "600"], user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[]) as theirs:
        machine.gpus.allocate(theirs.pid, 0, 51_200)
        yield
        theirs.kill()


def two_users(machine: Machine) -> Iterator[None]:
    _trains(machine, ON_GPU)
    for degrees in (41, 30, 30):
        machine.gpus.add("NVIDIA H200", memory_mb=102_400, temperature=degrees)
    with _alice(machine):
        machine.type("duckrow up --devices 0-2 --slots 32; duckrow gpus drain 1")
        machine.gpus.change(2, lost=True)
        until(lambda: "set aside" in machine.type("duckrow gpus"), "the GPU to be lost")
        machine.type(f"{jobs(2, '--cpu')}; duckrow submit --gpu-mem 28G -- python train.py --lr 0.1")
        until(lambda: _used(machine) == [25_600], "what the job takes to be seen")
        yield


def _used(machine: Machine) -> list[int]:
    devices = json.loads(machine.type("duckrow gpus --json"))
    return [job["used_mb"] for device in devices for job in device["jobs"]]


def no_driver(machine: Machine) -> None:
    _trains(machine)
    machine.gpus.driver("missing")
    machine.type(f"duckrow up --devices 0 --slots 1; {jobs(2, '--cpu')}; duckrow submit -- python train.py --lr 0.1")
    commands = "printf 'python train.py --lr 0.01\\npython train.py --lr 0.001\\n'"
    machine.type(f"({commands} | duckrow run --devices 1 --jobs-per-gpu 2 > /dev/null 2>&1 &)")
    for job in (3, 4, 5):
        _wait_for(machine, job, "running")


def results(machine: Machine) -> None:
    _trains(machine, REPORTING)
    machine.type(
        "duckrow up --slots 2; duckrow sweep 'python train.py --model {model} --lr {lr} --epochs {epochs}' "
        "-p model cnn resnet -p lr 0.1 0.01 10 -p epochs 3 --submit; duckrow wait 1-4,6 || true"
    )
    until(lambda: "0.08  1" in machine.type("duckrow results"), "the run to have reported")


def learned(machine: Machine) -> None:
    _trains(machine, ON_GPU.replace("25600", "8397").replace("600", "1.5"))
    machine.type("cp train.py eval.py; printf 'python %s.py\n' train eval | duckrow run --pack")
    machine.type("duckrow memory set eval.py 12G")


def no_daemon(machine: Machine) -> None:
    machine.aliases |= {
        r"\S+, on Python \S+ \(\S+\), Linux \S+ \S+": "0.1.0, on Python 3.12.3 (/usr/bin/python3), Linux 6.8.0 x86_64",
        r"\S+ \(at least": "3.45.1 (at least",
        r"(file system +)\w+": r"\1ext4",
    }
    machine.type(f"{jobs(3, '--hold')}; duckrow down")


def in_the_repository(machine: Machine) -> None:
    machine.type(EXAMPLES)


def leftovers(machine: Machine) -> None:
    machine.type("duckrow submit --cpu --grace 0.5s 'sleep 600 &'; duckrow wait last")


def resumed(machine: Machine) -> None:
    in_the_repository(machine)
    machine.type("duckrow sweep --from examples/sweep.yaml --run --slots 8 || true")


def cold(machine: Machine) -> None:
    """A library that leaves threads behind it cannot be forked."""
    library = machine.work / "site-packages"
    library.mkdir()
    library.joinpath("torch.py").write_text(
        "from threading import Thread\nfrom time import sleep\n\n"
        "for _ in range(2):\n    Thread(target=sleep, args=(600,), daemon=True).start()\n"
    )
    _trains(machine, "import torch\n")
    machine.env["PYTHONPATH"] = str(library)
    machine.type(f"{lines('python train.py', 3)} | duckrow run --slots 1 --preload torch")


class Scene(NamedTuple):
    gpus: int  # that the driver shows
    play: Callable[[Machine], Iterator[None] | None]


SCENES = {
    "list": Scene(2, a_list),
    "errors": Scene(0, errors),
    "waiting": Scene(2, waiting),
    "two-users": Scene(0, two_users),
    "no-driver": Scene(0, no_driver),
    "learned": Scene(1, learned),
    "no-daemon": Scene(0, no_daemon),
    "results": Scene(0, results),
    "leftovers": Scene(0, leftovers),
    "resumed": Scene(0, resumed),
    "cold": Scene(0, cold),
    "repository": Scene(0, in_the_repository),
}


@contextmanager
def played(name: str, machine: Machine) -> Iterator[None]:
    """A scene goes on, if it does, until what it is for is shown."""
    running = SCENES[name].play(machine)
    if running is not None:
        next(running)
    yield
    if running is not None:
        next(running, None)
