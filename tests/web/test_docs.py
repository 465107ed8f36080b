"""The curl examples of docs/http.md do what the page says; what docs/security.md says was tried, was."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S, Duckrow
from tests.web.conftest import Server

TESTS = Path(__file__).parent.parent
PAGE = TESTS.parent / "docs" / "http.md"
ATTACKS = TESTS.parent / "docs" / "security.md"


def examples() -> list[str]:
    fences = re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    commands = [line for fence in fences for line in fence.replace("\\\n", " ").splitlines()]
    return [command for command in commands if command.startswith("curl ")]


@pytest.mark.skipif(shutil.which("curl") is None and "CI" not in os.environ, reason="there is no curl here")
def test_every_curl_example_works(queue: Server, duckrow: Duckrow) -> None:
    env = {**duckrow.env, "URL": queue.address, "TOKEN": queue.token, "no_proxy": "127.0.0.1"}
    commands = examples()
    assert len(commands) > 18
    for command in commands:
        if "/api/v1/jobs/1/log" in command:
            duckrow.wait_for(1, "succeeded")
        words = command.replace("curl -s", "curl --fail-with-body --show-error -s", 1)
        done = subprocess.run(["bash", "-c", words], env=env, cwd=duckrow.work, capture_output=True, timeout=DEADLINE_S)
        assert done.returncode == 0, f"{command}\n{done.stdout.decode()}\n{done.stderr.decode()}"
        assert done.stdout


def test_every_attack_names_a_test_that_there_is() -> None:
    tests = {
        name for path in TESTS.rglob("test_*.py") for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)
    }
    rows = re.findall(r"^\| (?!they try|---)(.+) \|$", ATTACKS.read_text(), re.MULTILINE)
    assert len(rows) > 15
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row)
        assert named or row.endswith("| the same"), row
        assert set(named) <= tests, row
