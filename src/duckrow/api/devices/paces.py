"""How many jobs of a script at a time are worth it, as far as duckrow has found out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from duckrow.core.devices.needs import Needs, needs_from
from duckrow.core.jobs.job import name_of_command
from duckrow.core.memory.prediction import gpus_of
from duckrow.core.schedule.pace import BestPace
from duckrow.store.devices.paces import PaceStore
from duckrow.store.hosts import seats_from

if TYPE_CHECKING:
    from duckrow.api.client import Client


def best_of(client: Client, needs: Needs, models: Collection[str]) -> BestPace | None:
    """Of a job on GPUs of these models; None: unknown, or as many as fit."""
    if not needs.auto or not needs.recipe:
        return None
    return _best(PaceStore(client.database).known(), needs.recipe, models)


def best_of_job(client: Client, job_id: int, needs: Needs) -> BestPace | None:
    """The same, on the GPUs of its host. Those of a cluster are not known here."""
    (row,) = client.jobs.by_ids([job_id])
    host = client.hosts.find(row.host_id)
    if host is None:
        return None
    return best_of(client, needs, gpus_of(seats_from(host.seats), client.hosts.machine(host.id)).models)


def paces_of_running(client: Client, devices: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A sentence for each script that runs on these devices, which are as GpuView has them."""
    running = {row.job_id: needs_from(row.needs) for row in client.jobs.live()}
    models: dict[str, set[str]] = {}
    for device in devices:
        for job in device["jobs"]:
            needs = running.get(job["id"])
            if needs is not None and needs.auto and needs.recipe and device["model"]:
                models.setdefault(needs.recipe, set()).add(device["model"])
    known = PaceStore(client.database).known() if models else {}
    for recipe, of_recipe in sorted(models.items()):
        for model in sorted(of_recipe):
            found = _best(known, recipe, [model])
            if found is not None:
                where = f" on {model}" if len(of_recipe) > 1 else ""
                yield f"{name_of_command(recipe)}{where}: {found.words}"


def _best(known: Mapping[tuple[str, str], BestPace], recipe: str, models: Collection[str]) -> BestPace | None:
    found = [known.get((recipe, model)) for model in models]
    return max((each for each in found if each is not None), default=None)
