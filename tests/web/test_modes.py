"""A read-only server and a writable one over the same folder: nothing that opens the one opens the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.conftest import Duckrow
from tests.web.conftest import API, Server


class Two:
    """Both servers of one folder, and what each hands out."""

    def __init__(self, duckrow: Duckrow) -> None:
        self.duckrow = duckrow
        self.writable = Server(duckrow)
        self.read_only = Server(duckrow, "--read-only")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    folder = tmp_path_factory.mktemp("two")
    (folder / "work").mkdir()
    both = Two(Duckrow(folder / "state", folder / "work"))
    yield both
    both.writable.end()
    both.read_only.end()
    both.duckrow.kill_everything()


def session_of(server: Server) -> dict[str, str]:
    with server.browser() as browser:
        return {"X-Duckrow": browser.headers["X-Duckrow"]}


def token_of(server: Server) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.token}"}


@pytest.mark.parametrize("presented", [session_of, token_of])
def test_what_opens_one_server_does_not_open_the_other(two: Two, presented: Callable[[Server], dict[str, str]]) -> None:
    for own, other in ((two.writable, two.read_only), (two.read_only, two.writable)):
        secret = presented(own)
        with own.stranger(headers=secret) as here, other.stranger(headers=secret) as there:
            assert here.get(f"{API}/status").status_code == 200
            assert there.get(f"{API}/status").status_code == 401
            assert there.post(f"{API}/jobs", json={"text": "touch pwned"}).status_code == 401


def test_a_link_or_a_ticket_of_one_server_does_not_open_the_other(two: Two) -> None:
    for own, other in ((two.writable, two.read_only), (two.read_only, two.writable)):
        link = two.duckrow("web", "--url", "--port", str(own.port)).stdout.strip()
        assert other.log_in(link).status_code == 401
        assert own.log_in(link).status_code == 200  # it was not used up elsewhere
        with own.browser() as browser, other.stranger() as saver:
            ticket = browser.post("/ticket", json={"address": f"{API}/jobs"}).json()["ticket"]
            assert saver.get(f"{API}/jobs?ticket={ticket}").status_code == 401
            assert saver.get(f"{own.address}{API}/jobs?ticket={ticket}").status_code == 200


def test_a_read_only_server_never_writes_whatever_is_presented(two: Two) -> None:
    secrets = [
        *(session_of(two.read_only), token_of(two.read_only), session_of(two.writable), token_of(two.writable)),
        {**session_of(two.writable), **token_of(two.read_only)},
        {**session_of(two.read_only), **token_of(two.writable)},
    ]
    for secret in secrets:
        with two.read_only.stranger(headers=secret) as somebody:
            for path in ("/jobs", "/queue/pause", "/daemon/up"):
                answer = somebody.post(f"{API}{path}", json={"text": "touch pwned"})
                assert answer.status_code in (401, 403), (secret, path)
    assert two.writable.get("/jobs")["total"] == 0


def test_a_session_ends_with_its_server_and_is_good_at_no_other(serve: Callable[..., Server]) -> None:
    first, beside = serve(), serve()
    secret, link = session_of(first), first.duckrow("web", "--url", "--port", str(first.port)).stdout.strip()
    with beside.stranger(headers=secret) as somebody:
        assert somebody.get(f"{API}/status").status_code == 401
    first.end()
    again = serve("--port", str(first.port))
    with again.stranger(headers=secret) as somebody:
        refused = somebody.get(f"{API}/status")
        assert refused.status_code == 401
        assert "Log in again: open the URL that `duckrow web --url` prints." in refused.json()["error"]["hint"]
    assert again.log_in(link).status_code == 401  # a link that nobody has used in time
    assert again.log_in(again.duckrow("web", "--url").stdout.strip()).status_code == 200


def test_the_link_is_to_the_newest_server_that_writes_and_the_others_are_told_of(two: Two) -> None:
    ports = {False: two.writable.port, True: two.read_only.port}
    printed = two.duckrow("web", "--url")
    assert f":{ports[False]}/#login=" in printed.stdout
    assert f"a read-only page is at port {ports[True]}, too: duckrow web --url --port {ports[True]}" in printed.stderr
    printed = two.duckrow("web", "--read-only", "--url")
    assert f":{ports[True]}/#login=" in printed.stdout
    assert printed.stderr == ""
    refused = two.duckrow("web", "--url", "--port", "1", ok=False)
    first, second = sorted(ports.values())
    assert refused.stderr.strip() == (
        f"duckrow: The page is not being served at port 1, but at {first} and {second}. Type: duckrow web --url"
    )
