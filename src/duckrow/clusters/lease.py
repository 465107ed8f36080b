"""The lease of a pilot. One thread renews it. Another watches it, and opens no files, so it cannot hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

_AT_MOST_S = 0.5  # the least time between two renewals


class Lease:
    def __init__(
        self,
        renew: Callable[[Mapping[str, Any]], None],
        lasts_s: float,
        lost: Callable[[], None],
    ) -> None:
        """`lost`: called once, from another thread, when we can no longer show others that we are alive."""
        self._renew = renew
        self._lasts_s = lasts_s
        self._lost = lost
        self._status: Mapping[str, Any] = {}
        self._writing = threading.Lock()  # so that no older status replaces a newer one
        self._changed = threading.Event()
        self._over = threading.Event()
        self._renewed_at = time.monotonic()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._keep_renewing, self._watch)]

    def begin(self, status: Mapping[str, Any]) -> None:
        self._status = status
        self._renew(status)
        self._renewed_at = time.monotonic()
        for thread in self._threads:
            thread.start()

    def tell(self, status: Mapping[str, Any]) -> None:
        """Write this status soon, and with every renewal."""
        self._status = status
        self._changed.set()

    def tell_now(self, status: Mapping[str, Any]) -> None:
        """Others see this status when we return."""
        with self._writing:
            self._status = status
            self._renew(status)

    def finish(self) -> None:
        self._over.set()
        self._changed.set()
        for thread in self._threads:
            thread.join(timeout=1.0)

    def _keep_renewing(self) -> None:
        while not self._over.wait(_AT_MOST_S):
            self._changed.wait(max(self._lasts_s / 4 - _AT_MOST_S, 0.0))
            self._changed.clear()
            if self._over.is_set():
                return
            began = time.monotonic()
            try:
                with self._writing:
                    self._renew(self._status)
            except OSError:
                continue  # `_watch` measures how long this lasts
            self._renewed_at = began

    def _watch(self) -> None:
        """Give up after two thirds of the lease. In the rest, our runs end before others may begin them."""
        while not self._over.wait(min(self._lasts_s / 12, 1.0)):
            if time.monotonic() - self._renewed_at > self._lasts_s * 2 / 3:
                self._lost()
                return
