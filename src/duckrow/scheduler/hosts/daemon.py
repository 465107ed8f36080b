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
from duckrow.scheduler.loop import Loop
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
    settles: bool = False,
    keep_s: float | None = None,
) -> None:
    """Run until SIGTERM or SIGINT. Running jobs keep running, and the next daemon finds them again.

    SIGQUIT (`duckrow down --kill`) stops running jobs too. `settles`: start nothing, do what people want of jobs, and
    end. `keep_s`: forget jobs that have been done for longer than this.
    """
    database = Database(folder, durable=False)
    host = Host(folder, database, DAEMON)
    host.rows.note_settling(settles)  # at once: nobody must take it for a daemon
    loop, signals = local_host(database, host, offer, link, _LogTrouble())
    loop.state.dispatch(not settles)
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
    if not settles:
        _log(f"The daemon is running (process {os.getpid()}) with {plural(len(offer.seats), 'seat')}.")
    ready()
    beside = [] if settles else _beside(folder, keep_s)
    for each in beside:
        each.begin()
    try:
        while not asked_to_end and not (ends_with_its_jobs and not loop.state.live):
            if settles and _has_settled(loop):
                break
            loop.turn()
    except FilesLost as error:
        raise FilesLost(f"{_stamp()} {error}") from None
    finally:
        for each in beside:
            each.close()
    running = len(loop.state.live)
    loop.close()
    keep = "keeps" if running == 1 else "keep"
    if not settles:
        _log(f"The daemon ends; {plural(running, 'job')} {keep} running." if running else "The daemon ends.")


def _beside(folder: Folder, keep_s: float | None) -> list[Retention | ClusterTending]:
    """What a daemon does in threads of its own."""
    forgetting = [] if keep_s is None else [Retention(folder, keep_s, _log)]
    return [*forgetting, ClusterTending(folder, _log)]


def _has_settled(loop: Loop) -> bool:
    """Whether nothing more is wanted of us, nor being stopped. For later wishes, the next one is started."""
    state = loop.state
    if state.is_due or state.wishes.are_left or any(attempt.stop for attempt in state.live.values()):
        return False
    if loop.host.rows.close_if_all_is_seen(loop.host.id):
        return True
    state.wake()
    return False
