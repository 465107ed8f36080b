"""Previews a sweep before it starts: its points, their commands, and what is wrong."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import Any

from duckrow.api.adding.options import read_options
from duckrow.api.python.sweeping import sweep
from duckrow.api.sweeps.sweeps import DEFAULT_ROOT, parameters_of
from duckrow.core.errors import UsageError
from duckrow.core.sweeps.point_names import point_name
from duckrow.core.sweeps.sweep import Axis, expand, parse_axis, read_grid
from duckrow.core.sweeps.template import placeholders, render, unused_note

MOST_POINTS = 10_000
_SHOWN = 50

Wish = Mapping[str, Any]  # pattern, parameters, mode, n_samples, seed, root, snapshot, options


def preview_sweep(wish: Wish) -> dict[str, Any]:
    try:
        points = _points(wish)
        commands = [render(wish["pattern"], point) for point in points]
        read_options(wish["options"])
    except UsageError as error:
        return {"total": 0, "points": [], "notes": [], "problems": [str(error)]}
    unused = sorted({name for point in points for name in point} - set(placeholders(wish["pattern"])))
    shown = [
        {"name": point_name(point), "command": command, "parameters": parameters_of(point)}
        for point, command in zip(points[:_SHOWN], commands, strict=False)
    ]
    notes = [unused_note(unused)] if unused else []
    return {"total": len(points), "points": shown, "notes": notes, "problems": []}


def begin_sweep(wish: Wish) -> dict[str, Any]:
    _points(wish)
    options = dict(wish["options"])
    begun = sweep(
        wish["pattern"],
        [_axes(grid) for grid in _grids(wish)],
        mode=wish["mode"],
        n_samples=wish["n_samples"],
        seed=wish["seed"],
        root=os.path.join(options.get("cwd") or os.getcwd(), wish["root"] or DEFAULT_ROOT),
        snapshot=wish["snapshot"],
        **options,
    )
    return {"sweep": begun.id, "name": begun.name, "summary": begun.summary, "ids": [job.id for job in begun.jobs]}


def _points(wish: Wish) -> list[Any]:
    if not wish["pattern"].strip():
        raise UsageError("There is no command. Write one with {name} in it for each parameter.")
    grids = _grids(wish)
    missing = [name for name in placeholders(wish["pattern"]) if not any(name in grid for grid in grids)]
    if missing and not any(grids):
        raise UsageError(f"The command has the placeholder {{{missing[0]}}}, but there is no value for it.")
    points = expand([read_grid(_axes(grid)) for grid in grids], wish["mode"], wish["n_samples"], wish["seed"])
    if len(points) > MOST_POINTS:
        raise UsageError(f"{len(points)} runs are too many for one request: at most {MOST_POINTS}.")
    return points


def _grids(wish: Wish) -> list[Mapping[str, Any]]:
    """One grid, or several; the sweep has the points of all."""
    parameters = wish["parameters"]
    return [parameters] if isinstance(parameters, Mapping) else list(parameters)


def _axes(parameters: Mapping[str, Any]) -> dict[str, Axis | Any]:
    """A text is parsed like the words after -p; a list holds the values themselves."""
    return {name: _words(name, value) if isinstance(value, str) else value for name, value in parameters.items()}


def _words(name: str, text: str) -> Axis:
    try:
        return parse_axis(name, shlex.split(text))
    except ValueError as error:
        raise UsageError(f"The values of '{name}' cannot be read: {str(error).lower()}.") from None
