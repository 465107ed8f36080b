"""The results of a sweep: a list with a dict for each run, which can be sorted, filtered and searched for the best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any

from duckrow.api.client import Client
from duckrow.api.queue.listing import nearest
from duckrow.api.results.rows import FIRST_COLUMNS, LAST_COLUMNS, METRIC, Gathered, gather, what_went_wrong
from duckrow.api.sweeps.listing import find_sweep, handle_of
from duckrow.core.errors import DuckrowError, UsageError
from duckrow.core.jobs.job import shorten
from duckrow.core.life.states import Outcome
from duckrow.core.sweeps.conditions import parse_condition
from duckrow.core.sweeps.results import (
    FailureGroup,
    Row,
    best_rows,
    failure_groups,
    short_text,
    sorted_rows,
    varying,
)
from duckrow.store.sweeps import SweepRow

SHORT_NAMES = {
    "time": "time_s",
    "memory": "peak_memory_mb",
    "busy": "utilization",
    "gpu-time": "gpu_seconds",
    "exit": "exit_code",
}
UNSUCCESSFUL = frozenset(Outcome) - {Outcome.SUCCEEDED, Outcome.SKIPPED}

_GROUPS_SHOWN = 5
_ERROR_WIDTH = 80
_NOTEBOOK_ROWS = 50


def results(sweep: str | int | None = None, *, client: Client | None = None) -> Results:
    """The runs of a sweep as a list of dicts. `sweep`: its name or id; None: the newest."""
    if client is None:
        with closing(Client()) as own:
            own.tender.copy()
            return results(sweep, client=own)
    found = find_sweep(client, sweep)
    return Results(gather(client, found.id), found, handle_of(client, found))


class Results(list[Row]):
    """Rows with the same columns each; what a run has not reported is None."""

    def __init__(self, gathered: Gathered, sweep: SweepRow, handle: str) -> None:
        super().__init__(gathered.rows)
        self.sweep = sweep
        self.handle = handle  # names the sweep in a command
        self.parameters = gathered.parameters
        self.metrics = gathered.metrics

    @property
    def columns(self) -> list[str]:
        return [*FIRST_COLUMNS, *self.parameters, *self.metrics, *LAST_COLUMNS]

    def varying(self) -> list[str]:
        """The parameters that are not the same in all runs."""
        return varying(self, self.parameters)

    # -- choosing ---------------------------------------------------------------------------------------------

    def where(self, *conditions: str) -> Results:
        """Only the rows for which all hold: `where("loss<0.3", "state=succeeded", "model~resnet*")`."""
        rows: list[Row] = list(self)
        for text in conditions:
            condition = parse_condition(text)
            column = self.column(condition.column)
            rows = [row for row in rows if condition.holds(row[column])]
        return self._with(rows)

    def sorted_by(self, column: str) -> Results:
        """Upwards, or downwards with a minus in front; what is missing comes last."""
        down = column.startswith("-") and column not in self.columns
        return self._with(sorted_rows(self, self.column(column.removeprefix("-") if down else column), down))

    def first(self, count: int) -> Results:
        """The first `count` rows."""
        return self._with(self[:count])

    def best(self, metric: str, lowest: bool = True, per: str | Sequence[str] | None = None) -> Results:
        """The run with the lowest (or highest) metric; with `per` the best for each value of that column.

        Only those that have succeeded count, as long as there are any: a run that failed may have reported anything.
        """
        column = f"{METRIC}{metric}" if f"{METRIC}{metric}" in self.metrics else self._reported(metric)
        groups = [per] if isinstance(per, str) else per or []
        succeeded = [row for row in self if row["state"] == Outcome.SUCCEEDED]
        return self._with(best_rows(succeeded or self, column, lowest, [self.column(group) for group in groups]))

    def column(self, word: str) -> str:
        """The column that a word names."""
        known = self.columns
        column = word if word in known else SHORT_NAMES.get(word, word)
        if column not in known:
            raise UsageError(f"There is no column '{word}'.{nearest(word, known)} Choose from: {', '.join(known)}.")
        return column

    def _reported(self, metric: str) -> str:
        if metric in self.columns or metric in SHORT_NAMES:
            return self.column(metric)
        what = f"Reported: {', '.join(self.metrics)}." if self.metrics else "None has reported anything."
        raise UsageError(
            f"No run of '{self.sweep.name}' has reported '{metric}'.{nearest(metric, self.metrics)} {what}"
        )

    def _with(self, rows: list[Row]) -> Results:
        return Results(Gathered(rows, self.parameters, self.metrics), self.sweep, self.handle)

    # -- failures ---------------------------------------------------------------------------------------------

    def failures(self) -> list[FailureGroup]:
        """The runs that did not succeed, by the last line of their logs; the most frequent error first."""
        return failure_groups((row["id"], what_went_wrong(row)) for row in self if row["state"] in UNSUCCESSFUL)

    def failures_in_words(self) -> str:
        """`14 of 200 failed: 12 x CUDA error ..., 2 x FileNotFoundError ...`; nothing if none has failed."""
        groups = self.failures()
        if not groups:
            return ""
        told = [f"{len(group.ids)} x {shorten(group.error, _ERROR_WIDTH)}" for group in groups[:_GROUPS_SHOWN]]
        if rest := _runs_of(groups[_GROUPS_SHOWN:]):
            told.append(f"{rest} with other errors")
        return f"{_runs_of(groups)} of {len(self)} failed: {', '.join(told)}"

    # -- other forms ------------------------------------------------------------------------------------------

    def frame(self) -> Any:
        """A pandas DataFrame, if pandas is installed."""
        from importlib import import_module

        try:
            pandas = import_module("pandas")
        except ImportError:
            raise DuckrowError(
                "pandas is not installed in this Python, so frame() does not work. Install it, or use the results as "
                "they are: a list of dicts."
            ) from None
        return pandas.DataFrame(list(self), columns=self.columns)

    def _repr_html_(self) -> str:
        """In a notebook: the columns that say something, of the first rows."""
        from html import escape

        def line(cells: Iterable[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        columns = ["id", *self.varying(), *self.metrics, "state", "time_s"]
        body = "".join(line((short_text(row[column]) for column in columns), "td") for row in self[:_NOTEBOOK_ROWS])
        left_out = len(self) - _NOTEBOOK_ROWS
        more = f"<p>… and {left_out} more</p>" if left_out > 0 else ""
        return f"<table><thead>{line(columns, 'th')}</thead><tbody>{body}</tbody></table>{more}"


def _runs_of(groups: Iterable[FailureGroup]) -> int:
    return sum(len(group.ids) for group in groups)
