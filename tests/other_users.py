"""Real other users for tests: processes with another user id, started by root."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import DEADLINE_S

NOBODY = 65534

# Python may lie where only root can read, such as /root. So these may read everything, but write only what is theirs.
_MAY_READ = "-all,+dac_read_search"

needs_other_users = pytest.mark.skipif(os.geteuid() != 0, reason="only root may be another user")


def as_user(uid: int) -> list[str]:
    """Words before a command that make it this user's."""
    who = [f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    may = [f"--inh-caps={_MAY_READ}", f"--ambient-caps={_MAY_READ}", f"--bounding-set={_MAY_READ}"]
    return ["setpriv", *who, *may]


def python_as(uid: int, code: str, *words: str) -> str:
    """What this code prints when another user runs it."""
    command = [*as_user(uid), sys.executable, "-c", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
