"""The tests themselves: none is in a hurry, for other work may have the cores while they run; none leaves anything."""

from __future__ import annotations

import ast
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S, is_running, processes_end
from tests.sources import dotted

pytestmark = pytest.mark.no_cover  # nothing of ours runs here

HERE = Path(__file__).parent
CLOCKS = {"time.monotonic", "time.perf_counter", "time.time"}
DEADLINES = {"timeout", "deadline_s", "limit_s"}  # by which name a call is told how long it may take
WAITING = {"wait", "join", "result", "communicate", "settimeout", "create_connection"}
HASTY = {"httpx.Client", "httpx.get", "httpx.post"}
NO_TESTS = {"fake_nvml/fakegpu.py"}  # what simulated jobs run


def complaints(name: str, source: str) -> list[str]:
    """What in this file depends on how quick the machine is, a sentence each."""
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.expr))
    found = [(node.lineno, said) for node in nodes for said in _said_of(node)]
    lines = source.splitlines()
    return [f"{name}:{line}: {said}" for line, said in sorted(found) if "# in time: " not in lines[line - 1]]


def _said_of(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Call):
        called = dotted(node.func)
        if called == "time.sleep" or called.endswith(".wait_for_timeout"):
            yield f"{called}: wait for what must come, with `until`"
        for seconds in _deadlines(node, called.rpartition(".")[2]):
            if 0 < seconds < DEADLINE_S:
                yield f"{called} waits for {seconds:g} s only: say DEADLINE_S"
        if called in HASTY and not any(keyword.arg == "timeout" for keyword in node.keywords):
            yield f"{called} waits for 5 s only, unless it is told timeout=DEADLINE_S"
    if isinstance(node, ast.Compare) and _is_elapsed(node.left) and isinstance(node.ops[0], ast.Lt | ast.LtE):
        yield "an upper limit for the time that passed: measure something else, as the work that was done"


def _deadlines(call: ast.Call, name: str) -> Iterator[float]:
    given = [keyword.value for keyword in call.keywords if keyword.arg in DEADLINES]
    given += call.args[:1] if name in WAITING else []
    for value in given:
        if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
            yield value.value


def _is_elapsed(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _is_clock(node.left)


def _is_clock(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) in CLOCKS


def test_no_test_is_in_a_hurry() -> None:
    files = [path for path in HERE.rglob("*.py") if str(path.relative_to(HERE)) not in NO_TESTS]
    assert len(files) > 100
    found = [said for path in files for said in complaints(str(path.relative_to(HERE)), path.read_text())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("time.sleep(0.1)", "time.sleep"),
        ("process.wait(30)", "process.wait waits for 30 s only"),
        ("process.communicate(timeout=5)", "waits for 5 s only"),
        ("until(there, deadline_s=10)", "until waits for 10 s only"),
        ("httpx.get(link)", "waits for 5 s only"),
        ("assert time.monotonic() - began < 5", "an upper limit"),
    ],
)
def test_what_is_in_a_hurry_is_found(source: str, said: str) -> None:
    (found,) = complaints("test_x.py", source)
    assert found.startswith("test_x.py:1: ")
    assert said in found


@pytest.mark.parametrize(
    "source",
    [
        "process.wait(DEADLINE_S)",
        "process.wait()",
        "duckrow('wait', '1', '--timeout', '0.1')",
        "assert time.monotonic() - began > 1",
        "assert time.process_time() - began < 1",
        "time.sleep(0.1)  # in time: the moment is what is tested",
    ],
)
def test_what_is_patient_is_let_through(source: str) -> None:
    assert complaints("test_x.py", source) == []


# -- what a test leaves -----------------------------------------------------------------------------------------------


def test_a_process_that_a_test_forgets_ends_with_it_and_is_no_trouble_to_the_next() -> None:
    with processes_end():
        forgotten = subprocess.Popen(["sleep", "600"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert forgotten.returncode == -signal.SIGKILL
    assert not is_running(forgotten.pid)
    assert forgotten.stdin
    assert forgotten.stdout
    assert (forgotten.stdin.closed, forgotten.stdout.closed) == (True, True)


def test_a_test_that_fails_does_not_wait_for_its_process() -> None:
    with pytest.raises(ZeroDivisionError), subprocess.Popen(["sleep", "600"]):
        _ = 1 / 0


def test_a_process_that_a_test_begins_can_be_interrupted_also_if_the_shell_ignores_it() -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        process.send_signal(signal.SIGINT)
    assert process.returncode == -signal.SIGINT
