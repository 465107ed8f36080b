"""Another user of this machine: programs that run under a user id that owns nothing here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

NOBODY = 65534

needs_other_users = pytest.mark.skipif(
    os.getuid() != 0, reason="only root can start programs as another user; CI runs as root"
)

# What is imported later could not be read any more: Python itself may lie in root's home.
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
