"""The daemon: the loop in the background, for jobs that come by `duckrow submit`."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from duckrow.core.ports import Observer
from duckrow.core.units import plural
from duckrow.devices.discover import Offer
from duckrow.engines.local.keeper.link import KeeperLink
from duckrow.scheduler.hosts.cluster_tending import ClusterTending
from duckrow.scheduler.hosts.host import Host
from duckrow.scheduler.hosts.local_host import local_host
from duckrow.scheduler.hosts.own_files import FilesLost
from duckrow.scheduler.hosts.retention import Retention
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.store.sqlite.database import Database


class _LogTrouble(Observer):
    """Writes into the daemon's log what nobody would see on a terminal."""

    def trouble(self, sentence: str) -> None:
        _log(sentence)

    def trouble_over(self) -> None:
        _log("The problem is solved.")


def _stamp() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")


def _log(sentence: str) -> None:
    try:
        os.write(2, f"{_stamp()} {sentence}\n".encode("utf-8", "replace"))
    except OSError:
        pass  # a full disk must not end the daemon


def serve(
    folder: Folder,
    offer: Offer,
    link: KeeperLink,
    ready: Callable[[], None],
    dispatch: bool = True,
    keep_s: float | None = None,
) -> None:
    """Run until SIGTERM or SIGINT. Running jobs keep running, and the next daemon finds them again.

    SIGQUIT (`duckrow down --kill`) stops running jobs too. Without `dispatch` nothing is started. `keep_s`: forget jobs
    that have been done for longer than this.
    """
    database = Database(folder, durable=False)
    host = Host(folder, database, DAEMON)
    loop, signals = local_host(database, host, offer, link, _LogTrouble())
    loop.state.dispatch(dispatch)
    ends_with_its_jobs = False
    asked_to_end: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signals.on(number, lambda number=number: asked_to_end.append(number))  # type: ignore[misc]
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def end_all() -> None:
        nonlocal ends_with_its_jobs
        ends_with_its_jobs = True
        loop.state.dispatch(False)
        loop.state.end_all()

    signals.on(signal.SIGQUIT, end_all)
    loop.begin()
    loop.turn(0)
    _log(f"The daemon is running (process {os.getpid()}) with {plural(len(offer.seats), 'seat')}.")
    ready()
    retention = None if keep_s is None else Retention(folder, keep_s, _log)
    if retention is not None:
        retention.begin()
    clusters = ClusterTending(folder, _log)
    clusters.begin()
    try:
        while not asked_to_end and not (ends_with_its_jobs and not loop.state.live):
            loop.turn()
    except FilesLost as error:
        raise FilesLost(f"{_stamp()} {error}") from None
    finally:
        clusters.close()
        if retention is not None:
            retention.close()
    running = len(loop.state.live)
    loop.close()
    keep = "keeps" if running == 1 else "keep"
    _log(f"The daemon ends; {plural(running, 'job')} {keep} running." if running else "The daemon ends.")
