"""What `duckrow ls` shows: the jobs, active ones last, so that they are right above the prompt."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence

from duckrow.api.client import Client
from duckrow.api.queue.listing import (
    COLUMNS,
    OUTCOMES,
    SHOWN,
    STATES,
    annotated,
    ended_runs,
    listed_ids,
    parse_words,
    tally,
    tally_in_words,
)
from duckrow.api.queue.views import JobView
from duckrow.cli.console import print_json_list, say, terminal_height, wrapped
from duckrow.cli.views.job_table import job_lines, lines_of_many
from duckrow.cli.views.obstacles import left_by_runs, obstacles
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.jobs.job_filter import MARKS, Filter
from duckrow.core.named_tuple import NamedTuple

_AT_A_TIME = 1000  # jobs of a long list
_EXAMPLES = 100  # jobs at each end of it
_BELOW_WATCHED = 4  # lines that a watched table leaves free below it
_HEADER_AND_PROMPT = 2  # lines


class ListOptions(NamedTuple):
    """The options as typed; by default, as if none was typed."""

    states: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    failed: bool = False
    project: str | None = None
    name: str | None = None
    sweep: str | None = None
    since: float | None = None
    older_than: float | None = None
    limit: int | None = None
    page: int = 1
    show_all: bool = False
    columns: str | None = None
    sort: str | None = None
    watch: float | None = None
    tree: bool = False
    as_json: bool = False

    @property
    def asks_for_some(self) -> bool:
        """Whether it says which jobs are meant."""
        chosen = (self.states, self.outcomes, self.failed, self.project, self.name, self.sweep)
        return any((*chosen, self.since, self.older_than, self.show_all))


def list_jobs(words: tuple[str, ...] = (), options: ListOptions = ListOptions()) -> int:  # noqa: B008
    with Client() as client:
        client.map_into_memory()  # the totals read every job
        return _list(client, words, options)


def _list(client: Client, words: tuple[str, ...], options: ListOptions) -> int:
    request = _Request(client, words, options)
    if options.watch is not None:
        if options.as_json:
            raise UsageError("--watch and --json do not go together. Omit one of them.")
        if not sys.stdout.isatty():
            raise UsageError("--watch needs a terminal. Omit it, or use `duckrow wait`.")
        request.watch(max(options.watch, 0.1))
    if options.as_json:
        print_json_list([view.as_json() for view in views] for views in request.slices())
        return EXIT_OK
    lines, below = request.screen()
    for line in lines:
        print(line)
    sys.stdout.flush()
    for line in below:
        say(line)
    return EXIT_OK


def _limit(words: tuple[str, ...], options: ListOptions) -> int | None:
    """How many to show; -1: all; None: as many as fit the screen."""
    if options.show_all or (options.limit is None and (words or options.as_json or not sys.stdout.isatty())):
        return -1 if options.show_all or options.page == 1 else SHOWN
    return options.limit


class _Request:
    """What was asked for, to be shown once or again and again."""

    def __init__(self, client: Client, words: tuple[str, ...], options: ListOptions) -> None:
        self._client = client
        self._tree = options.tree
        # The jobs that ended runs have left behind are summed up, unless they were asked for.
        folds = not (words or options.as_json or options.asks_for_some)
        self._ended = ended_runs(client) if folds else []
        statuses = parse_words("state", options.states, [*STATES, *OUTCOMES, *MARKS])
        self._filter = Filter(
            statuses=statuses + parse_words("outcome", options.outcomes, OUTCOMES),
            project=options.project,
            name=options.name,
            since_s=options.since,
            older_than_s=options.older_than,
            failed=options.failed,
            ids=client.select(words) if words else None,
            sweep_id=None if options.sweep is None else _sweep_id(client, options.sweep),
            not_of_hosts=[run.host_id for run in self._ended],
        )
        self.columns = parse_words("column", [options.columns or ""], list(COLUMNS))
        self._limit = _limit(words, options)
        self._names_all = bool(words) and self._limit == -1
        self._sort = _checked_sort(options.sort) if options.sort is not None else "id" if self._names_all else None
        self._page = options.page

    def slices(self) -> Iterator[list[JobView]]:
        """All that was asked for, some at a time."""
        self._client.tender.copy()
        return self._slices_of(self._ids(self._limit or -1))

    def _ids(self, limit: int) -> Sequence[int]:
        return listed_ids(self._client, self._filter, limit, self._page, self._sort)

    def _slices_of(self, ids: Sequence[int]) -> Iterator[list[JobView]]:
        from duckrow.api.queue.eta import SharedEtas

        self._client.etas = SharedEtas(good_for_s=math.inf)
        for first in range(0, len(ids), _AT_A_TIME):
            yield annotated(self._client, ids[first : first + _AT_A_TIME])

    def _lines(self, ids: Sequence[int]) -> Iterator[str]:
        """The table. Of a long one, the jobs at both ends tell how wide it is: what is done, and what waits."""
        if not ids:
            return iter(())
        if self._tree:
            from duckrow.api.queue.listing import dependencies
            from duckrow.cli.views.tree import as_tree

            return iter(job_lines(as_tree(annotated(self._client, ids), dependencies(self._client)), self.columns))
        if len(ids) <= _AT_A_TIME:
            return iter(job_lines(annotated(self._client, ids), self.columns))
        ends = annotated(self._client, [*ids[:_EXAMPLES], *ids[-_EXAMPLES:]])
        return lines_of_many(self._slices_of(ids), ends, self.columns)

    def screen(self, at_most: int | None = None) -> tuple[Iterator[str], list[str]]:
        """(the table, the lines below it). `at_most`: how many jobs to show, whatever was typed."""
        self._client.tender.copy()
        self._client.tender.look()
        counts = tally(self._client, self._filter)
        below = [line for sentence in self._totals(counts) for line in wrapped(sentence)]
        total = sum(counts.values())
        limit = self._limit or self._room(len(below), total)
        if at_most is not None:
            limit = at_most if limit < 0 else min(limit, at_most)
        ids = self._ids(limit)
        return self._lines(ids), [*below, *self._rest(len(ids), total, limit)]

    def _room(self, lines_below: int, total: int) -> int:
        """How many jobs fit between the header and the lines below, with the prompt."""
        room = max(terminal_height() - _HEADER_AND_PROMPT - lines_below, 1)
        return room if total <= room and self._page == 1 else max(room - 1, 1)  # a line says how many more there are

    def _rest(self, shown: int, total: int, limit: int) -> list[str]:
        """The line that says how to see the others."""
        if not shown and self._page > 1:
            return [f"There is no page {self._page}; the last is {max(math.ceil(total / limit), 1)}."]
        more = total - limit * (self._page - 1) - shown
        if limit < 0 or more <= 0:
            return []
        return [f"{more} more: add --page {self._page + 1} or --all"]

    def _totals(self, counts: dict[str, int]) -> list[str]:
        """How many there are, and what blocks them, if anything."""
        left = left_by_runs(self._ended)
        if counts:
            blocked = obstacles(self._client, "queued" in counts)
            if self._names_all and not (blocked and "queued" in counts):
                return []  # whoever names them sees how many there are
            return [f"{tally_in_words(self._client, self._filter, counts)}{blocked}.", *left]
        everything = sum(tally(self._client, Filter()).values())
        if not everything:
            return ["No jobs yet. Add one: duckrow submit -- python train.py"]
        return left or [f"None of the {everything} jobs match. `duckrow ls --all` lists them all."]

    def watch(self, every_s: float) -> None:
        """Refresh the screen until Ctrl-C."""
        sys.stdout.write("\x1b[2J")
        while True:
            most = max(terminal_height() - _BELOW_WATCHED, 1)  # each time: it may have been resized
            lines, below = self.screen(most)
            drawn = [*lines, *below]
            sys.stdout.write("\x1b[H" + "".join(f"{line}\x1b[K\n" for line in drawn) + "\x1b[J")
            sys.stdout.flush()
            time.sleep(every_s)


def _sweep_id(client: Client, name: str) -> int:
    from duckrow.api.sweeps.listing import find_sweep

    return find_sweep(client, name).id


def _checked_sort(text: str) -> str:
    """A column; a minus in front reverses the order."""
    down, name = "-" * text.startswith("-"), text.removeprefix("-")
    if "," in name or not name:
        raise UsageError(f"--sort takes one column, with or without a minus in front: not '{text}'.")
    return down + parse_words("column", [name], list(COLUMNS))[0]
