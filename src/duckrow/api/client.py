"""The client: a session that also sees runs on clusters, and waits for changes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

from duckrow.api.clusters.tender import Tender
from duckrow.api.session import Session
from duckrow.core.errors import DuckrowError
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import is_alive

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.api.clusters.batches import Batches
    from duckrow.api.clusters.wishes import BatchWishes
    from duckrow.store.folder.state_folder import Folder

_LOOK_S = 0.05  # how often a waiting client asks the database for changes
_GONE_S = 1.0  # how long nobody may be there before we say so: another daemon may be about to start
_ANSWER_S = 10.0  # how long a host may take to fulfil a wish before we report it as pending


class Client(Session):
    def __init__(self, folder: Folder | None = None) -> None:
        super().__init__(folder)
        self.tender = Tender(self)

    def close(self) -> None:
        self.tender.close()
        super().close()

    # -- clusters ---------------------------------------------------------------------------------------------

    @property
    def batches(self) -> Batches:
        """The runs on clusters."""
        return self.tender.batches

    @property
    def batch_wishes(self) -> BatchWishes:
        """What people want of runs on clusters."""
        from duckrow.api.clusters.wishes import BatchWishes

        return BatchWishes(self.batches)

    # -- looking ----------------------------------------------------------------------------------------------

    def unfinished(self) -> tuple[list[int], list[int]]:
        """(all jobs that are not done; those of them that only an ended run would have started)."""
        from duckrow.store.jobs.answers import AnswerStore

        self.tender.copy()
        store = AnswerStore(self.database)
        unfinished, of_runs = store.unfinished(), store.waiting_for_runs()
        ended = {host_id for host_id in {row.host_id for row in of_runs} if not is_alive(self.folder, host_id)}
        return unfinished, [row.id for row in of_runs if row.host_id in ended]

    # -- wishing ----------------------------------------------------------------------------------------------

    def await_wishes(self, ids: Sequence[int]) -> None:
        """Wait until a host has seen the wishes for these jobs, as long as it makes progress."""
        wanted = set(ids)
        next_one, since = 0, 0.0
        for _ in self.changes(None):
            now, waiting = time.monotonic(), self.jobs.first_wished(wanted)
            if waiting is None:
                return
            if waiting != next_one:
                next_one, since = waiting, now
            elif now > since + _GONE_S and not self.living_hosts():
                raise DuckrowError(
                    "The daemon ended before it had done all of this. Your request is recorded: the next daemon"
                    " does the rest (`duckrow up`)."
                )
            elif now > since + _ANSWER_S:
                raise DuckrowError("The scheduler has not answered yet. Your request is recorded; see `duckrow ls`.")

    def has_news(self) -> bool:
        """Whether anything has changed since the last call, here or on clusters."""
        return self.tender.has_news() or self.database.changed_by_others()

    def changes(self, deadline: float | None) -> Iterator[None]:
        """Yields now, at each change of the database, at least once a second, and at the deadline."""
        self.database.changed_by_others()
        while True:
            yield
            again_at = min(time.monotonic() + 1.0, deadline or math.inf)
            while not self.has_news() and time.monotonic() < again_at:
                self.tender.see_to()
                time.sleep(min(_LOOK_S, max(again_at - time.monotonic(), 0.0)))
