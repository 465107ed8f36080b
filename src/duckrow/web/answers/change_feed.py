"""Notifies listeners of changes: one watcher for all, one flag per listener.

Nothing piles up for a listener that does not read: its flag already says that something has changed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from duckrow.api.queue.changes import Change, ChangeWatch
from duckrow.core.errors import DuckrowError
from duckrow.web.errors import RequestRefused

MOST_STREAMS = 300
_LOOK_S = 0.4
_PER_STREAM_S = 0.04  # and this much more for each: every change makes every page ask, and the jobs need the cores
_SETTLED_S = 2.5  # this long after the last change we tell again, because counts may be a little old until then


class ChangeListener:
    """What has changed since its listener last looked."""

    def __init__(self) -> None:
        self.jobs = self.devices = False
        self._flag = asyncio.Event()

    def tell(self, change: Change) -> None:
        self.jobs |= change.jobs
        self.devices |= change.devices
        self._flag.set()

    async def wait(self, at_most_s: float) -> Change | None:
        """The next change, or None if there is none for this long."""
        timer = asyncio.get_running_loop().call_later(at_most_s, self._flag.set)
        try:
            await self._flag.wait()
        finally:
            timer.cancel()
        self._flag.clear()
        change = Change(self.jobs, self.devices)
        self.jobs = self.devices = False
        return change if any(change) else None


class ChangeFeed:
    def __init__(self, home: str) -> None:
        self._home = home
        self._listeners: set[ChangeListener] = set()
        self._somebody = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "watching")  # a connection belongs to one thread
        self._watch: ChangeWatch | None = None
        self.closing = asyncio.Event()
        self.streams = 0
        self.changes = 0  # so far
        self.changed_at = 0.0  # by time.monotonic; or before, if nobody listened
        self._settles_at: float | None = None

    @contextmanager
    def stream(self) -> Iterator[ChangeListener]:
        """A place for one stream, or a clear refusal. Nothing can happen between the check and the booking."""
        if self.streams >= MOST_STREAMS:
            raise RequestRefused(503, f"{MOST_STREAMS} streams are already open. Close some pages, or poll instead.")
        listener = ChangeListener()
        self.streams += 1
        self._listeners.add(listener)
        self._somebody.set()
        try:
            yield listener
        finally:
            self.streams -= 1
            self._listeners.discard(listener)
            if not self._listeners:
                self._somebody.clear()

    async def run(self) -> None:
        """Look for changes as long as somebody listens."""
        while True:
            await self._somebody.wait()
            change = await asyncio.get_running_loop().run_in_executor(self._thread, self._look)
            if change is not None and change.jobs:
                self._settles_at = time.monotonic() + _SETTLED_S
            elif self._settles_at is not None and time.monotonic() > self._settles_at:
                self._settles_at = None
                change = Change(jobs=True, devices=True)
            if change is not None:
                self._tell(change)
            await asyncio.sleep(max(_LOOK_S, self.streams * _PER_STREAM_S))

    def _tell(self, change: Change) -> None:
        self.changes += 1
        self.changed_at = time.monotonic()
        for listener in self._listeners:
            listener.tell(change)

    def _look(self) -> Change | None:
        try:
            if self._watch is None:
                self._watch = ChangeWatch(self._home)
            return self._watch.look()
        except DuckrowError:  # a full disk, for example: requests get the error
            return None

    def close(self) -> None:
        """Let all streams end."""
        if self.closing.is_set():
            return  # the signal handler has already closed it
        self.closing.set()
        self._thread.submit(self._stop_watching)
        self._thread.shutdown(wait=False)

    def _stop_watching(self) -> None:
        """Runs in the thread that opened the connection."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
