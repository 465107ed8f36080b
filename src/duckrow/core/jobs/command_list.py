"""Commands as they were read from a list, each with its line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from duckrow.core.errors import UsageError
from duckrow.core.named_tuple import NamedTuple

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import TypeVar

    Made = TypeVar("Made")


class CommandList(NamedTuple):
    """Commands, and where they stand."""

    commands: Sequence[str]
    lines: Sequence[int] = ()  # the number of the first line of each; empty: they were typed, not read

    def each(self, make: Callable[[str], Made]) -> list[Made]:
        """What is made of each command. An error says in which line it is."""
        made: list[Made] = []
        for command in self.commands:
            try:
                made.append(make(command))
            except UsageError as error:
                raise UsageError(self.told(len(made), error)) from None
        return made

    def told(self, number: int, error: UsageError) -> str:
        """An error about the command of this number, from 0."""
        return f"line {self.lines[number]}: {error}" if self.lines else str(error)
