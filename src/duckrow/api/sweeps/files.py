"""Reads sweeps from YAML, TOML or CSV files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from duckrow.api.queue.listing import nearest
from duckrow.core.errors import UsageError
from duckrow.core.sweeps.sweep import MODES, Choices, Grid, read_grid


@dataclass(slots=True)
class SweepFile:
    """The content of a file; what it leaves out comes from the command line or the defaults."""

    grids: list[Grid] = field(default_factory=list)
    command: str = ""
    name: str = ""
    project: str | None = None
    mode: str | None = None
    n_samples: int | None = None
    seed: int | None = None


def read_sweep_file(path: str) -> SweepFile:
    kind = os.path.splitext(path)[1].lower()
    if kind not in _READERS:
        raise UsageError(f"{path} is not a sweep: its name must end in .yaml, .yml, .toml or .csv.")
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:  # some editors begin a file with a mark
            text = file.read()
    except OSError as error:
        raise UsageError(f"The file {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"The file {path} is not text.") from None
    if kind == ".csv":
        return SweepFile(grids=_read_csv(path, text))
    return _checked(path, _READERS[kind](path, text))


def _read_yaml(path: str, text: str) -> Any:
    import yaml

    try:
        return yaml.load(text, Loader=_yaml_loader())
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not valid YAML: {' '.join(str(error).split())}.") from None


def _yaml_loader() -> Any:
    """YAML 1.1 reads 1e-3 as text, but in a sweep it is meant as a number. Of a key that is there twice, PyYAML forgets
    the first."""
    import re

    import yaml

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            doubled = next((key for number, key in enumerate(keys) if key in keys[:number]), None)
            if doubled is not None:
                raise yaml.constructor.ConstructorError(None, None, f"it has {doubled} twice", node.start_mark)
            return super().construct_mapping(node, deep)

    number = re.compile(r"[-+]?(\d[\d_]*)(\.\d*)?[eE][-+]?\d+$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+0123456789"))
    return Loader


def _read_toml(path: str, text: str) -> Any:
    from duckrow.api.machine.settings import parse_toml

    return parse_toml(text.encode(), path)


def _read_csv(path: str, text: str) -> list[Grid]:
    """Each row is a point: a grid with one value for each column."""
    import csv

    rows = list(csv.reader(text.splitlines()))
    if len(rows) < 2:
        raise UsageError(f"{path} has no rows. Its first line names the parameters, each other line is a run.")
    names = [name.strip() for name in rows[0]]
    if "" in names or len(set(names)) < len(names):
        raise UsageError(f"{path}: each column needs its own name in the first line.")
    for number, row in enumerate(rows[1:], start=2):
        if row and len(row) != len(names):
            raise UsageError(f"{path}, line {number}: {len(row)} values for {len(names)} parameters.")
    return [
        {name: Choices((value.strip(),)) for name, value in zip(names, row, strict=True)} for row in rows[1:] if row
    ]


_READERS: dict[str, Callable[[str, str], Any]] = {
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
    ".toml": _read_toml,
    ".csv": _read_csv,
}
_KEYS: dict[str, type | tuple[type, ...]] = {
    "command": str,
    "name": str,
    "project": str,
    "mode": str,
    "n_samples": int,
    "seed": int,
    "parameters": (dict, list),
}


def _checked(path: str, content: Any) -> SweepFile:
    if not isinstance(content, Mapping):
        raise UsageError(f"{path} must hold `command:` and `parameters:`.")
    for key, value in content.items():
        if key not in _KEYS:
            raise UsageError(
                f"{path}: there is no key '{key}'.{nearest(str(key), _KEYS)} Choose from: {', '.join(_KEYS)}."
            )
        if not isinstance(value, _KEYS[key]) or isinstance(value, bool):
            raise UsageError(f"{path}: the value of '{key}' cannot be {value!r}.")
    if content.get("mode") not in (None, *MODES):
        raise UsageError(f"{path}: there is no mode '{content['mode']}'. Choose from: {', '.join(MODES)}.")
    rest = {key: value for key, value in content.items() if key != "parameters"}
    return SweepFile(grids=_grids(path, content.get("parameters", {})), **rest)


def _grids(path: str, parameters: Any) -> list[Grid]:
    """One grid, or several; the sweep has the points of all."""
    grids = parameters if isinstance(parameters, list) else [parameters]
    for grid in grids:
        if not isinstance(grid, Mapping) or not all(isinstance(name, str) for name in grid):
            raise UsageError(f"{path}: `parameters` is a table of names and values, or a list of such tables.")
    return [read_grid(grid) for grid in grids if grid]
