"""A client for a verb: closed when the verb ends, however it ends."""

from __future__ import annotations

import click

from duckrow.api.client import Client


def client_of_verb() -> Client:
    return click.get_current_context().with_resource(Client())
