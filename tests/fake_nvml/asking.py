"""Asks NVML through the real nvidia-ml-py, in a process that finds the library as any other does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

MB = 1 << 20
ASKER = """
import ctypes, json, os, sys
import pynvml
from pynvml import *

def gpu(index): return nvmlDeviceGetHandleByIndex(index)
def mig(index, instance): return nvmlDeviceGetMigDeviceHandleByIndex(gpu(index), instance)
def pids(processes): return [process.pid for process in processes]

def look_at(folder):
    os.environ["DUCKROW_FAKE_NVML"] = folder
    while True:
        try: nvmlShutdown()
        except NVMLError: return nvmlInit()

def plain(value):
    if isinstance(value, ctypes.Structure):
        return {name: getattr(value, name) for name, _ in value._fields_}
    return value.decode() if isinstance(value, bytes) else getattr(value, "value", None) or vars(value)

for line in sys.stdin:
    try: answer = eval(line)
    except NVMLError as error: answer = type(error).__name__
    print(json.dumps(answer, default=plain), flush=True)
"""


class Nvml:
    """Evaluates expressions over the names of pynvml; an error of NVML is answered by its name."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", ASKER],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, expression: str) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(expression + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def used_mb(self, gpu: int = 0) -> int:
        return int(self(f"nvmlDeviceGetMemoryInfo(gpu({gpu})).used")) // MB

    def pids(self, gpu: int = 0) -> list[int]:
        found: list[int] = self(f"pids(nvmlDeviceGetComputeRunningProcesses(gpu({gpu})))")
        return found
