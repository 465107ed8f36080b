"""Sweeps: which of the wanted points already have a run, and what has to be run."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from duckrow.api.adding.code_version import CodeVersion, note_code
from duckrow.api.client import Client
from duckrow.api.jobs.rerun import put_back
from duckrow.api.jobs.submit import submit_jobs
from duckrow.api.sweeps.listing import find_sweep
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import JobSpec, PointOfSweep, check_name, name_of_command, shorten
from duckrow.core.life.dependencies import Dependency
from duckrow.core.life.states import Outcome, State
from duckrow.core.sweeps.point_names import point_name
from duckrow.core.sweeps.sweep import Point, key_of, plain_value
from duckrow.store.batches import BatchStore
from duckrow.store.hosts import DAEMON, is_alive
from duckrow.store.jobs.control import ControlStore
from duckrow.store.sweeps import PointJob, SweepRow, SweepStore

__all__ = ["DEFAULT_ROOT", "PointJob", "SweepRow", "Sweeps", "Todo", "parameters_of"]

DEFAULT_ROOT = "duckrow-runs"
_NAMES_TOLD = 3


@dataclass(slots=True)
class Todo:
    """What to do for each of the wanted points."""

    missing: list[Point] = field(default_factory=list)  # no run yet
    again: list[int] = field(default_factory=list)  # jobs that are done and have not succeeded
    stranded: list[int] = field(default_factory=list)  # queued jobs of a dead host
    busy: list[int] = field(default_factory=list)  # jobs that are running, or queued on a live host
    succeeded: int = 0
    edited: dict[int, list[str]] = field(default_factory=dict)  # those of `again` that succeeded before an edit
    outdated: list[int] = field(default_factory=list)  # those of `busy` that call an older version of the function
    points: dict[int, Point] = field(default_factory=dict)  # of each existing job

    @property
    def count(self) -> int:
        return len(self.missing) + len(self.again) + len(self.stranded)

    def in_words(self) -> str:
        parts = [f"{len(self.missing)} new"] if self.missing else []
        failed = len(self.again) - len(self.edited)
        parts += [f"{failed} that did not succeed run again"] if failed else []
        parts += [f"{len(self.edited)} run again because {self._what_was_edited()}"] if self.edited else []
        parts += [f"{len(self.stranded)} that had not started"] if self.stranded else []
        before = f" ({len(self.outdated)} with the old function)" if self.outdated else ""
        parts += [f"{len(self.busy)} already running or queued{before}"] if self.busy else []
        parts += [f"{self.succeeded} skipped (succeeded before)"] if self.succeeded else []
        return ", ".join(parts) or "nothing"

    def _what_was_edited(self) -> str:
        names = list(dict.fromkeys(name for some in self.edited.values() for name in some))
        shown = names if len(names) <= _NAMES_TOLD else [*names[: _NAMES_TOLD - 1], "others"]
        words = " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
        return f"{words} {'was' if len(shown) == 1 else 'were'} edited"


class Sweeps:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.store = SweepStore(client.database)

    # -- finding ----------------------------------------------------------------------------------------------

    def open(self, pattern: str, project: str, name: str, root: str, called: str = "") -> SweepRow:
        """The sweep of this pattern in this place; a new one if there is none.

        `called`: the name if `name` is empty; without both, it is that of the script.
        """
        with self.client.database.transaction():
            found = self.find(pattern, project, name, root)
            if found is not None:
                return found
            return self._begin(pattern, project, name, root, called)

    def begin(self, pattern: str, project: str, called: str, root: str) -> SweepRow:
        """Always a new sweep, even if there already is one in this place."""
        with self.client.database.transaction():
            return self._begin(pattern, project, "", root, called)

    def _begin(self, pattern: str, project: str, name: str, root: str, called: str) -> SweepRow:
        name = name or self._free_name(called or _name_of(pattern), project, root)
        opened = self.store.named(str(self.store.add(project, name, root, pattern)))
        assert opened is not None
        return opened

    def find(self, pattern: str, project: str, name: str, root: str) -> SweepRow | None:
        """The sweep of this pattern in this place, if there is one."""
        if not name:
            return self.store.like_pattern(root, project, pattern)
        check_name("sweep", name)
        found = self.store.at_place(root, project, name)
        if found is not None and found.pattern != pattern:
            raise UsageError(
                f"There is a sweep '{name}' of another command here: {shorten(found.pattern, 80)}. "
                "Choose another --name, so that their results stay apart."
            )
        return found

    def _free_name(self, first: str, project: str, root: str) -> str:
        """This name, with a number appended if another sweep has it."""
        number, name = 1, first
        while self.store.at_place(root, project, name) is not None:
            number += 1
            name = f"{first}-{number}"
        return name

    def at_root(self, root: str) -> list[SweepRow]:
        """The sweeps with folders below this one, oldest first."""
        return [row for row in self.store.rows() if row.root == root]

    def points_with(self, sweep_id: int, keys: Container[str]) -> list[PointJob]:
        """The points among these that have a job."""
        return [row for row in self.store.points(sweep_id) if row.key in keys]

    def forget_empty(self, sweep: SweepRow) -> bool:
        """Forget a sweep that has no runs; whether it had none."""
        return self.store.forget_empty(sweep.id)

    def resumable(self, name: str, project: str | None, root: str) -> SweepRow:
        """The sweep with this name, or the last one in this place."""
        if name:
            return find_sweep(self.client, name)
        rows = [row for row in self.store.rows() if row.root == root and project in (None, row.project)]
        if not rows:
            raise UsageError(f"There is no sweep below {root} to resume. `duckrow results --list` shows all.")
        return rows[-1]

    # -- what to do -------------------------------------------------------------------------------------------

    def todo(self, sweep: SweepRow, points: Sequence[Point] | None) -> Todo:
        """What to do for these points, or for all known points of the sweep."""
        known = {row.key: row for row in self.store.points(sweep.id)}
        todo = Todo()
        dead = self._dead_hosts({row.host_id for row in known.values() if row.state != State.DONE})
        wanted = {key_of(point): point for point in points} if points is not None else {key: Point() for key in known}
        for key, point in wanted.items():
            row = known.get(key)
            if row is not None:
                todo.points[row.job_id] = point
            if row is None:
                todo.missing.append(point)
            elif row.outcome == Outcome.SUCCEEDED:
                todo.succeeded += 1
            elif row.state == State.DONE:
                todo.again.append(row.job_id)
            else:
                stranded = row.state == State.QUEUED and row.host_id in dead
                (todo.stranded if stranded else todo.busy).append(row.job_id)
        return todo

    def _dead_hosts(self, owners: set[int]) -> set[int]:
        """The dead ones among these owners of jobs; a batch needs no host here."""
        hosts = owners.difference(BatchStore(self.client.database).among(owners))
        return {host_id for host_id in hosts if not is_alive(self.client.folder, host_id)}

    def cwd_of(self, sweep: SweepRow) -> str | None:
        """The folder in which its runs start."""
        points = self.store.points(sweep.id)
        return points[-1].cwd if points else None

    def hosted_by_daemon(self, sweep: SweepRow) -> bool:
        """Whether some of its unsuccessful runs were in the daemon's queue."""
        hosts = {row.host_id for row in self.store.points(sweep.id) if row.outcome != Outcome.SUCCEEDED}
        return DAEMON in hosts

    def on_cluster(self, sweep: SweepRow) -> bool:
        """Whether some of its unsuccessful runs were on a cluster."""
        left = [row.job_id for row in self.store.points(sweep.id) if row.outcome != Outcome.SUCCEEDED]
        return bool(BatchStore(self.client.database).of_jobs(left))

    # -- preparing --------------------------------------------------------------------------------------------

    def prepare(
        self, sweep: SweepRow, todo: Todo, make_spec: Callable[[Point, str], JobSpec], cwd: str, snapshot: bool
    ) -> list[JobSpec]:
        """The jobs of the missing points, each with its folder. For those that run again, the current code is recorded.

        `make_spec`: makes the job of a point, given its folder.
        """
        if not todo.count:
            return []
        _make_folders(sweep)
        code = note_code(sweep.folder, cwd, sweep.root, snapshot)
        specs = [self._spec(sweep, point, make_spec, code, snapshot) for point in todo.missing]
        again = {*todo.again, *todo.stranded}
        for row in self.store.points(sweep.id):
            if row.job_id in again and os.path.isdir(row.folder):
                code.link_into(row.folder)
        if snapshot:
            control = ControlStore(self.client.database)
            control.edit_done(todo.again, {"cwd": code.cwd})
            for job_id in todo.stranded:
                control.edit(job_id, {"cwd": code.cwd})
        return specs

    def _spec(
        self,
        sweep: SweepRow,
        point: Point,
        make_spec: Callable[[Point, str], JobSpec],
        code: CodeVersion,
        snapshot: bool,
    ) -> JobSpec:
        name = point_name(point)
        parameters = json.dumps(parameters_of(point), default=str)
        folder = _own_folder(f"{sweep.folder}/{name}", parameters)
        spec = make_spec(point, folder)
        spec.project, spec.name, spec.folder = sweep.project, name, folder
        spec.cwd = code.cwd if snapshot else spec.cwd
        spec.point = PointOfSweep(sweep.id, key_of(point), parameters)
        code.link_into(folder)
        return spec

    def submit(
        self,
        specs: Sequence[JobSpec],
        todo: Todo,
        environment: Mapping[str, str] | None = None,
        after: Sequence[Dependency] = (),
    ) -> list[int]:
        """Submit to the daemon's queue; the ids of the jobs that will run. `after`: what the new ones wait for."""
        self.client.ensure_daemon()
        self.leave_clusters(todo)
        if todo.stranded:
            ControlStore(self.client.database).rehost(todo.stranded, DAEMON)
        ids = list(submit_jobs(self.client, specs, environment, after)) if specs else []
        if todo.again:
            put_back(self.client, todo.again)
        self.client.ring_all()
        return sorted([*ids, *todo.again, *todo.stranded])

    def leave_clusters(self, todo: Todo) -> None:
        """Runs that run again on this machine no longer belong to a batch."""
        with self.client.database.transaction():
            BatchStore(self.client.database).leave(todo.again)

    def take_back(self, sweep: SweepRow, specs: Sequence[JobSpec]) -> None:
        """These were not submitted: remove their folders, and the sweep too if it has no other runs."""
        for spec in specs:
            shutil.rmtree(spec.folder or "", ignore_errors=True)
        if self.store.forget_empty(sweep.id):
            _remove_empty(sweep)


def _remove_empty(sweep: SweepRow) -> None:
    """Removes the folders of a sweep that was never added; other files stay."""
    for folder, ours in (
        (sweep.folder, {".code"}),
        (os.path.dirname(sweep.folder), set()),
        (sweep.root, {".gitignore"}),
    ):
        try:
            if not set(os.listdir(folder)) <= ours:
                return
        except OSError:
            return  # it does not exist
        shutil.rmtree(folder, ignore_errors=True)


def _name_of(pattern: str) -> str:
    return name_of_command(pattern.replace("{", "").replace("}", ""))


def parameters_of(point: Point) -> dict[str, Any]:
    """The parameters as shown to people and programs: a typed number becomes a number."""
    return {name: plain_value(value) if isinstance(value, str) else value for name, value in point.items()}


def _make_folders(sweep: SweepRow) -> None:
    is_new = not os.path.exists(sweep.root)
    try:
        os.makedirs(sweep.folder, exist_ok=True)
        if is_new:
            with open(f"{sweep.root}/.gitignore", "w") as file:
                file.write("*\n")  # results are not code
    except OSError as error:
        raise UsageError(
            f"The folder {sweep.folder} cannot be created: {error.strerror}. Choose another with --root."
        ) from None


def _own_folder(path: str, parameters: str) -> str:
    """Create this folder; if a run has it, append a number. Two runs never share a folder."""
    number, free = 1, path
    try:
        while not _is_free(free, parameters):
            number += 1
            free = f"{path}-{number}"
        os.makedirs(free, exist_ok=True)
        with open(f"{free}/params.json", "w") as file:
            file.write(parameters + "\n")
    except OSError as error:
        raise UsageError(f"The folder {free} cannot be created: {error.strerror}.") from None
    return free


def _is_free(path: str, parameters: str) -> bool:
    """Whether it does not exist, or was prepared for the same point by a process that died before the run started."""
    if not os.path.lexists(path):
        return True
    try:
        with open(f"{path}/params.json") as file:
            return file.read().strip() == parameters and not os.path.exists(f"{path}/attempt-1.log")
    except OSError:
        return False
