"""Real other users for tests: processes with another user id, started by root."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.conftest import DEADLINE_S

NOBODY = 65534

# Python may lie where only root can read, such as /root. So these may read everything, but write only what is theirs.
_MAY_READ = "-all,+dac_read_search"

needs_other_users = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can start programs as another user; CI runs as root"
)


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


# What is imported later could not be read any more: Python itself may be in root's home.
_BECOME_NOBODY = f"""
import encodings.idna, http.server, json, os, resource, select, socket, sys, urllib.error, urllib.request
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
"""


@contextmanager
def as_other_user(program: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Python code that somebody else runs, from its first line of output on, until the block ends."""
    command = [sys.executable, "-IS", "-c", _BECOME_NOBODY + program, *words]
    with subprocess.Popen(command, cwd="/", stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()
