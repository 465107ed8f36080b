"""Warns people who wait for jobs that nobody runs, or that a person keeps back, and says what to type."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from duckrow.api.clusters.standing import standing_still
from duckrow.api.queue.kept_back import kept_back
from duckrow.core.jobs.run_source import what_to_type
from duckrow.core.life.states import State
from duckrow.core.units import plural
from duckrow.store.batches import BatchStore
from duckrow.store.hosts import DAEMON, HostRow, is_alive

if TYPE_CHECKING:
    from duckrow.api.session import Session

_LOOK_S = 1.0
_SHARE = 0.02  # at most this share of the time goes into looking


class Attendance:
    """Polls whether any host looks after jobs, and whether they may run. Reports each answer once, until it changes."""

    def __init__(self, session: Session, tell: Callable[[str], None]) -> None:
        self._session = session
        self._tell = tell
        self._told: list[str] = []
        self._kept: list[str] = []
        self._again_at = -math.inf

    def look(self, ids: Sequence[int]) -> None:
        """Check these jobs; done ones need no host. With many jobs it looks less often, to cost only a few percent."""
        began = time.monotonic()
        if began < self._again_at:
            return
        sentences, kept = unattended(self._session, ids), kept_back(self._session, ids)
        took_s = time.monotonic() - began
        self._again_at = began + max(_LOOK_S, took_s / _SHARE)
        for sentence in [*sentences, *kept]:
            if sentence not in self._told + self._kept:
                self._tell(sentence)
        if self._told and not sentences:
            self._tell("The scheduler is back; continuing.")
        self._told, self._kept = sentences, kept


def warn(sentence: str) -> None:
    """Warn a Python program; each sentence once."""
    warnings.warn(f"duckrow: {sentence}", stacklevel=2)


def unattended(session: Session, ids: Sequence[int]) -> list[str]:
    """Why nobody looks after these jobs, in sentences: their hosts are dead, or no cluster job comes for them."""
    by_host = session.jobs.unfinished_by_host(ids)
    on_clusters = BatchStore(session.database).among(by_host)
    dead = {
        host_id: states
        for host_id, states in by_host.items()
        if host_id not in on_clusters and not is_alive(session.folder, host_id)
    }
    waiting = {session.hosts.get(host_id): states.get(State.QUEUED, 0) for host_id, states in dead.items()}
    begun = sum(sum(states.values()) for states in dead.values()) - sum(waiting.values())
    # Any living host takes over running jobs.
    unseen = bool(begun) and not session.living_hosts()
    here = _in_words(session, {host: count for host, count in waiting.items() if count}, unseen)
    return here + standing_still(session, on_clusters)


def _in_words(session: Session, waiting: Mapping[HostRow, int], unseen: bool) -> list[str]:
    sentences = []
    if unseen or any(host.id == DAEMON for host in waiting):
        sentences.append(
            "The daemon is not running, so no job starts, and no end is noticed. Still waiting. Type: duckrow up"
        )
    for host, count in waiting.items():
        if host.id != DAEMON:
            sentences.append(
                f"The run {host.name} has ended and {plural(count, 'job')} did not start. "
                f"Still waiting. Type: {what_to_type(session.hosts.handle(host.id, host.name), host.source)}"
            )
    return sentences
