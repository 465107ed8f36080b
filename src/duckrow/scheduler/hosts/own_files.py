"""The files that a host depends on: are they still the ones it opened?

Somebody may remove or replace them while the host has them open. The kernel reports it, and the host checks. It creates
again what it can. Without its database it cannot be a host any more, and steps down.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from duckrow.core.errors import StateError
from duckrow.core.ports import Observer, Reactor
from duckrow.kernel.inotify import NAMES, ONE_FILE, Inotify
from duckrow.scheduler.hosts.host import Host
from duckrow.scheduler.hosts.rescue import rescue
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.sqlite.checkpoint import Checkpointer
from duckrow.store.sqlite.database import Database
from duckrow.store.sqlite.database_files import file_id, missing_bytes, size_of

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import NoReturn

_QUIET_S = 0.2  # if somebody removes the whole folder, we must not create files in it meanwhile
_CONFIRM_S = 1.0  # a database that is being written may look truncated for a moment
_UNTOLD_S = 1.0  # how often to look if the kernel does not report changes; commands wait a little longer for a repair


class FilesLost(StateError):
    """The host cannot continue: its database or its folder is gone."""


class OwnFiles:
    def __init__(
        self,
        state: HostState,
        host: Host,
        database: Database,
        checkpointer: Checkpointer,
        reactor: Reactor,
        observer: Observer,
        let_go_of_jobs: Callable[[], int],
        hear_bell: Callable[[], None],
    ) -> None:
        """`let_go_of_jobs`: stop watching them; how many keep running. `hear_bell`: the host has a new bell."""
        self._state = state
        self._host = host
        self._database = database
        self._checkpointer = checkpointer
        self._reactor = reactor
        self._observer = observer
        self._let_go_of_jobs = let_go_of_jobs
        self._hear_bell = hear_bell
        self._folder = host.folder
        self._root = file_id(host.folder.root)
        self._names = {"", os.path.basename(host.folder.hosts), os.path.basename(host.folder.daemon_log)}
        self._names |= {os.path.basename(path) for path in self._watched_names()}
        self._inotify: Inotify | None = None
        self._look_is_due = False
        self._was_short = 0  # bytes, at our last look
        self._may_be_short = 0  # these are in the log
        self._said = ""
        self._log_is_stderr = _is_file(2, host.folder.daemon_log)

    def _watched_names(self) -> list[str]:
        database, host = self._folder.database, self._host.id
        own = [self._folder.host_lock(host), self._folder.host_fifo(host)]
        return [database, f"{database}-wal", f"{database}-shm", *own]

    # -- being told -------------------------------------------------------------------------------------------

    def watch(self) -> None:
        """From here on. What was removed before the first look is found by it.

        The kernel is asked to tell us only then: to forget it again takes up to 20 ms, too long for a short run.
        """
        self._look_later(_UNTOLD_S)

    def _be_told(self) -> None:
        try:
            self._inotify = Inotify()
            self._watch_all()
            self._reactor.watch(self._inotify.fd, self._told)
        except OSError:  # something is not there, or too many of them are in use on this machine
            self._inotify = None

    def close(self) -> None:
        if self._inotify is not None:
            self._reactor.unwatch(self._inotify.fd)
            self._inotify.close()
            self._inotify = None

    def _watch_all(self) -> None:
        """Also what was made again."""
        if self._inotify is not None:
            self._inotify.add(self._folder.root, NAMES)
            self._inotify.add(self._folder.hosts, NAMES)
            self._inotify.add(self._folder.database, ONE_FILE)

    def _told(self) -> None:
        assert self._inotify is not None
        if not self._names.isdisjoint(self._inotify.read()):
            self._look_later(_QUIET_S)

    def _look_later(self, seconds: float) -> None:
        if not self._look_is_due:
            self._look_is_due = True
            self._reactor.later(seconds, self._look_now)

    def _look_now(self) -> None:
        self._look_is_due = False
        if self._inotify is None:
            self._be_told()
        self.look()
        if self._inotify is None:
            self._look_later(_UNTOLD_S)

    # -- looking ----------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Repair what we can. If the host cannot continue, let go of everything and raise FilesLost."""
        lost = self._lost()
        if lost:
            self._stand_down(lost)
        try:
            mended = [*self._mend_database(), *self._mend_host_files()]
            self._watch_all()
        except OSError as error:
            self._say(f"{error.filename} cannot be created again: {error.strerror}.")
            self._look_later(_CONFIRM_S)
            return
        self._said = ""
        for path in mended:
            self._say(f"{path} was removed or replaced. It was recreated; nothing was lost.")

    def _say(self, sentence: str) -> None:
        if sentence != self._said:
            self._said = sentence
            self._observer.trouble(sentence)

    def _lost(self) -> str | None:
        """What we cannot repair, as half a sentence."""
        if file_id(self._folder.root) != self._root:
            return f"The state folder {self._folder.root} was removed or replaced"
        path = self._folder.database
        if file_id(path) != self._database.files.database:
            return f"The database {path} was {'replaced' if os.path.exists(path) else 'removed'}"
        missing = missing_bytes(self._host.database_fd)
        if missing:
            self._checkpointer.wait()  # it may be in the midst of writing them
            missing = missing_bytes(self._host.database_fd)
        if missing is None:
            return f"The database {path} was emptied or overwritten"
        if missing and missing == self._was_short != self._may_be_short:
            # If somebody reads while we checkpoint, the last pages stay in the log.
            if not self._database.is_whole():
                return f"The database {path} was cut short"
            self._may_be_short = missing
        self._was_short = missing
        if not missing:
            self._may_be_short = 0
        if missing and missing != self._may_be_short:
            self._look_later(_CONFIRM_S)
        return None

    def _stand_down(self, lost: str) -> NoReturn:
        running = self._let_go_of_jobs()
        saved = rescue(self._database, self._host.database_fd, self._root)
        self._host.release()  # not earlier: others would see that no host is alive, and begin a new queue
        self.close()
        self._reactor.close()
        jobs = f" {running} running job{'s keep' if running > 1 else ' keeps'} running." if running else ""
        raise FilesLost(f"{lost} while this process used it: it steps down.{jobs} {saved}".rstrip())

    # -- repairing --------------------------------------------------------------------------------------------

    def _mend_database(self) -> list[str]:
        """Restore its log and index: write what only we still have into the database file, and create both again."""
        database = self._database
        if not database.is_replaced():
            return []
        self._checkpointer.wait()
        wal = f"{database.path}-wal"
        if file_id(wal) != database.files.wal and size_of(wal):
            self._stand_down(f"{wal} was replaced by one that others have written")
        try:
            if database.write_all():
                database.reopen()
                self._state.wake()
                return [f"{database.path}-wal or -shm"]
        except StateError as error:
            self._stand_down(f"The database {database.path} lost its log ({error})")
        self._look_later(_CONFIRM_S)  # somebody still reads the old state
        return []

    def _mend_host_files(self) -> list[str]:
        os.makedirs(self._folder.hosts, mode=0o700, exist_ok=True)
        mended = []
        if self._host.mend_lock():
            mended.append(self._folder.host_lock(self._host.id))
        if not _is_file(self._host.bell, self._folder.host_fifo(self._host.id)):
            self._reactor.unwatch(self._host.bell)
            self._host.renew_bell()
            self._hear_bell()
            mended.append(self._folder.host_fifo(self._host.id))
        if self._log_is_stderr and not _is_file(2, self._folder.daemon_log):
            _log_to(self._folder.daemon_log)
        return mended


def _is_file(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except OSError:
        return False


def _log_to(path: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(fd, 2)
    os.close(fd)
