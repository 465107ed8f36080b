"""Fingerprints that stay equal while nothing changes."""

from __future__ import annotations

from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

_SQL = load_queries("changes")


def readings_fingerprint(database: Database) -> object:
    return database.one(_SQL["readings"])


def live_fingerprint(database: Database) -> object:
    """A fingerprint of running jobs, all jobs ever added, and wishes."""
    return tuple(tuple(row) for row in database.all(_SQL["live"]))
