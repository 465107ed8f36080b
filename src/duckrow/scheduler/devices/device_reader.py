"""Reads the GPUs in a separate thread, so that a driver that hangs does not block the loop."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Sequence

from duckrow.core.ports import DeviceSource, Gpu, Reactor, Reading

_REST_S = 30.0
"""After this long without a question, close the library: a driver can be replaced only while nobody has it open."""


class DeviceReader:
    def __init__(self, reactor: Reactor, source: DeviceSource) -> None:
        self._source = source
        self._asked: queue.SimpleQueue[Sequence[str]] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[tuple[list[Gpu], list[Reading]] | None] = queue.SimpleQueue()
        self._arrived, self._tell = os.pipe()
        self._thread: threading.Thread | None = None
        self.waiting = False  # an answer is on its way
        self.no_library = False  # there is no library to ask, and there never will be
        reactor.watch(self._arrived, self._hush)

    def ask(self, names: Sequence[str]) -> None:
        if self.waiting:
            return
        self.waiting = True
        self._asked.put(tuple(names))
        if self._thread is None:
            self._thread = threading.Thread(target=self._read_for_ever, daemon=True)
            self._thread.start()

    def answer(self) -> tuple[list[Gpu], list[Reading]] | None:
        try:
            answer = self._answers.get_nowait()
        except queue.Empty:
            return None
        self.waiting = False
        self.no_library = answer is None
        return answer

    def _read_for_ever(self) -> None:
        devices: list[Gpu] = []
        while True:
            names = self._next_asked()
            devices = devices or self._source.devices()  # if no GPU answers now, they may come back
            is_there = devices or self._source.is_there()
            # Read all of them: a job may use a GPU that it was not given.
            everyone = dict.fromkeys([*names, *(device.name for device in devices)])
            self._answers.put((devices, self._source.read(list(everyone))) if is_there else None)
            os.write(self._tell, b"!")

    def _next_asked(self) -> Sequence[str]:
        try:
            return self._asked.get(timeout=_REST_S)
        except queue.Empty:
            self._source.rest()
            return self._asked.get()

    @property
    def empty(self) -> bool:
        return self._answers.empty()

    def _hush(self) -> None:
        os.read(self._arrived, 64)
