"""How many jobs of a project may run at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from duckrow.store.jobs.control import ControlStore

if TYPE_CHECKING:
    from duckrow.api.client import Client

_PROJECT = "project:"


def limit_project(client: Client, project: str, max_running: int | None) -> None:
    """None removes the limit."""
    with client.database.transaction():
        ControlStore(client.database).set_limit(f"{_PROJECT}{project}", max_running)
    client.ring_all()


def project_limits(client: Client) -> dict[str, int]:
    limits = ControlStore(client.database).limits().items()
    return {scope.removeprefix(_PROJECT): most for scope, most in limits if scope.startswith(_PROJECT)}
