"""A batch: the folder that lists the runs, and that holds everything that they produce."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any

from duckrow.clusters.shared_files import get, put
from duckrow.core.clusters.groups import group_runs
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.devices.needs import needs_from
from duckrow.core.errors import StateError
from duckrow.core.jobs.job import JobSpec, PointOfSweep
from duckrow.core.named_tuple import NamedTuple

_FOLDERS = ("claims", "releases", "results", "pilots", "submitted", "wishes", "runs")


class BatchRun(NamedTuple):
    """A run as it was submitted."""

    number: int  # in its batch, from 0
    job_id: int  # in the database of the login node that submitted it
    spec: JobSpec
    attempts: int = 0  # made before the run came here
    group: int = 0  # which of the batch's requests it belongs to


class Batch:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.claims, self.releases, self.results, self.pilots, self.submitted, self.wishes, self.run_folders = (
            f"{folder}/{name}" for name in _FOLDERS
        )

    @property
    def name(self) -> str:
        return os.path.basename(self.folder)

    @property
    def request(self) -> ClusterRequest:
        """For what all runs have in common: the lease, how many runs a cluster job takes."""
        return self.requests[0]

    @cached_property
    def requests(self) -> list[ClusterRequest]:
        """One for each group of runs. Most batches have only one group."""
        told = self._facts.get("requests") or [self._facts["request"]]
        return [ClusterRequest.from_text(json.dumps(values)) for values in told]

    def request_of(self, run: int) -> ClusterRequest:
        return self.requests[self.group_of(run)]

    def group_of(self, run: int) -> int:
        return self.runs[run].group if len(self.requests) > 1 else 0

    def of_group(self, runs: Iterable[int], group: int) -> list[int]:
        return [run for run in runs if self.group_of(run) == group]

    def script(self, group: int) -> str:
        """The path of the script that sbatch gets for a cluster job of this group."""
        return f"{self.folder}/pilot{f'-{group}' if group else ''}.sh"

    @cached_property
    def count(self) -> int:
        return int(self._facts["runs"])

    @cached_property
    def python(self) -> str:
        return str(self._facts["python"])

    def note_reopened(self) -> None:
        """Runs that were done will run again: closed copies must be reopened."""
        put(f"{self.folder}/reopened.json", {"at": time.time()})

    def reopened_at(self) -> float:
        """When runs were last reopened; -inf: never, or the note was removed."""
        return float((get(f"{self.folder}/reopened.json") or {}).get("at", -math.inf))

    @property
    def file(self) -> str:
        """The command list that it was made from; empty: there was none."""
        return str(self._facts.get("file", ""))

    @property
    def created_at(self) -> float:
        return float(self._facts["created_at"])

    @cached_property
    def _facts(self) -> dict[str, Any]:
        facts = get(f"{self.folder}/batch.json")
        if facts is None:
            raise StateError(f"There is no batch of SLURM runs in {self.folder}: it has no batch.json.")
        return facts

    @cached_property
    def runs(self) -> list[BatchRun]:
        with open(f"{self.folder}/runs.jsonl") as file:
            return [_run_from(number, json.loads(line)) for number, line in enumerate(file)]

    def environment(self) -> dict[str, str]:
        """The environment variables from when it was submitted."""
        return get(f"{self.folder}/environment.json") or {}

    def run_folder(self, run: BatchRun) -> str:
        return run.spec.folder or f"{self.run_folders}/{run.number}"


def create_batch(
    folder: str,
    specs: Sequence[JobSpec],
    ids: Sequence[int],
    request: ClusterRequest,
    environment: Mapping[str, str],
    python: str,
    attempts: Mapping[int, int] | None = None,
    file: str = "",
) -> Batch:
    """Create the folder of a new batch, completely or not at all.

    `request`: for runs that ask for nothing themselves. `attempts`: how many were made before, for jobs that had any.
    `file`: the command list that the batch is made from.
    """
    groups = group_runs(request, specs)
    draft = f"{folder}.new"
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    os.mkdir(draft, 0o700)
    try:
        for name in _FOLDERS:
            os.mkdir(f"{draft}/{name}", 0o700)
        with open(f"{draft}/runs.jsonl", "w") as lines:
            for job_id, spec, group in zip(ids, specs, groups.of_runs, strict=True):
                known = {"attempts": attempts[job_id]} if attempts and job_id in attempts else {}
                known |= {"group": group} if group else {}
                lines.write(json.dumps({"id": job_id, **known, **_as_json(spec)}) + "\n")
        put(f"{draft}/environment.json", dict(environment))
        facts: dict[str, Any] = {"runs": len(specs), "created_at": time.time(), "python": python, "file": file}
        requests = [json.loads(request.as_text()) for request in groups.requests]
        facts |= {"request": requests[0], **({"requests": requests} if len(requests) > 1 else {})}
        put(f"{draft}/batch.json", facts)
        os.rename(draft, folder)
    except BaseException:
        import shutil  # here: every pilot loads this module as it starts, and needs no shutil then

        shutil.rmtree(draft, ignore_errors=True)
        raise
    return Batch(folder)


def _as_json(spec: JobSpec) -> dict[str, Any]:
    """The values that differ from the defaults."""
    values: dict[str, Any] = {}
    for field in fields(JobSpec):
        value = getattr(spec, field.name)
        if field.name == "needs":
            value = value.as_text()
        elif field.name in ("variables", "slurm") and value is not None:
            value = dict(value)
        if value is not None and value != field.default:
            values[field.name] = value
    return values


def _run_from(number: int, values: dict[str, Any]) -> BatchRun:
    job_id, attempts, group = values.pop("id"), values.pop("attempts", 0), values.pop("group", 0)
    values["needs"] = needs_from(values.get("needs"))
    if "point" in values:
        values["point"] = PointOfSweep(*values["point"])
    return BatchRun(number, job_id, JobSpec(**values), attempts, group)
