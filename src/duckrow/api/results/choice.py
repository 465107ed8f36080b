"""Which rows and columns of a sweep's results to show, in the words of `duckrow results`."""

from __future__ import annotations

from duckrow.api.results.results import Results
from duckrow.core.errors import UsageError
from duckrow.core.named_tuple import NamedTuple


class Choice(NamedTuple):
    where: tuple[str, ...] = ()  # lr=0.1, loss<0.3: all must hold
    sort: str | None = None
    best: str | None = None  # only the run with the lowest value of this metric
    highest: bool = False  # or the highest
    per: str | None = None  # the best for each value of these, comma-separated
    columns: str | None = None  # comma-separated; None: all


def choose(everything: Results, choice: Choice) -> tuple[Results, list[str]]:
    """(the rows, the columns to show)."""
    if (choice.per or choice.highest) and not choice.best:
        raise UsageError("`highest` and `per` need `best`: name a metric.")
    chosen = everything.where(*choice.where)
    if choice.best:
        chosen = chosen.best(choice.best, lowest=not choice.highest, per=_words(choice.per))
    if choice.sort:
        chosen = chosen.sorted_by(choice.sort)
    return chosen, [chosen.column(word) for word in _words(choice.columns)] or chosen.columns


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]
