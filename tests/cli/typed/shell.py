"""What a shell would do with the commands of these tests: it knows a few words, and no process."""

from __future__ import annotations

import math
import signal
from collections.abc import Container

from duckrow.engines.dry.behaviour import Behaviour

SHORTEST_S = 0.01
"""So that no two that follow each other start at the same moment."""


def played(command: str, open_gates: Container[str] = ()) -> Behaviour:
    """`echo`, `sleep`, `true`, `false`, `exit`, `kill -9 $$`, and `gate NAME`, which lasts until that gate is open."""
    prints, runs_s, code = "", SHORTEST_S, 0
    for part in command.split(";"):
        verb, _, rest = part.strip().partition(" ")
        if verb == "echo":
            prints += rest.strip("'\"") + "\n"
        elif verb == "sleep":
            runs_s += float(rest)
        elif verb == "gate":
            runs_s += 0.0 if rest in open_gates else math.inf
        elif verb == "exit":
            return Behaviour(runs_s, int(rest), prints=prints)
        elif part.strip() == "kill -9 $$":
            return Behaviour(runs_s, None, signal.SIGKILL, prints=prints)
        elif verb not in ("true", "false"):
            raise AssertionError(f"Nobody has said what '{command}' does: duckrow.does(...)")
        code = int(verb == "false")
    return Behaviour(runs_s, code, prints=prints)
