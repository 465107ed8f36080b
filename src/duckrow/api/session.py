"""A session: the state folder with its database, reading it, and recording wishes for the scheduler.

Opening one starts nothing and copies nothing; the database is made or migrated if need be.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from duckrow.api.machine.daemon import await_settled, end_daemon, ensure_daemon, running_daemon, settle
from duckrow.core.devices.inventory import Seat
from duckrow.core.errors import JobGone, NotFoundError
from duckrow.core.life.wishes import kill_wish
from duckrow.store.folder.state_folder import Folder, state_folder
from duckrow.store.hosts import DAEMON, HostRow, HostStore, is_alive, ring, seats_from
from duckrow.store.jobs.jobs import JobStore
from duckrow.store.sqlite.database import Database

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from typing_extensions import Self

    from duckrow.api.queue.views import JobView
    from duckrow.core.life.wishes import SignalWish, Wish

    class EtaSource(Protocol):
        def fill(self, client: Any, active: Sequence[JobView], owners: Mapping[int, int]) -> None:
            """Say when these jobs will be done."""


class Session:
    etas: EtaSource | None = None  # shared by sessions that list jobs again and again; see api/queue/eta.py

    def __init__(self, folder: Folder | None = None) -> None:
        self.folder = folder or state_folder()
        self.database = Database(self.folder)
        self.jobs = JobStore(self.database)
        self.hosts = HostStore(self.database)

    @property
    def home(self) -> str:
        """The state folder."""
        return self.folder.root

    @property
    def runs_folder(self) -> str:
        """Where runs have their folders by default."""
        return self.folder.runs

    def map_into_memory(self) -> None:
        """For clients that read a lot, again and again."""
        self.database.map_into_memory()

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the daemon -------------------------------------------------------------------------------------------

    def daemon(self) -> HostRow | None:
        return running_daemon(self.folder, self.database)

    def ensure_daemon(self) -> bool:
        return ensure_daemon(self.folder, self.database)

    def settle(self) -> None:
        """If no daemon is running, have done what was wished, without starting any job."""
        settle(self.folder, self.database)

    def seats(self) -> list[Seat]:
        """The seats of the daemon."""
        return seats_from(self.hosts.get(DAEMON).seats)

    def find_seats(self) -> None:
        """Before the first daemon, nobody knows which there are."""
        if self.hosts.get(DAEMON).started_at is None:
            self.settle()

    def living_hosts(self) -> list[HostRow]:
        return [row for row in self.hosts.open_hosts() if is_alive(self.folder, row.id)]

    def end_daemon(self, kill_jobs: bool = False) -> bool:
        """Stop the daemon, with its running jobs if asked; whether it was running."""
        if kill_jobs and self.daemon() is None:
            self._end_left_running()
        return end_daemon(self.folder, self.database, kill_jobs) is not None

    def _end_left_running(self) -> None:
        """A host must end what dead ones have left."""
        living = {row.id for row in self.living_hosts()}
        left = [row.job_id for row in self.jobs.live() if row.host_id not in living]
        if left:
            self.wish(left, kill_wish(at_once=False))
            await_settled(self.folder, self.database)

    def ended_runs(self) -> set[int]:
        """The host ids of each `duckrow run` that has ended."""
        living = {row.id for row in self.living_hosts()}
        return {row.id for row in self.hosts.all() if row.kind == "run" and row.id not in living}

    # -- looking ----------------------------------------------------------------------------------------------

    def select(self, words: Iterable[str], whole_array: bool = False) -> list[int]:
        """The ids of the jobs that these words name; a word that names none is an error.

        `whole_array`: for somebody who waits, to whom `last` means all that was submitted last.
        """
        from duckrow.core.jobs.selection import parse_selection

        found, missing = self.jobs.selected(parse_selection(words), whole_array)
        if missing:
            raise NotFoundError(f"There is no job {', '.join(missing)}. `duckrow ls --all` lists all jobs.")
        return found

    def views(self, ids: Sequence[int]) -> list[JobView]:
        from duckrow.api.queue.views import job_view

        now = time.time()
        return [job_view(row, now) for row in self.jobs.by_ids(ids)]

    def job(self, job_id: int) -> JobView:
        views = self.views([job_id])
        if not views:
            raise JobGone(job_id)
        return views[0]

    def of_host(self, host_id: int) -> list[JobView]:
        from duckrow.api.queue.views import job_view

        now = time.time()
        return [job_view(row, now) for row in self.jobs.of_host(host_id)]

    def running(self) -> int:
        """How many jobs are running, on any host."""
        return len(self.jobs.live())

    def pauses(self) -> list[str]:
        """The projects that are paused; an empty name: everything."""
        return self.jobs.pauses()

    # -- wishing ----------------------------------------------------------------------------------------------

    def wish(self, ids: Sequence[int], wish: Wish | SignalWish) -> None:
        """Record the wish and wake the hosts of this machine, which fulfil it. For clusters, see `BatchWishes`."""
        from duckrow.store.batches import BatchStore

        on_clusters = BatchStore(self.database).of_jobs(ids)
        ids = [job_id for job_id in ids if job_id not in on_clusters]
        if not ids:
            return
        self.jobs.wish(ids, wish)
        living = {row.id for row in self.living_hosts()}
        watchers = {row.job_id: row.host_id for row in self.jobs.live()}
        responsible = {watchers.get(job_id, owner) for job_id, owner in self.jobs.owners(ids).items()}
        if not responsible <= living:
            self.settle()  # an ended run fulfils nothing; the daemon looks after its jobs
        for host_id in living | {DAEMON}:
            ring(self.folder, host_id)

    def on_clusters(self, ids: Sequence[int]) -> list[int]:
        """Those of these jobs that are runs on clusters."""
        from duckrow.store.batches import BatchStore

        return sorted(BatchStore(self.database).of_jobs(ids))

    def ring_all(self) -> None:
        for row in self.living_hosts():
            ring(self.folder, row.id)
