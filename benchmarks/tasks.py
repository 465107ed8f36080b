"""What does a Python task cost? 1,000 that do nothing, on 2 slots, through GPUTaskScheduler.

The tool whose place it takes needed 11 ms for each of them; it is in no package index, so beside it stands what it was
built on: a process of multiprocessing for each task, two at a time.

Each task makes a folder and two files. What a new file costs is told beside it, because it may vary by ten: an ext4
without a journal, as many virtual machines have, passes over every file removed in the last five minutes, one by one.
So nothing is removed before all is measured, and the same is measured in memory too.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.measure import interleaved, own_duckrow, seconds, table

TASKS = 1000
MEMORY = "/dev/shm"
TASK = """
from duckrow.dropin.gpu_task_scheduler.gpu_task import GPUTask

class Task(GPUTask):
    def main(self):
        pass
"""
SCHEDULER = f"""
from duckrow.dropin.gpu_task_scheduler import GPUTaskScheduler
from task import Task

settings = {{"gpu": ["0", "1"]}}
GPUTaskScheduler({{"scheduler_config": settings, "test_config": [{{"x": list(range({TASKS}))}}]}}, Task).start()
"""
PROCESSES = f"""
import multiprocessing, os, threading
from task import Task

def run(number):
    os.makedirs(f"results/x-{{number}},", exist_ok=True)
    Task({{"x": number}}, f"results/x-{{number}},").main()

def work(numbers):
    for number in numbers:
        process = multiprocessing.Process(target=run, args=(number,))
        process.start()
        process.join()

if __name__ == "__main__":
    numbers = iter(range({TASKS}))
    threads = [threading.Thread(target=work, args=(range(slot, {TASKS}, 2),)) for slot in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def main() -> None:
    for place, where in (("/var/tmp", "on disk"), (MEMORY, "in memory")):
        if os.path.isdir(place):
            measure(place, f"A Python task that does nothing, {TASKS} on 2 slots, files {where}")


def measure(place: str, title: str) -> None:
    with own_duckrow(place) as folder:
        taken = interleaved(
            {
                "multiprocessing.Process": partial(script, folder, "processes", PROCESSES),
                "GPUTaskScheduler of duckrow": partial(script, folder, "scheduler", SCHEDULER),
            }
        )
        rows = {name: value / TASKS for name, value in taken.items()}
        table(title, rows, "ms", 1000, "multiprocessing.Process")
        print(f"  {'a new file there':<34} {new_file(folder) * 1000:9.2f} ms", flush=True)


def new_file(folder: Path) -> float:
    began = time.perf_counter()
    for number in range(TASKS):
        (folder / str(number)).touch()
    return (time.perf_counter() - began) / TASKS


def script(folder: Path, name: str, source: str) -> float:
    work = Path(tempfile.mkdtemp(dir=folder))
    (work / "task.py").write_text(TASK)
    path = work / f"{name}.py"
    path.write_text(f"import os; os.chdir({str(work)!r})\n{source}")
    return seconds([sys.executable, str(path)])


if __name__ == "__main__":
    main()
