"""A shell in which the names of the older tools start our drop-in replacements."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import DEADLINE_S, Duckrow

PYTHON_DOOR = "python -m duckrow.dropin."
DUCKROW_DOOR = "duckrow dropin "
DOORS = [PYTHON_DOOR, DUCKROW_DOOR]


def environment(duckrow: Duckrow) -> dict[str, str]:
    """`python`, `python3` and `duckrow` are those of this environment; programs of the working folder are found."""
    path = f"{duckrow.work}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    ours = {name: value for name, value in duckrow.env.items() if name != "PYTHONUNBUFFERED"}
    return {**ours, "PATH": path}


def shell(duckrow: Duckrow, script: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a line of a document to its end."""
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script}"],
        env=environment(duckrow),
        cwd=duckrow.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEADLINE_S,
    )
    result = subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in result.stderr, result.stderr
    assert not ok or result.returncode == 0, f"exit {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result


def program(duckrow: Duckrow, name: str, text: str) -> None:
    path = duckrow.work / name
    path.write_text(text)
    path.chmod(0o755)


def lines_of(path: Path) -> list[str]:
    return path.read_text().split("\n")[:-1] if path.exists() else []


def has_ended_of(process: subprocess.Popen[bytes], number: int) -> bool:
    """Send it this signal; whether it has ended. The same signal twice at once is one."""
    process.send_signal(number)
    try:
        process.wait(0.2)  # in time: then it is told again
        return True
    except subprocess.TimeoutExpired:
        return False
