"""What fifty open pages ask for at the same time is worked out once, and nobody gets an answer from before a change."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from duckrow.api.client import Client
from duckrow.api.python.handles import client_of
from duckrow.core.jobs.job import JobSpec
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.store.sweeps import SweepStore
from duckrow.web.answers.answer_cache import AnswerCache
from duckrow.web.answers.change_feed import ChangeFeed
from duckrow.web.answers.thread_pool import ThreadPool
from duckrow.web.server_options import ServerOptions
from tests.conftest import DEADLINE_S
from tests.web.inside import Inside

LIST = Request({"type": "http", "path": "/jobs", "query_string": b"", "headers": [], "server": ("localhost", 80)})


class Asked:
    """A question that counts how often it was worked out."""

    def __init__(self, home: str) -> None:
        self.threads, self.change_feed = ThreadPool(home), ChangeFeed(home)
        self.cache = AnswerCache(self.threads, self.change_feed)
        self.times = 0

    async def at_once(self, count: int) -> None:
        await asyncio.gather(*(self.cache.answer(LIST, self._work_out) for _ in range(count)))

    def _work_out(self, _client: Client) -> int:
        self.times += 1
        return self.times


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Callable[[Callable[[Asked], Awaitable[None]]], int]]:
    home = str(tmp_path / "state")
    Client(Folder(home).make()).close()
    made: list[Asked] = []

    def run(scene: Callable[[Asked], Awaitable[None]]) -> int:
        async def all_of_it() -> int:
            made.append(Asked(home))
            await scene(made[-1])
            made[-1].change_feed.close()
            return made[-1].times

        return asyncio.run(asyncio.wait_for(all_of_it(), DEADLINE_S))

    yield run
    for each in made:
        for pool in (each.threads._reading, each.threads._changing):
            pool.shutdown(wait=True)  # each thread closes its own connection


def test_many_who_ask_at_once_share_an_answer(asked: Callable[..., int]) -> None:
    async def scene(asked: Asked) -> None:
        with asked.change_feed.stream():
            await asked.at_once(50)

    assert asked(scene) == 1


def test_after_a_change_the_answer_is_a_new_one(asked: Callable[..., int]) -> None:
    async def scene(asked: Asked) -> None:
        with asked.change_feed.stream():
            await asked.at_once(2)
            await asked.threads.change(lambda _client: None)
            await asked.at_once(2)

    assert asked(scene) == 2


def test_while_nobody_listens_for_changes_everybody_gets_a_new_answer(asked: Callable[..., int]) -> None:
    async def scene(asked: Asked) -> None:
        await asked.at_once(3)

    assert asked(scene) == 3


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    home = str(tmp_path_factory.mktemp("shared"))
    with Inside(ServerOptions(home)) as inside:
        with client_of(home) as client, client.database.transaction():
            client.jobs.add(DAEMON, [JobSpec("true", "/")], {})
            SweepStore(client.database).add("default", "fit", home, "true")
            client.database.execute("INSERT INTO points VALUES (1, 1, 'lr=1', '{\"lr\": 1}')")
        yield inside


@pytest.mark.parametrize("path", ["jobs", "status", "timeline", "sweeps", "sweeps/1"])
def test_what_open_pages_ask_for_after_each_change_is_shared(
    application: Inside, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, worked_out = application.services.threads, list[object]()
    answer = threads.answer

    def counted(question: Any, *arguments: Any, slow: bool = False) -> Any:
        worked_out.append(question)
        return answer(question, *arguments, slow=slow)

    monkeypatch.setattr(threads, "answer", counted)

    async def ask_twice() -> list[int]:
        with application.services.change_feed.stream():
            transport = httpx.ASGITransport(application.app)
            headers = {"Authorization": f"Bearer {application.token}"}
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
                answers = await asyncio.gather(*(client.get(f"/api/v1/{path}") for _ in range(2)))
        return [answer.status_code for answer in answers]

    assert asyncio.run(ask_twice()) == [200, 200]
    assert len(worked_out) == 1
