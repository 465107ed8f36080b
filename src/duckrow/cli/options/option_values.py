"""Values of options, parsed by the rules of core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from duckrow.core.errors import DuckrowError
from duckrow.core.units import parse_duration_s, parse_size_bytes


class Parsed(click.ParamType[Any]):
    """A value that a function of core parses."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except DuckrowError as error:
            self.fail(str(error), param, ctx)


TIME = Parsed("time", parse_duration_s)
SIZE = Parsed("size", parse_size_bytes)
