"""The command `duckrow web`, and `duckrow up --web`."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from duckrow.api.machine.installation import install_command
from duckrow.core.errors import DuckrowError
from duckrow.web.server import StopRequests, listen, serve
from duckrow.web.server_options import ServerOptions, checked_base_path, host_name
from tests.conftest import DEADLINE_S, Duckrow, is_running, until
from tests.web.conftest import Server


def test_it_says_where_the_page_is_and_how_to_reach_it_by_ssh(server: Server) -> None:
    link = rf"duckrow: the page is at http://[0-9a-f]{{8}}\.localhost:{server.port}/#login=[\w-]{{43}}"
    assert re.fullmatch(link, server.greeting[0])
    assert f"ssh -L {server.port}:127.0.0.1:{server.port}" in server.greeting[2]


def test_another_link_is_printed_for_the_server_that_runs(server: Server, duckrow: Duckrow) -> None:
    link = duckrow("web", "--url").stdout.strip()
    assert link != server.link
    assert server.log_in(link).status_code == 200


def test_without_a_server_there_is_no_link(duckrow: Duckrow, serve: Callable[..., Server]) -> None:
    refused = duckrow("web", "--url", ok=False)
    assert refused.stderr.strip() == "duckrow: The page is not being served. Start it: duckrow web"
    server = serve()
    server.process.kill()
    server.process.wait()
    assert duckrow("web", "--url", ok=False).returncode == 1


@pytest.mark.parametrize("mode", [[], ["--read-only"]])
def test_the_token_is_the_same_each_time_and_opens_the_server(
    duckrow: Duckrow, serve: Callable[..., Server], mode: list[str]
) -> None:
    token = duckrow("web", *mode, "--token").stdout
    assert duckrow("web", *mode, "--token").stdout == token
    server = serve(*mode)
    assert server.token == token.strip()
    assert server.get("/status")


def test_a_port_that_is_taken_is_passed_over_unless_it_was_asked_for(tmp_path: object) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        wanted = ServerOptions("/nowhere", port=taken.getsockname()[1])
        with pytest.raises(DuckrowError, match="is in use"):
            listen(wanted, exact=True)
        found, serving = listen(wanted, exact=False)
        for each in found:
            each.close()
        assert serving.port > wanted.port


def test_without_the_extra_it_says_how_to_install_it(duckrow: Duckrow) -> None:
    program = """if True:
        import importlib.util
        real = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *more: None if name == "uvicorn" else real(name, *more)
        from duckrow.cli.main import main
        main()
    """
    done = subprocess.run(
        [sys.executable, "-c", program, "web"], env=duckrow.env, capture_output=True, text=True, timeout=DEADLINE_S
    )
    assert done.returncode == 1
    assert done.stderr.strip() == f"duckrow: The page needs uvicorn. Install: {install_command('web')}"


def test_ctrl_c_counts_from_before_the_server_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "setswitchinterval", lambda seconds: None)  # of this process, which is not a server
    listening, serving = listen(ServerOptions(str(tmp_path), port=0), exact=True)
    with StopRequests().heard() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        serve(listening, serving, stop)
    assert stop.by_key, "the terminal shows ^C"


def test_ctrl_c_ends_it_without_a_complaint(serve: Callable[..., Server]) -> None:
    server = serve()
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(DEADLINE_S) == 0
    assert "Traceback" not in server.log.read_text()


def test_the_page_beside_the_daemon_ends_with_down(duckrow: Duckrow) -> None:
    said = duckrow("up", "--slots", "1", "--web", env={"DUCKROW_TEST": "1"}).stdout
    link = said.split("the page is at ")[1].split()[0]
    address = f"http://127.0.0.1:{urlsplit(link).port}"
    assert httpx.get(f"{address}/healthz", trust_env=False, timeout=DEADLINE_S).json() == {"ok": True}
    assert "already being served" in duckrow("up", "--web").stdout
    duckrow("down")
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/healthz", trust_env=False, timeout=DEADLINE_S)


def test_the_page_beside_the_daemon_may_die_without_anybody_noticing(duckrow: Duckrow) -> None:
    duckrow("up", "--slots", "1", "--web")
    [pid] = [int(p) for p in _pids_of_servers(duckrow)]
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_running(pid), "its end")
    job_id = duckrow.submit("true")
    duckrow.wait_for(job_id, "succeeded")
    assert duckrow("down").stderr.count("page") == 0


def _pids_of_servers(duckrow: Duckrow) -> list[int]:
    import json

    return [json.loads(path.read_text())["pid"] for path in (duckrow.home / "web" / "servers").iterdir()]


@pytest.mark.parametrize(
    ("header", "name"), [("localhost:1", "localhost"), ("[::1]:1", "::1"), ("A.b", "a.b"), ("", "")]
)
def test_a_host_header_names_a_host(header: str, name: str) -> None:
    assert host_name(header) == name


@pytest.mark.parametrize(
    ("host", "shown", "listens"),
    [
        ("127.0.0.1", "x.localhost", ("127.0.0.1", "::1")),
        ("localhost", "x.localhost", ("127.0.0.1", "::1")),
        ("::1", "x.localhost", ("127.0.0.1", "::1")),
        ("127.0.0.5", "127.0.0.5", ("127.0.0.5",)),
        ("fd00::2", "[fd00::2]", ("fd00::2",)),
    ],
)
def test_no_link_leads_to_an_address_where_somebody_else_may_listen(
    host: str, shown: str, listens: tuple[str, ...]
) -> None:
    serving = ServerOptions("/nowhere", host, 8787, name="x.localhost")
    assert (serving.url, serving.addresses) == (f"http://{shown}:8787/", listens)


def test_a_server_of_the_network_is_called_by_its_number() -> None:
    shown = urlsplit(ServerOptions("/nowhere", "0.0.0.0").url).hostname
    assert shown == socket.gethostname() or re.fullmatch(r"\d+\.\d+\.\d+\.\d+", shown or "")


@pytest.mark.parametrize("text", ["/duckrow", "duckrow/", "/a/b"])
def test_a_base_path_begins_with_a_slash_and_ends_without(text: str) -> None:
    assert checked_base_path(text) == "/" + text.strip("/")


@pytest.mark.parametrize("text", ["/a b", "/../x", "/<script>", "//evil"])
def test_what_cannot_be_a_base_path_is_refused(text: str) -> None:
    if text == "//evil":
        assert checked_base_path(text) == "/evil"
    else:
        with pytest.raises(DuckrowError, match="base path"):
            checked_base_path(text)
