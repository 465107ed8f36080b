"""Lists the sweeps with their progress."""

from __future__ import annotations

from typing import Any

from duckrow.api.client import Client
from duckrow.api.queue.listing import nearest, tally
from duckrow.core.errors import NotFoundError
from duckrow.core.jobs.job_filter import Filter
from duckrow.store.sweeps import CountedSweep, SweepRow, SweepStore

HOW_TO_BEGIN = "Start one: duckrow sweep 'python train.py --lr {lr}' -p lr 0.1 0.01 --submit"
_NAMES_SHOWN = 20


class NoSweepYet(NotFoundError):
    def __init__(self) -> None:
        super().__init__(f"No sweep yet. {HOW_TO_BEGIN}")


def find_sweep(client: Client, word: str | int | None = None) -> SweepRow:
    """The newest sweep with this name, id or `PROJECT/NAME`; None: the newest of all."""
    store = SweepStore(client.database)
    if word is None:
        newest = store.latest()
        if newest is None:
            raise NoSweepYet
        return newest
    return store.named(str(word)) or _of_project(store, str(word))


def _of_project(store: SweepStore, word: str) -> SweepRow:
    rows = store.rows()
    found = [row for row in rows if f"{row.project}/{row.name}" == word]
    if not found:
        raise _unknown(word, list(dict.fromkeys(row.name for row in reversed(rows))))
    return found[-1]


def _unknown(word: str, names: list[str]) -> NotFoundError:
    if not names:
        return NotFoundError(f"There is no sweep '{word}', and no other yet. {HOW_TO_BEGIN}")
    listed = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
    return NotFoundError(f"There is no sweep '{word}'.{nearest(word, names)} Choose from: {listed}.")


def handle_of(client: Client, sweep: SweepRow) -> str:
    """What names this sweep in a command: its name, or its id if a newer sweep has the same name."""
    named = SweepStore(client.database).named(sweep.name)
    return sweep.name if named is not None and named.id == sweep.id else str(sweep.id)


def list_sweeps(client: Client) -> list[dict[str, Any]]:
    """All sweeps, oldest first, with the counts of their runs by state. Documented in docs/json.md."""
    return [_listed(client, row) for row in SweepStore(client.database).all()]


def _listed(client: Client, counted: CountedSweep) -> dict[str, Any]:
    sweep, runs, succeeded, failed = counted
    counts = tally(client, Filter(sweep_id=sweep.id)) if runs > succeeded + failed else {}
    return {
        "id": sweep.id,
        "name": sweep.name,
        "project": sweep.project,
        "runs": runs,
        "succeeded": succeeded,
        "failed": failed,
        "running": sum(counts.get(state, 0) for state in ("starting", "running", "stopping")),
        "waiting": counts.get("queued", 0),
        "created_at": sweep.created_at,
        "pattern": sweep.pattern,
        "folder": sweep.folder,
    }
