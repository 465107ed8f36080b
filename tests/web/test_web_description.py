"""The OpenAPI description is true: what it says is sent at a real server, and the answers are as it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import Duckrow
from tests.web.conftest import API, Server

LEFT_OUT = "events|stream|resume"
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "ignored_auth,unsupported_method"
)


def test_generated_requests_find_no_fault(queue: Server, duckrow: Duckrow) -> None:
    """Everything is paused, and nothing resumes it: what is generated may be added, and must not run.

    Streams never end, so they are left out.
    """
    duckrow("pause")
    duckrow("submit", "--hold", "--", "echo", "hello")
    done = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("schemathesis")), "--no-color", "run"),
            f"{queue.address}{API}/openapi.json",
            *("--header", f"Authorization: Bearer {queue.token}"),
            *("--exclude-path-regex", LEFT_OUT),
            *("--phases", "examples,fuzzing", "--max-examples", "8", "--seed", "7", "--workers", "2"),
            *("--checks", CHECKS, "--request-timeout", "30", "--suppress-health-check", "all"),
        ],
        cwd=duckrow.work,
        env=duckrow.env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    described = queue.get("/openapi.json")["paths"]
    asked = sum(len(methods) for path, methods in described.items() if not re.search(LEFT_OUT, path))
    assert f"{asked} passed" in done.stdout, done.stdout[-2000:]
    assert "Traceback" not in queue.log.read_text()


def test_every_route_of_the_interface_is_described_with_its_errors(idle: Server) -> None:
    described = idle.get("/openapi.json")
    assert described["openapi"].startswith("3.1")
    assert set(described["components"]["securitySchemes"]) == {"token", "session"}
    for path, methods in described["paths"].items():
        for method, told in methods.items():
            assert told["summary"].endswith((".", ")")), f"{method} {path}"
            assert {"401", "403", "422"} <= set(told["responses"])
