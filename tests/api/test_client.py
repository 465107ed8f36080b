"""A client that waits for a host to do what it wished."""

from __future__ import annotations

from pathlib import Path

import pytest

from duckrow.api.client import Client
from duckrow.core.errors import DuckrowError
from duckrow.core.jobs.job import JobSpec
from duckrow.core.life.wishes import Wish
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON


def test_when_the_daemon_ends_before_it_has_done_all_the_next_one_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duckrow.api.client._GONE_S", 0.0)
    with Client(Folder(tmp_path / "state").make()) as client:
        with client.database.transaction():
            ids = client.jobs.add(DAEMON, [JobSpec("true", "/")], {})
        client.jobs.wish(ids, Wish.KILL)
        with pytest.raises(DuckrowError, match=r"recorded: the next daemon does the rest \(`duckrow up`\)"):
            client.await_wishes(ids)
