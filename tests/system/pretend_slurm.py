"""SLURM's commands for a machine without SLURM: what is submitted is started at once, as a process of its own.

It says of a job that it runs as long as its process does. That is enough for faults of the machine around it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PROGRAM = """#!{python} -IS
import os, sys
JOBS = {jobs!r}
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]

def is_alive(pid):
    try:
        return open(f"/proc/{{pid}}/stat").read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

if "--test-only" in words:
    pass  # it takes everything
elif name == "sbatch":
    import re, subprocess
    array = next(word for word in words if word.startswith("--array="))
    first, last = re.match(r"--array=(\\\\d+)(?:-(\\\\d+))?", array).groups()
    number = len(os.listdir(JOBS)) + 1
    script = words.index(next(word for word in words if word.endswith(".sh")))
    text = open(words[script]).read().replace({python!r}, {pilot_python!r})
    with open(f"{{JOBS}}/{{number}}", "w") as noted:
        for index in range(int(first), int(last or first) + 1):
            own = {{"SLURM_ARRAY_JOB_ID": str(number), "SLURM_ARRAY_TASK_ID": str(index), "SLURM_JOB_ID": str(number)}}
            with open(f"{{JOBS}}.{{number}}_{{index}}.log", "wb") as log:
                pilot = subprocess.Popen(
                    ["bash", "-c", text, *words[script:]], env={{**os.environ, **own}}, stdin=subprocess.DEVNULL,
                    stdout=log, stderr=log, start_new_session=True, close_fds=True,
                )
            noted.write(f"{{index}} {{pilot.pid}}\\\\n")
    print(number)
elif name == "squeue" and not any(word.startswith("--jobs=") for word in words):
    for number in os.listdir(JOBS):
        for line in open(f"{{JOBS}}/{{number}}"):
            index, pid = line.split()
            print(f"{{number}}|{{index}}|{{'RUNNING' if is_alive(pid) else 'COMPLETED'}}|N/A|None")
"""


class PretendSlurm:
    def __init__(self, folder: Path, pilot_python: str = sys.executable) -> None:
        """`pilot_python`: what starts its jobs, instead of our Python."""
        self._jobs = folder / "jobs"
        self._programs = folder / "bin"
        self._jobs.mkdir(parents=True)
        self._programs.mkdir()
        text = _PROGRAM.format(python=sys.executable, jobs=str(self._jobs), pilot_python=pilot_python)
        text = text.replace("\\\\", "\\")
        for name in ("sbatch", "squeue", "scancel", "scontrol"):
            program = self._programs / name
            program.write_text(text)
            program.chmod(0o755)

    @property
    def path(self) -> str:
        """With its commands before all others."""
        return f"{self._programs}:{os.environ['PATH']}"

    def logs(self) -> str:
        """What its jobs have printed."""
        return "".join(path.read_text() for path in sorted(self._jobs.parent.glob("jobs.*.log")))
