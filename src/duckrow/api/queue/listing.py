"""Which jobs to list, in which order, and what may be shown of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from duckrow.core.errors import UsageError
from duckrow.core.jobs.job_filter import Filter
from duckrow.core.jobs.run_source import continue_command, drop_command, what_to_type
from duckrow.core.life.states import Outcome, State
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.nearest_word import nearest_word
from duckrow.store.hosts import DAEMON, is_alive
from duckrow.store.jobs.answers import AnswerStore
from duckrow.store.jobs.counts import CountStore
from duckrow.store.jobs.listing import ListingStore
from duckrow.store.jobs.waiting import WaitingStore

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.api.queue.views import JobView

SHOWN = 30
STATES = tuple(state.value for state in State)
OUTCOMES = tuple(outcome.value for outcome in Outcome)

# What a list can show of a job, and sort by. An ETA is computed, not stored.
ETA = "eta"
COLUMNS = (
    "id",
    "name",
    "state",
    "where",
    "pid",
    "since",
    "time",
    ETA,
    "memory",
    "busy",
    "gpu-time",
    "exit",
    "attempts",
    "priority",
    "project",
    "sweep",
    "host",
    "command",
    "log",
    "detail",
)


def nearest(word: str, words: Iterable[str]) -> str:
    """A "Did you mean" hint, or nothing."""
    near = nearest_word(word, words)
    return f" Did you mean '{near}'?" if near else ""


def parse_words(what: str, texts: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    """The words of `a,b` and `c`; each must be a known one."""
    words = tuple(word.strip().lower() for text in texts for word in text.split(",") if word.strip())
    for word in words:
        if word not in known:
            raise UsageError(f"There is no {what} '{word}'.{nearest(word, known)} Choose from: {', '.join(known)}.")
    return words


def listing(
    client: Client, filter: Filter, limit: int = SHOWN, page: int = 1, sort: str | None = None
) -> list[JobView]:
    """A page of the matching jobs; `limit` -1: all. `sort`: a column; with a minus in front, descending.

    Without `sort`: done, running, queued, so that the most important ones are at the end.
    """
    return annotated(client, listed_ids(client, filter, limit, page, sort))


def listed_ids(
    client: Client, filter: Filter, limit: int = SHOWN, page: int = 1, sort: str | None = None
) -> Sequence[int]:
    """The same, as ids: a million of them may be looked at a few at a time."""
    offset = (page - 1) * max(limit, 0)
    store = ListingStore(client.database)
    if sort is None:
        return store.most_worth_seeing(filter, limit, offset)
    column, down = sort.removeprefix("-"), sort.startswith("-")
    if column == ETA:
        ordered = _by_eta(annotated(client, store.ids(filter)), down)
        return ordered[offset:] if limit < 0 else ordered[offset : offset + limit]
    return store.ids(filter, column, down, limit, offset)


def _by_eta(views: Sequence[JobView], down: bool) -> list[int]:
    """Those without an ETA come last."""
    known = sorted((view for view in views if view.eta_s is not None), key=lambda view: view.eta_s or 0.0)
    unknown = [view for view in views if view.eta_s is None]
    return [view.id for view in [*(reversed(known) if down else known), *unknown]]


def annotated(client: Client, ids: Sequence[int]) -> list[JobView]:
    """These jobs, in this order, with what `annotate` adds."""
    by_id = {view.id: view for view in client.views(ids)}
    views = [by_id[job_id] for job_id in dict.fromkeys(ids) if job_id in by_id]  # one may move meanwhile
    annotate(client, views)
    return views


def annotate(client: Client, views: Sequence[JobView]) -> None:
    """Add what depends on other jobs and on hosts: when they will be done, and whether any host will run them."""
    active = [view.id for view in views if view.state != State.DONE]
    if not active:
        return
    from duckrow.api.queue.eta import fill_etas

    owners = client.jobs.owners(active)
    runs = client.hosts.runs_among({*owners.values()} - {DAEMON})
    ended = {host for host in runs if not is_alive(client.folder, host)}
    for view in views:
        view.run_ended = view.state == State.QUEUED and owners.get(view.id) in ended
    fill_etas(client, views, owners)


def tally(client: Client, filter: Filter) -> dict[str, int]:
    """How many jobs match, by state, or by outcome if done."""
    counts = CountStore(client.database).tally(filter)
    return {status: counts[status] for status in [*STATES, *OUTCOMES] if status in counts}


def tally_in_words(client: Client, filter: Filter, counts: Mapping[str, int]) -> str:
    """`3 running (1 suspended), 2 queued`."""
    suspended = _suspended(client, filter)
    notes = {State.RUNNING.value: f" ({suspended} suspended)"} if suspended else {}
    return ", ".join(f"{count} {status}{notes.get(status, '')}" for status, count in counts.items())


def _suspended(client: Client, filter: Filter) -> int:
    """How many matching jobs are suspended."""
    ids = client.jobs.suspended()
    return ListingStore(client.database).count_running(filter, ids) if ids else 0


def matching_ids(client: Client, filter: Filter, limit: int) -> list[int]:
    """The first matching jobs, by id."""
    return list(ListingStore(client.database).ids(filter, limit=limit))


class EndedRun(NamedTuple):
    """A `duckrow run` that ended and left queued jobs behind."""

    host_id: int
    name: str
    jobs: int
    continued_by: str  # the command; empty: it cannot be continued
    dropped_by: str


def ended_runs(client: Client) -> list[EndedRun]:
    """Oldest first."""
    waiting = WaitingStore(client.database)
    ended = [host for host in waiting.hosts() if host.kind == "run" and not is_alive(client.folder, host.id)]
    found = []
    for run in ended:
        handle = client.hosts.handle(run.id, run.name)
        continued_by, dropped_by = continue_command(handle, run.source), drop_command(handle)
        found.append(EndedRun(run.id, run.name, waiting.count([run.id]), continued_by, dropped_by))
    return found


def left_job_command(client: Client, job_id: int) -> str:
    """What to type about a job that its run left behind."""
    run = client.hosts.get(client.jobs.owners([job_id])[job_id])
    return what_to_type(client.hosts.handle(run.id, run.name), run.source)


def waits_for_daemon(client: Client) -> bool:
    """Whether a job is queued that only the daemon would start."""
    return WaitingStore(client.database).any_unheld(DAEMON)


def dependencies(client: Client) -> list[tuple[int, int]]:
    """(job, job that it waits for, or waited for)."""
    from duckrow.store.life.dependencies import DependencyStore

    return DependencyStore(client.database).all()


def variable_names(client: Client, job_id: int) -> list[str]:
    return AnswerStore(client.database).variable_names(job_id)
