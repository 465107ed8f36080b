"""Runs for a cluster: reading the request, and submitting a batch."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from duckrow.api.adding.environment import inherited_environment
from duckrow.api.clusters.batches import standing_of
from duckrow.api.clusters.earlier_jobs import JoiningJobs
from duckrow.api.clusters.memory import take_peaks_along
from duckrow.api.jobs.submit import not_yet_met
from duckrow.api.machine.settings import Settings
from duckrow.api.queue.attendance import warn
from duckrow.clusters.batch import Batch, create_batch
from duckrow.clusters.held_runs import HeldRuns
from duckrow.clusters.known import CLUSTERS
from duckrow.clusters.port import NoAnswer
from duckrow.clusters.tending import Tending
from duckrow.clusters.waits import Waits
from duckrow.core.clusters.groups import group_runs, too_long
from duckrow.core.clusters.request import ClusterRequest, request_from
from duckrow.core.errors import DuckrowError, UsageError
from duckrow.core.jobs.job import WAIT, JobSpec, check_name
from duckrow.core.life.dependencies import Dependency
from duckrow.core.life.failures import compact_ids
from duckrow.store.batches import BatchStore
from duckrow.store.jobs.control import ControlStore

if TYPE_CHECKING:
    from duckrow.api.client import Client

__all__ = ["ClusterRequest", "read_request", "submit_batch"]

DEFAULT_ROOT = ".duckrow-slurm"


def read_request(on: str, values: Mapping[str, Any]) -> ClusterRequest:
    """The request to a cluster: from the settings, from the profile that `on` names, and from these values."""
    settings = Settings()
    profiles = settings.slurm_profiles()
    if on not in CLUSTERS and on not in profiles:
        known = ", ".join(dict.fromkeys([*CLUSTERS, *profiles]))
        raise UsageError(f"--on {on}: there is no such cluster. Choose from {known}; [engines.slurm.{on}] makes one.")
    given = {key: value for key, value in values.items() if value not in (None, (), [])}
    if on in CLUSTERS and on != "slurm":
        return replace(request_from(given), on=on)
    return request_from({**profiles.get("slurm", {}), **profiles.get(on, {}), **given})


def submit_batch(
    client: Client,
    specs: Sequence[JobSpec],
    request: ClusterRequest,
    environment: Mapping[str, str] | None = None,
    name: str = "",
    again: Sequence[int] = (),
    tell: Callable[[str], None] = warn,
    file: str | None = None,
    after: Sequence[Dependency] = (),
) -> list[int]:
    """Submit all or none; returns the ids of the runs. They are then on disk, and the cluster has jobs for them.

    If the cluster does not answer, the runs are recorded anyway, the daemon submits them later, and `tell` is called.
    `again`: jobs that are done, or wait for a dead host; they become runs of this batch. `file`: the list of commands
    that they come from. `after`: jobs, here or on a cluster, that new ones wait for.
    """
    if not specs and not again:
        return []
    variables = inherited_environment(environment)
    earlier = JoiningJobs(client, again, variables)
    all_specs = [*specs, *earlier.specs]
    warning = too_long(group_runs(request, all_specs), all_specs)  # or raises, before anything is created
    folder = _new_folder(request, name)
    if after:
        client.ensure_daemon()  # it sees their dependencies end, and releases them
        client.tender.copy()
    store = BatchStore(client.database)
    with client.database.transaction():
        batch_id = store.add(os.path.basename(folder), folder)
        in_folders = [replace(s, folder=s.folder or f"{folder}/runs/{number}") for number, s in enumerate(specs)]
        # Before the jobs are added: `last` must not mean one of them.
        waits_for = not_yet_met(client, after, may_be_broken=all(spec.if_broken == WAIT for spec in specs))
        new_ids = store.add_runs(batch_id, in_folders, variables) if specs else range(0)
        ControlStore(client.database).add_dependencies(new_ids, waits_for)
        earlier.join(batch_id, first=len(specs))
        ids = [*new_ids, *earlier.ids]
        _create(folder, all_specs, ids, request, variables, earlier.attempts, file)
    cluster = client.batches.cluster_of(request)
    tending = Tending(Batch(folder), cluster)
    try:
        tending.look({})
        take_peaks_along(client.database, tending.batch, all_specs)
        held = [number for number, spec in enumerate(specs) if spec.held]
        if held:
            HeldRuns(tending.claims).hold(held)
        if waits_for:
            Waits(tending.claims).begin(range(len(specs)))
        tending.check()
        tending.submit_missing()
    except NoAnswer as error:
        tell(_later(client, error, ids))
    except DuckrowError as error:
        _cancel_all(tending)
        with client.database.transaction():
            earlier.put_back()
            store.forget(batch_id)
        ControlStore(client.database).remove(new_ids)
        shutil.rmtree(folder, ignore_errors=True)
        asked = cluster.in_words(getattr(error, "request", None) or tending.batch.request)
        said = str(error).rstrip(".")
        raise type(error)(f"{said}. The request was: {asked}. Nothing was submitted.") from None
    with client.database.transaction():
        store.note_asked("asked", 0.0)
        store.note_standing(batch_id, standing_of(tending))
    if warning:
        tell(warning)
    if again:
        client.batches.copy()  # those that were done are queued again
    return ids


def _cancel_all(tending: Tending) -> None:
    """The cluster may have accepted some requests before it refused another."""
    try:
        tending.cancel_all()
    except DuckrowError:
        pass  # they find no folder, and end


def _later(client: Client, error: NoAnswer, ids: Sequence[int]) -> str:
    """The cluster does not answer: says who will submit the runs once it does."""
    try:
        client.ensure_daemon()
        who = "The daemon submits them as soon as SLURM answers."
    except DuckrowError as no_daemon:
        who = f"`duckrow batches` submits them when SLURM answers; the daemon cannot: {no_daemon}"
    return f"{error} The runs {compact_ids(ids)} are recorded. {who}"


def _create(
    folder: str,
    specs: Sequence[JobSpec],
    ids: Sequence[int],
    request: ClusterRequest,
    variables: Mapping[str, str],
    attempts: Mapping[int, int],
    file: str | None,
) -> None:
    try:
        path = os.path.abspath(file) if file and file != "-" else ""
        create_batch(folder, specs, ids, request, variables, sys.executable, attempts, path)
        ignored = f"{os.path.dirname(folder)}/.gitignore"
        if not os.path.exists(ignored):
            with open(ignored, "w") as stream:
                stream.write("*\n")
    except OSError as error:
        raise UsageError(
            f"The folder {folder} cannot be created: {error.strerror}. Choose another place, on a file system that the "
            "compute nodes see too: [engines.slurm] folder."
        ) from None


def root_of(request: ClusterRequest) -> str:
    """Where batches are kept."""
    return os.path.abspath(os.path.expanduser(request.folder or DEFAULT_ROOT))


def batch_folder(request: ClusterRequest, name: str) -> str:
    return f"{root_of(request)}/{name}"


def _new_folder(request: ClusterRequest, name: str) -> str:
    if name:
        check_name("name", name)
    first = name or time.strftime("slurm-%m%d-%H%M%S")
    number, folder = 1, batch_folder(request, first)
    while os.path.lexists(folder) or os.path.lexists(f"{folder}.new"):
        number += 1
        folder = batch_folder(request, f"{first}-{number}")
    return folder
