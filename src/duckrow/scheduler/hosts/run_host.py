"""The host of a `duckrow run`, in the process that was forked for it."""

from __future__ import annotations

from collections.abc import Callable

from duckrow.core.errors import StateError, UsageError
from duckrow.core.jobs.commands import ListForm
from duckrow.core.jobs.job import JobSpec
from duckrow.core.ports import Observer
from duckrow.devices.discover import Offer
from duckrow.engines.local.keeper.link import KeeperLink
from duckrow.scheduler.hosts.foreground import ForegroundRun
from duckrow.scheduler.hosts.host import AlreadyRunning, Host
from duckrow.scheduler.hosts.local_host import local_host
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import HostRow, HostStore
from duckrow.store.sqlite.database import Database

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any


def begin_run(
    link: KeeperLink,
    folder: Folder,
    earlier: HostRow | None,
    new: tuple[str, str, str, ListForm],
    offer: Offer,
    observer: Observer,
    output: str,
    make_spec: Callable[[str], JobSpec],
    max_failures: int | None,
    on_event: Callable[[str, Any], None],
) -> ForegroundRun:
    """`earlier`: the run that is resumed. `new`: of a new one, its name, folder, source and form."""
    try:
        database = Database(folder, durable=False)
        rows = HostStore(database)
        host_id = earlier.id if earlier else rows.add_run(*new)
        host = Host(folder, database, host_id)
    except StateError:
        link.journal.remove()
        raise
    except AlreadyRunning as error:
        link.journal.remove()
        raise UsageError(f"The run {earlier.name if earlier else host_id} has not ended. {error}") from None
    loop, signals = local_host(database, host, offer, link, observer, output)
    return ForegroundRun(loop, signals, make_spec, max_failures, on_event, in_terminal=output == "terminal")
