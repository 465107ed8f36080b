"""The curl examples of docs/http.md do what the page says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S, Duckrow
from tests.web.conftest import Server

PAGE = Path(__file__).parent.parent.parent / "docs" / "http.md"


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
