"""Nobody gets in who does not belong, and no other website acts through the browser of somebody who does."""

from __future__ import annotations

import getpass
import os
import re
import socket
import stat
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn

from duckrow import __version__ as duckrow_version
from duckrow.api.python.handles import client_of
from duckrow.api.queue.listing import matching_ids
from duckrow.cli.commands.web import _open
from duckrow.core.errors import NotFoundError
from duckrow.core.jobs.job_filter import Filter
from duckrow.web import page_files
from duckrow.web.app import build
from duckrow.web.gate.credentials import Credentials
from duckrow.web.gate.request_timeout import TimeLimitedProtocol
from duckrow.web.gate.sessions import Sessions
from duckrow.web.gate.unknown_connections import UnknownConnections
from duckrow.web.server import listen
from duckrow.web.server_options import ServerOptions
from tests.conftest import DEADLINE_S, Duckrow
from tests.web.conftest import API, Server, link_of
from tests.web.inside import Inside

PAGES = ["/", "/machine", "/jobs/1", "/sweeps", "/sweeps/x", "/timeline", "/add", "/static/duck.svg", "/static/app.js"]
CLOSED = ["/metrics", f"{API}/openapi.json", "/nowhere", "/ticket", "/login", "/jobs", "/jobs/1/", "/static", "/docs"]


def routes_of_the_interface(server: Server) -> list[tuple[str, str]]:
    described = server.get("/openapi.json")
    return [
        (method.upper(), path.replace("{job_id}", "1").replace("{sweep_id}", "1").replace("{name}", "0"))
        for path, methods in described["paths"].items()
        for method in methods
    ]


# -- who may come in ----------------------------------------------------------------------------------------------


def test_without_a_secret_everything_but_the_empty_page_is_401(idle: Server) -> None:
    routes = [*routes_of_the_interface(idle), *(("GET", path) for path in CLOSED), ("POST", "/ticket"), ("POST", "/")]
    assert len(routes) > 30
    with idle.stranger() as stranger:
        for method, path in routes:
            answer = stranger.request(method, path, headers={"X-Duckrow": "1"})
            assert answer.status_code == 401, f"{method} {path}: {answer.status_code}"
            assert answer.headers["www-authenticate"] == "Bearer"
        assert stranger.get("/healthz").json() == {"ok": True}


def test_the_page_and_its_files_are_open_and_hold_nothing(idle: Server, tmp_path: Path) -> None:
    with idle.stranger() as stranger:
        for path in PAGES:
            assert stranger.get(path).status_code == 200, path
        text = stranger.get("/").text
    for secret in (socket.gethostname(), getpass.getuser(), str(idle.duckrow.home), duckrow_version, idle.token):
        assert secret not in text
    with Inside(ServerOptions(str(tmp_path), read_only=True)) as read_only:
        assert read_only.ask("GET", "/").text == text  # not even the mode


def test_no_cookie_is_ever_set_or_read(idle: Server) -> None:
    with idle.browser() as browser, idle.stranger() as stranger:
        session = browser.headers["X-Duckrow"]
        for path in ("/", f"{API}/status", "/healthz"):
            assert "set-cookie" not in browser.get(path).headers
        for name in ("X-Duckrow", "session", "duckrow"):
            assert stranger.get(f"{API}/status", headers={"Cookie": f"{name}={session}"}).status_code == 401


@pytest.mark.parametrize(
    "header", ["Bearer wrong", "Bearer", "Basic {token}", "{token}", "Bearer {token}x", "Bearer é"]
)
def test_a_wrong_token_is_no_token(idle: Server, header: str) -> None:
    with idle.stranger() as stranger:
        value = header.format(token=idle.token).encode()
        assert stranger.get(f"{API}/status", headers={b"Authorization": value}).status_code == 401


def test_the_token_of_scripts_opens_the_interface_and_changes_things(queue: Server) -> None:
    assert queue.get("/status")["daemon"]["running"] is True
    assert queue.add("true") == [1]


def test_a_stranger_is_told_how_to_come_in(idle: Server) -> None:
    with idle.stranger() as stranger:
        assert "`duckrow web --url`" in stranger.get(f"{API}/jobs").json()["error"]["hint"]


def test_a_link_works_once_and_becomes_a_session(server: Server) -> None:
    answer = server.log_in(server.link)
    assert answer.status_code == 200
    session = answer.json()["session"]
    assert len(session) > 30
    with server.stranger(headers={"X-Duckrow": session}) as browser:
        assert browser.get(f"{API}/status").status_code == 200
    again = server.log_in(server.link)
    assert again.status_code == 401
    assert "each works once" in again.json()["error"]["sentence"]


def test_looking_at_a_link_does_not_use_it_up(server: Server) -> None:
    """Programs that show what is behind links ask for the address, of which they are sent no more than the path."""
    with server.stranger() as program:
        assert program.get("/", headers={"Host": urlsplit(server.link).netloc}).status_code == 200
    assert server.log_in(server.link).status_code == 200


def test_another_website_cannot_log_anybody_in(server: Server) -> None:
    assert server.log_in(server.link, Origin="https://evil.example").status_code == 403
    assert server.log_in(server.link, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert server.log_in(server.link).status_code == 200


def test_a_link_that_nobody_has_used_for_an_hour_does_not_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials = Credentials(str(tmp_path), read_only=False)
    link, later = credentials.new_link("server"), time.time() + 3601
    monkeypatch.setattr("duckrow.web.gate.credentials.time.time", lambda: later)
    assert not credentials.use_link("server", link)


def test_of_many_links_only_the_newest_are_kept(tmp_path: Path) -> None:
    credentials = Credentials(str(tmp_path), read_only=False)
    links = [credentials.new_link("server") for _ in range(50)]
    assert len(list((tmp_path / "web" / "links").iterdir())) <= 20
    assert not credentials.use_link("another", links[-1])
    assert credentials.use_link("server", links[-1])
    assert not credentials.use_link("server", links[-1])


def test_a_session_that_nobody_has_used_for_a_month_does_not_work() -> None:
    now = [0.0]
    sessions = Sessions(clock=lambda: now[0])
    used, unused = sessions.new(), sessions.new()
    for day in (20, 40):
        now[0] = day * 86_400.0
        assert sessions.is_session(used)
    assert not sessions.is_session(unused)


def test_of_many_sessions_those_in_use_are_kept() -> None:
    sessions = Sessions()
    used, unused = sessions.new(), sessions.new()
    for _ in range(600):
        sessions.new()
        assert sessions.is_session(used)
    assert not sessions.is_session(unused)


# -- downloads ----------------------------------------------------------------------------------------------------


def test_a_ticket_fetches_one_file_once(idle: Server) -> None:
    path = f"{API}/jobs?status=queued"
    with idle.browser() as browser, idle.stranger() as saver:
        ticket = browser.post("/ticket", json={"address": path}).json()["ticket"]
        assert saver.get(f"{path}&ticket={ticket}").status_code == 200
        assert saver.get(f"{path}&ticket={ticket}").status_code == 401
        for other in (f"{API}/jobs?status=done", f"{API}/jobs?status=queued&status=done", f"{API}/status?x=1"):
            ticket = browser.post("/ticket", json={"address": path}).json()["ticket"]
            assert saver.get(f"{other}&ticket={ticket}").status_code == 401
            assert saver.get(f"{path}&ticket={ticket}").status_code == 401  # used up by the attempt
        ticket = browser.post("/ticket", json={"address": f"{API}/queue/pause"}).json()["ticket"]
        assert saver.post(f"{API}/queue/pause?ticket={ticket}", json={}).status_code == 401
        assert browser.post("/ticket", json={"address": "/metrics"}).status_code == 422


def test_a_ticket_is_good_for_a_minute() -> None:
    now = [0.0]
    sessions = Sessions(clock=lambda: now[0])
    soon, late = sessions.new_ticket("/api/x"), sessions.new_ticket("/api/x")
    now[0] = 59.0
    assert sessions.use_ticket(soon, "/api/x")
    now[0] = 61.0
    assert not sessions.use_ticket(late, "/api/x")


# -- what is kept where -------------------------------------------------------------------------------------------


def test_a_token_that_was_never_written_lets_nobody_in(tmp_path: Path) -> None:
    """As a full disk may leave it: an empty file, to which no token at all would be equal."""
    credentials = Credentials(str(tmp_path), read_only=False)
    (tmp_path / "web" / "token").touch()
    assert not credentials.is_token("")
    assert len(credentials.token()) > 30
    assert credentials.is_token(credentials.token())
    assert [path.name for path in (tmp_path / "web").iterdir() if path.is_file()] == ["token"]


def test_what_lets_people_in_is_stored_for_its_owner_alone(server: Server, duckrow: Duckrow) -> None:
    with server.browser():
        files = list((duckrow.home / "web").rglob("*"))
    assert len([path for path in files if path.is_file()]) >= 3
    for path in files:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), f"{path}: {mode:o}"


def test_no_token_link_or_session_stands_in_a_log_or_in_clear_on_disk(server: Server, duckrow: Duckrow) -> None:
    with server.browser() as browser:
        session = browser.headers["X-Duckrow"]
        browser.get(f"{API}/jobs/zzz")
    server.log_in(server.link)
    server.end()
    everything = server.log.read_text() + "".join(
        path.read_text(errors="replace") + path.name
        for path in duckrow.home.rglob("*")
        if path.is_file() and path.name != "token" and path.suffix not in (".db",)
    )
    for secret in (server.token, link_of(server.link), session):
        assert len(secret) > 30
        assert secret not in everything


def test_a_browser_is_not_started_with_the_link_among_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody on the machine sees these words, and may be quicker."""
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    _open(str(tmp_path), "http://x.localhost:1/#login=secret")
    [url] = opened
    assert "secret" not in url
    page = Path(url.removeprefix("file://"))
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert 'content="0; url=http://x.localhost:1/#login=secret"' in page.read_text()


# -- other websites -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:{port}", "localhost.evil.example", "169.254.1.1", ""),
        *("localhost:{port}, evil", "localhost, evil", "localhost:{port},evil:1", "localhost:{port}:1", "localhost:x"),
        *("evil@localhost:{port}", "localhost/evil", "[::1", "::1", "[localhost]", "localhost:{port} evil"),
    ],
)
def test_a_name_that_somebody_made_point_here_is_refused(idle: Server, host: str) -> None:
    """DNS rebinding: the page of evil.example thinks that it asks its own idle."""
    with idle.script(Host=host.format(port=idle.port)) as script:
        for path in ("/", f"{API}/status", "/healthz"):
            assert script.get(path).status_code == 403


@pytest.mark.parametrize(
    "host", ["localhost:{port}", "127.0.0.1:{port}", "LOCALHOST", "[::1]:{port}", "localhost:9000"]
)
def test_the_names_of_this_machine_are_known_whatever_port_ssh_forwards(idle: Server, host: str) -> None:
    with idle.script(Host=host.format(port=idle.port)) as script:
        assert script.get(f"{API}/status").status_code == 200


def test_the_name_of_an_earlier_server_leads_to_the_page_and_to_nothing_else(server: Server) -> None:
    """What an attacker left in the browser for the old name does not belong to the new one."""
    now, old = urlsplit(server.link).netloc, f"0badcafe.localhost:{server.port}"
    assert now.endswith(f".localhost:{server.port}")
    with server.script(Host=old) as script:
        answer = script.get("/jobs/7?attempt=1&x=//evil.example")
        assert (answer.status_code, answer.headers["location"]) == (
            307,
            f"http://{now}/jobs/7?attempt=1&x=//evil.example",
        )
        for path in (f"{API}/status", "/static/app.js", "/healthz", "/metrics"):
            assert script.get(path).status_code == 401
        assert script.post("/login", json={"link": link_of(server.link)}).status_code == 401
    with server.script(Host=now) as script:
        assert script.get(f"{API}/status").status_code == 200
    with server.script(Host=f"x.localhost.evil:{server.port}") as script:
        assert script.get("/").status_code == 403


def test_a_proxy_is_known_by_the_name_that_was_given(serve: Callable[..., Server]) -> None:
    server = serve("--proxy-name", "gpu.example.org", "--base-path", "/duckrow")
    with server.script(Host="gpu.example.org") as script:
        assert script.get(f"/duckrow{API}/status").status_code == 200
        assert 'data-base="/duckrow"' in script.get("/duckrow/").text
    with server.stranger() as browser:
        answer = browser.post("/duckrow/login", json={"link": link_of(server.link)})
        headers = {"Host": "gpu.example.org", "X-Duckrow": answer.json()["session"]}
        assert browser.get(f"/duckrow{API}/status", headers=headers).status_code == 200


def test_the_base_path_itself_leads_to_the_page_below_it(serve: Callable[..., Server]) -> None:
    server = serve("--base-path", "/duckrow")
    with server.stranger(follow_redirects=False) as browser:
        answer = browser.get("/duckrow?next=//evil.example")
        assert (answer.status_code, answer.headers["location"]) == (307, "/duckrow/")
        assert browser.get("/duckrow", headers={"Host": "evil.example"}).status_code == 403
        assert browser.get("/duckrow/").status_code == 200
        assert browser.get(f"/duckrow{API}/status").status_code == 401
        assert browser.post("/duckrow").status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://[::1"},  # cannot be read
        {"Origin": "http://localhost:1"},  # another server on this machine is another website, too
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    ],
)
def test_requests_from_other_websites_are_refused_even_with_the_secret(idle: Server, headers: dict[str, str]) -> None:
    with idle.browser() as browser:
        del browser.headers["Origin"]
        assert browser.get(f"{API}/status", headers=headers).status_code == 403
        assert browser.post(f"{API}/queue/pause", json={}, headers=headers).status_code == 403


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"])
def test_what_a_form_of_another_website_can_send_is_no_request(queue: Server, kind: str) -> None:
    with queue.browser() as browser:
        answer = browser.post(f"{API}/queue/pause", content=b'{"project": null}', headers={"Content-Type": kind})
        assert answer.status_code == 415
    assert queue.get("/status")["paused"] is False


def test_no_website_is_ever_allowed_to_read(idle: Server) -> None:
    with idle.browser() as browser:
        for method in ("OPTIONS", "GET"):
            answer = browser.request(method, f"{API}/status")
            assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_every_answer_forbids_framing_sniffing_and_scripts_from_elsewhere(idle: Server) -> None:
    with idle.script() as script, idle.stranger() as stranger:
        answers = [script.get(path) for path in ("/", f"{API}/jobs", "/static/duck.svg", "/nowhere")]
        answers += [stranger.get("/"), stranger.get(f"{API}/jobs"), stranger.get("/healthz")]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answers[1].headers["cache-control"] == "no-store"


def test_files_of_the_page_are_kept_by_browsers_that_ask_whether_they_have_changed(idle: Server) -> None:
    with idle.script() as script:
        first = script.get("/static/duck.svg")
        assert first.headers["cache-control"] == "no-cache"
        again = script.get("/static/duck.svg", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_and_those_that_the_page_names_are_kept_without_asking_as_their_address_names_their_version(
    idle: Server,
) -> None:
    with idle.script() as script:
        named = re.findall(r'(?:src|href)="(/static/[^"]+)"', script.get("/").text)
        assert len(named) > 10
        for address in named:
            assert re.fullmatch(r"/static/v[0-9a-f]{12}/.+", address)
            answer = script.get(address)
            assert (answer.status_code, answer.headers["cache-control"]) == (200, "max-age=31536000, immutable")
        of_older_page = script.get("/static/v0123456789ab/duck.svg")
        assert of_older_page.content == script.get("/static/duck.svg").content
        for wrong in ("nothing.js", "../app.py", "%2e%2e/app.py", "v0123456789ab/duck.svg", ""):
            assert script.get(f"/static/v0123456789ab/{wrong}").status_code == 404


def test_the_version_of_the_page_changes_with_any_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_files, "FOLDER", str(tmp_path))
    versions = [page_files.version()]
    for name, text in (("a.js", "1"), ("b.js", ""), ("a.js", "22")):
        (tmp_path / name).write_text(text)
        versions.append(page_files.version())
    (tmp_path / "a.js").rename(tmp_path / "c.js")
    versions.append(page_files.version())
    assert len(set(versions)) == len(versions)


def test_the_page_has_no_script_and_no_style_in_it(idle: Server) -> None:
    with idle.script() as script:
        text = script.get("/").text
    assert "<script>" not in text
    assert " style=" not in text
    assert " on" + "click=" not in text
    assert "//" not in text.replace("<!doctype html>", "").split("<body>")[0]  # nothing comes from elsewhere


# -- how much -----------------------------------------------------------------------------------------------------


def test_a_body_that_is_too_large_is_refused_before_it_is_read(idle: Server) -> None:
    with idle.script() as script:
        answer = script.post(f"{API}/jobs", json={"text": "x" * (1 << 20)})
        assert answer.status_code == 413
        assert "1 MiB" in answer.json()["error"]["sentence"]


def test_a_body_in_pieces_is_counted_while_it_comes(idle: Server) -> None:
    with idle.script(**{"Content-Type": "application/json"}) as script:
        answer = script.post(f"{API}/jobs", content=(b" " * 65536 for _ in range(17)))
        assert answer.status_code == 413


def test_a_length_that_is_none_is_refused(idle: Server) -> None:
    with socket.create_connection(("127.0.0.1", idle.port), timeout=DEADLINE_S) as connection:
        head = f"POST {API}/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {idle.token}\r\n"
        connection.sendall(f"{head}Content-Length: 99999999999999999999\r\n\r\n".encode())
        assert connection.recv(100).startswith((b"HTTP/1.1 413", b"HTTP/1.1 400"))


def test_who_never_ends_the_head_of_a_request_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duckrow.web.gate.request_timeout.HEAD_S", 1.0)
    listening, serving = listen(ServerOptions(str(tmp_path), port=0), exact=True)
    protocol: Any = partial(TimeLimitedProtocol, connections=UnknownConnections())
    server = uvicorn.Server(uvicorn.Config(build(serving)[0], http=protocol, log_level="error"))
    monkeypatch.setattr(server, "capture_signals", nullcontext)  # it is not in the main thread
    thread = Thread(target=server.run, kwargs={"sockets": listening})
    thread.start()
    try:
        for began in (b"", b"GET /healthz HTTP/1.1\r\nHost: local", _WHOLE_HEAD + b"GET /"):
            with socket.create_connection(("127.0.0.1", serving.port), timeout=DEADLINE_S) as slow:
                slow.sendall(began)
                received = b"".join(iter(partial(slow.recv, 1000), b""))  # until it is closed
                assert (b"200 OK" in received) == (_WHOLE_HEAD in began)
    finally:
        server.should_exit = True
        thread.join()


_WHOLE_HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_more_jobs_than_a_request_may_have_are_refused(queue: Server) -> None:
    answer = queue.post("/jobs", {"text": "true\n" * 10_001}, 400)
    assert "10000" in answer["error"]["sentence"]
    assert queue.get("/jobs")["total"] == 0
    ids = list(range(1, 10_002))
    assert queue.post("/jobs/actions", {"action": "kill", "ids": ids}, 422)["error"]["sentence"]


@pytest.mark.parametrize(
    "path",
    [
        "/jobs?per_page=501",
        "/jobs?page=0",
        "/jobs?page=99999999999",
        "/jobs/1/log?bytes=2000000",
        "/jobs?q=" + "x" * 201,
        "/jobs?page=" + "9" * 5000,
    ],
)
def test_numbers_out_of_bounds_are_told_in_a_sentence(idle: Server, path: str) -> None:
    with idle.script() as script:
        answer = script.get(f"{API}{path}")
        assert answer.status_code == 422
        assert answer.json()["error"]["sentence"]


def test_an_address_longer_than_any_is_refused(idle: Server) -> None:
    with idle.script() as script:
        for path in ("/jobs/" + "9" * 5000, "/sweeps/" + "9" * 5000, "/" + "x" * 5000):
            answer = script.get(f"{API}{path}")
            assert (answer.status_code, "longer than" in answer.json()["error"]["sentence"]) == (414, True)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/jobs", rb'{"text": "echo \ud800"}', 400),
        ("/jobs", rb'{"text": "true", "options": {"cwd": "/\uDfff"}}', 400),
        ("/jobs", rb'{"text": "true", "root": "a\u0000b"}', 422),
        ("/sweeps", rb'{"pattern": "echo {x}", "parameters": {"x": ["\ud800"]}}', 400),
        ("/sweeps", rb'{"pattern": "true", "root": "a\u0000b"}', 422),
        ("/jobs/actions", rb'{"action": "hold", "select": "q=\ud800"}', 400),
        ("/jobs/actions", rb'{"action": "place", "ids": [1], "places": [[1, 30, NaN]]}', 422),
        ("/queue/limit", b"[" * 100_000, 400),
        ("/queue/limit", b"9" * 5000, 400),
    ],
)
def test_what_no_file_and_no_number_can_be_is_refused_in_a_sentence(
    idle: Server, path: str, body: bytes, status: int
) -> None:
    with idle.script(**{"Content-Type": "application/json"}) as script:
        answer = script.post(f"{API}{path}", content=body)
        assert (answer.status_code, bool(answer.json()["error"]["sentence"])) == (status, True), answer.text
        assert script.post(f"{API}/jobs/preview", content=rb'{"text": "echo \\ud800 \ud83e\udd86"}').json()["jobs"]
    assert "Traceback" not in idle.log.read_text()


def test_a_word_that_is_no_text_names_no_job(tmp_path: Path) -> None:
    client = client_of(str(tmp_path))
    with pytest.raises(NotFoundError, match="There is no job"):
        client.select(["\udcff"])
    for filter in (Filter(name="\udcff"), Filter(project="\udcff"), Filter(text="\udcff")):
        assert matching_ids(client, filter, 1) == []


# -- read-only, and the network -----------------------------------------------------------------------------------


def test_a_read_only_server_shows_everything_and_changes_nothing(
    serve: Callable[..., Server], duckrow: Duckrow
) -> None:
    server = serve("--read-only")
    duckrow.up("--slots", "1")
    changing = [(method, path) for method, path in routes_of_the_interface(server) if method != "GET"]
    assert len(changing) >= 10
    with server.script() as script:
        for method, path in changing:
            answer = script.request(method, path, json={})
            assert answer.status_code == 403, f"{method} {path}"
            assert "read-only" in answer.json()["error"]["sentence"]
    assert server.get("/status")["read_only"] is True


def test_an_address_of_the_network_needs_an_explicit_flag(duckrow: Duckrow, serve: Callable[..., Server]) -> None:
    refused = duckrow("web", "--no-browser", "--host", "0.0.0.0", "--port", "0", ok=False)
    assert refused.returncode == 2
    assert "--allow-network" in refused.stderr
    assert "runs commands as you" in refused.stderr
    server = serve("--host", "0.0.0.0", "--allow-network")
    assert any("unencrypted" in line for line in server.greeting)
    with server.script(Host="10.1.2.3:8787") as script:
        assert script.get(f"{API}/status").status_code == 200
    with server.script(Host="evil.example") as script:
        assert script.get(f"{API}/status").status_code == 403


def test_by_default_only_this_machine_can_connect(idle: Server) -> None:
    at = []
    for table in ("tcp", "tcp6"):
        lines = Path(f"/proc/{idle.process.pid}/net/{table}").read_text().splitlines()[1:]
        listening = [fields for line in lines if (fields := line.split())[3] == "0A"]
        at += [fields[1] for fields in listening if fields[1].endswith(f":{idle.port:04X}")]
    # 127.0.0.1 and ::1, as the kernel writes them
    assert set(at) <= {f"0100007F:{idle.port:04X}", f"00000000000000000000000001000000:{idle.port:04X}"}
    assert at


# -- paths --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/static/../serving.py",
        "/static/%2e%2e/serving.py",
        "/static/..%2f..%2fapi/client.py",
        "/static//etc/passwd",
        "/static/%00",
        f"{API}/jobs/1/log?attempt=../../../etc/passwd",
        f"{API}/jobs/..%2f..%2fetc/log",
        f"{API}/jobs/1%00/log",
        f"{API}/sweeps/..%2f1/results.csv",
    ],
)
def test_no_path_leads_out(idle: Server, path: str) -> None:
    with httpx.Client(trust_env=False, timeout=DEADLINE_S) as client:
        request = client.build_request("GET", idle.address, headers={"Authorization": f"Bearer {idle.token}"})
        request.url = request.url.copy_with(raw_path=path.encode())
        answer = client.send(request)
    assert answer.status_code in (400, 404, 422)
    assert "root:" not in answer.text
    assert "def " not in answer.text


def test_a_log_that_was_replaced_by_a_link_or_a_pipe_is_not_followed(queue: Server, duckrow: Duckrow) -> None:
    secret = duckrow.home.parent / "secret"
    secret.write_text("a secret of somebody")
    [job_id] = queue.add("echo hello")
    duckrow.wait_for(job_id, "succeeded")
    log = Path(queue.get(f"/jobs/{job_id}")["log"])
    assert queue.get(f"/jobs/{job_id}/log")["text"] == "hello\n"
    log.unlink()
    log.symlink_to(secret)
    assert queue.get(f"/jobs/{job_id}/log")["text"] == ""
    assert queue.get(f"/jobs/{job_id}/log/search", q="secret")["hits"] == []
    with queue.script() as script:
        assert "secret" not in script.get(f"{API}/jobs/{job_id}/log/download").text
    log.unlink()
    os.mkfifo(log)
    assert queue.get(f"/jobs/{job_id}/log")["text"] == ""  # and nobody waits for a writer


def test_files_of_a_run_that_were_replaced_by_pipes_make_nobody_wait(queue: Server, duckrow: Duckrow) -> None:
    pattern = "rm -f metrics.jsonl; mkfifo $DUCKROW_RUN_DIR/metrics.jsonl; echo {x}; exit 1"
    options = {"cwd": str(duckrow.work), "name": "pipes"}
    sweep = queue.post("/sweeps", {"pattern": pattern, "parameters": {"x": [1]}, "options": options}, 201)
    [job_id] = sweep["ids"]
    duckrow.wait_for(job_id, "failed")
    log = Path(queue.get(f"/jobs/{job_id}")["log"])
    log.unlink()
    os.mkfifo(log)
    assert (log.parent / "metrics.jsonl").is_fifo()
    assert queue.get(f"/sweeps/{sweep['sweep']}")["rows"][0]["metrics"] == {}
    assert queue.get(f"/sweeps/{sweep['sweep']}/metrics", metric="loss")["series"] == []
    assert queue.get("/jobs/errors")["items"][0]["ids"] == [job_id]


def test_the_gate_stands_before_everything_that_the_application_serves(tmp_path: Path) -> None:
    app, _ = build(ServerOptions(str(tmp_path)))
    assert type(app).__name__ == "Gate"
