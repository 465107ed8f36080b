"""`duckrow.sweep`: queues a command or a Python function for every combination of its parameters."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from duckrow.api.adding.options import Options, Request, read_options, with_recipe
from duckrow.api.calls.edited_functions import find_edited
from duckrow.api.calls.function_code import Code, code_of_function
from duckrow.api.calls.functions import Call, name_of, pattern_of, store_call, warm_modules
from duckrow.api.calls.signature import check_call
from duckrow.api.jobs.wait import wait
from duckrow.api.python.handles import Job, open_client
from duckrow.api.sweeps.sweeps import DEFAULT_ROOT, SweepRow, Sweeps, Todo
from duckrow.core.errors import UsageError, as_argument, naming
from duckrow.core.jobs.job import JobSpec
from duckrow.core.sweeps.sweep import Point, expand, key_of, read_grid
from duckrow.core.sweeps.template import render

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from duckrow.api.results.results import Results

Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]]


@dataclass(frozen=True, repr=False)
class Sweep:
    """A sweep that was queued: its jobs, in the order of its points."""

    id: int
    name: str
    folder: str
    jobs: tuple[Job[Any], ...]
    summary: str  # what was new, what is run again, what was skipped

    def wait(self, timeout: float | None = None) -> Sweep:
        """Until all its runs are done, however they ended."""
        with open_client(self.jobs[0].home if self.jobs else None) as client:
            wait(client, [job.id for job in self.jobs], timeout)
        return self

    def results(self) -> Results:
        """A dict for each run: parameters, metrics, state."""
        from duckrow.api.results.results import results

        return results(self.id)

    def __repr__(self) -> str:
        return f"<duckrow.Sweep {self.id} {self.name}: {len(self.jobs)} runs ({self.summary})>"


def sweep(
    task: str | Callable[..., Any],
    parameters: Parameters,
    *,
    mode: str | None = None,
    n_samples: int | None = None,
    seed: int = 0,
    root: str | os.PathLike[str] | None = None,
    snapshot: bool = False,
    **options: Unpack[Options],
) -> Sweep:
    """Queue a run for each point that has not succeeded yet; the same call again continues the sweep.

        sweep("python train.py --lr {lr} --seed {seed}", {"lr": [0.1, 0.01], "seed": "0..4"}, gpus=1)
        sweep(train, {"lr": "log:1e-5..1e-1"}, n_samples=20)      # train(lr=...) in each run

    `parameters` may be a list of such grids, whose points are united. `mode`: grid, shuffled or random. Options are
    those of `submit`, on="slurm" too; `name` is that of the sweep.
    """
    grids = [parameters] if isinstance(parameters, Mapping) else list(parameters)
    points = expand([read_grid(grid) for grid in grids], mode, n_samples, seed)
    request = read_options(options)
    pattern = task if isinstance(task, str) else _pattern_of(task)
    for point in points:  # report mistakes before anything is created
        if isinstance(task, str):
            render(task, point)
        else:
            check_call(task, (), point)
    with naming(as_argument), open_client() as client:
        client.tender.copy()
        sweeps = Sweeps(client)
        place = os.path.abspath(root or DEFAULT_ROOT)
        opened = sweeps.open(pattern, request.project, request.name, place, name_of(task) if callable(task) else "")
        todo = _todo(sweeps, opened, points, request)
        code = None if isinstance(task, str) else code_of_function(task)
        if code is not None:
            find_edited(todo, sweeps.store.points(opened.id), code)
        cwd = request.spec(command="true").cwd
        specs = sweeps.prepare(opened, todo, lambda p, f: _spec_of(task, p, f, request, code), cwd, snapshot)
        if callable(task):
            _renew_calls(sweeps, opened, todo, task, code)
        _submit(sweeps, opened, specs, todo, request)
        return _handle_of(sweeps, opened, todo, client.folder.root, points)


def _todo(sweeps: Sweeps, opened: SweepRow, points: Sequence[Point], request: Request) -> Todo:
    if request.cluster is None:
        return sweeps.todo(opened, points)
    from duckrow.api.clusters.sweeps import todo_on_cluster

    return todo_on_cluster(sweeps, opened, points)


def _submit(sweeps: Sweeps, opened: SweepRow, specs: Sequence[JobSpec], todo: Todo, request: Request) -> None:
    """Submit to the daemon or to a cluster."""
    if request.cluster is None:
        sweeps.submit(specs, todo, request.environment, request.after)
    elif todo.count:
        from duckrow.api.clusters.sweeps import submit_sweep

        submit_sweep(sweeps, opened, specs, todo, request.cluster, request.environment)


def _pattern_of(task: Any) -> str:
    """Identifies the function among sweeps."""
    if not callable(task):
        raise UsageError(f"{task!r} cannot be swept. Write a command with {{name}} in it, or give a function.")
    return pattern_of(task)


def _spec_of(task: str | Callable[..., Any], point: Point, folder: str, request: Request, code: Code | None) -> JobSpec:
    if isinstance(task, str):
        return with_recipe(request.spec(command=render(task, point)), task, point)
    spec = request.spec(command=store_call(Call(task, (), point, name_of(task), code), folder))
    spec.preload = warm_modules(spec.preload, task)
    return with_recipe(spec, pattern_of(task), point)


def _renew_calls(sweeps: Sweeps, opened: SweepRow, todo: Todo, task: Callable[..., Any], code: Code | None) -> None:
    """Runs that run again call the function as it is now, not as it was then."""
    for row in sweeps.store.points(opened.id):
        if row.job_id in (*todo.again, *todo.stranded):
            store_call(Call(task, (), todo.points[row.job_id], name_of(task), code), row.folder)


def _handle_of(sweeps: Sweeps, opened: SweepRow, todo: Todo, home: str, points: Sequence[Point]) -> Sweep:
    job_of = {row.key: row.job_id for row in sweeps.store.points(opened.id)}
    ids = [job_of[key_of(point)] for point in points]
    names = {view.id: view.name for view in sweeps.client.views(ids)}
    jobs: tuple[Job[Any], ...] = tuple(Job(job_id, names[job_id], home) for job_id in ids)
    return Sweep(opened.id, opened.name, opened.folder, jobs, todo.in_words())
