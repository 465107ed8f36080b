"""The OpenAPI description is true: what it says is sent at a real server, and the answers are as it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import Duckrow
from tests.web.conftest import API, Server

EXAMPLES = "20" if os.environ.get("DUCKROW_SOAK") else "2"  # for each route
LEFT_OUT = "events|stream|resume|wait|daemon"
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "ignored_auth,unsupported_method"
)


def test_generated_requests_find_no_fault(queue: Server, duckrow: Duckrow) -> None:
    """There are jobs in every state and a sweep. Everything is paused, and nothing resumes it: what is generated may be
    added, and must not run.

    Streams never end, so they are left out, as is what waits, and what would end the daemon.
    """
    _make_a_past(queue, duckrow)
    duckrow("pause")
    duckrow("submit", "--hold", "--", "echo", "hello")
    done = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("schemathesis")), "--no-color", "run"),
            f"{queue.address}{API}/openapi.json",
            *("--header", f"Authorization: Bearer {queue.token}"),
            *("--exclude-path-regex", LEFT_OUT),
            *("--phases", "examples,fuzzing", "--max-examples", EXAMPLES, "--seed", "7", "--workers", "2"),
            *("--checks", CHECKS, "--request-timeout", "30", "--suppress-health-check", "all"),
        ],
        cwd=duckrow.work,
        env=duckrow.env,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    described = queue.get("/openapi.json")["paths"]
    asked = sum(len(methods) for path, methods in described.items() if not re.search(LEFT_OUT, path))
    assert f"{asked} passed" in done.stdout, done.stdout[-2000:]
    assert "Traceback" not in queue.log.read_text()


def _make_a_past(queue: Server, duckrow: Duckrow) -> None:
    sweep = {"pattern": "echo {x}; duckrow report loss={x}; test {x} = 1", "parameters": {"x": "1 2"}}
    queue.post("/sweeps", {**sweep, "options": {"cwd": str(duckrow.work), "retries": 1, "backoff": "0s"}}, 201)
    first, second = queue.add("echo hello\nsleep 600")
    duckrow.sql("INSERT INTO peaks (recipe, model, peak_mb, runs, at) VALUES ('train.py', 'H200', 900, 2, 1.0)")
    for job_id in (1, 2, first, second):
        duckrow.wait_for(job_id, "succeeded", "failed", "running")
    duckrow.wait_for(2, "failed")


def test_every_route_of_the_interface_is_described_with_its_errors(idle: Server) -> None:
    described = idle.get("/openapi.json")
    assert described["openapi"].startswith("3.1")
    assert set(described["components"]["securitySchemes"]) == {"token", "session"}
    for path, methods in described["paths"].items():
        for method, told in methods.items():
            assert told["summary"].endswith((".", ")")), f"{method} {path}"
            assert {"401", "403", "422"} <= set(told["responses"])
            [answer] = [told["responses"][status] for status in ("200", "201") if status in told["responses"]]
            [(kind, content)] = answer["content"].items()
            assert kind != "application/json" or content["schema"].get("$ref"), f"{method} {path}"
