"""Python's own tests of executors pass with `duckrow.Executor`, as far as they apply."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S, Duckrow
from tests.system.python_executor_suite import GROUPS, NOT_APPLICABLE, find_module

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.skipif(
    find_module("executor") is None,
    reason="Python's own test_concurrent_futures is not installed (Debian: libpython3.X-testsuite)",
)
def test_pythons_own_tests_of_executors_pass(duckrow: Duckrow) -> None:
    """All groups at once, as they mostly sleep: each in a process of its own, which may be left in any state."""
    duckrow.up("--slots", "20")
    begun = {
        group: subprocess.Popen(
            [sys.executable, "-m", "tests.system.python_executor_suite", group],
            cwd=ROOT,
            env=duckrow.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for group in GROUPS
    }
    told = {group: process.communicate(timeout=DEADLINE_S)[0] for group, process in begun.items()}
    failed = [told[group] for group, process in begun.items() if process.returncode != 0]
    assert not failed, "\n".join(failed)


def test_what_does_not_apply_has_a_reason() -> None:
    for name, reason in NOT_APPLICABLE.items():
        assert name.split(".test_")[0] in GROUPS
        assert reason
