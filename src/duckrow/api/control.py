"""Control of the queue: what people change of jobs that wait, of projects, and of the daemon's devices."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from duckrow.api.client import Client
from duckrow.api.gpus import GpuView
from duckrow.api.listing import ended_runs
from duckrow.core.device_names import any_uuid, called, plain_name
from duckrow.core.editing import checked_change
from duckrow.core.errors import ConflictError, NotFoundError, UsageError
from duckrow.core.inventory import CPU
from duckrow.core.lifecycle import State
from duckrow.core.needs import Ask
from duckrow.core.placement import refusal
from duckrow.core.ports import Device
from duckrow.store.batches import BatchStore
from duckrow.store.control import ControlStore
from duckrow.store.forgetting import Forgetting, rest_a_little
from duckrow.store.hosts import DAEMON, is_alive, seats_from
from duckrow.store.set_aside import SetAsideStore
from duckrow.store.space import give_back_space

_EVER = 1e18  # a time that is never over


class Control:
    def __init__(self, client: Client | None = None) -> None:
        self.client = client or Client()
        self.store = ControlStore(self.client.database)

    def hold(self, ids: Sequence[int], held: bool) -> list[int]:
        """The jobs that waited, and so could be held or released."""
        here, away = self._apart(ids)
        changed = self._hold_away(away, held) if away else []
        return self._changed(self.store.set_held(here, held) + changed)

    def _hold_away(self, ids: Sequence[int], held: bool) -> list[int]:
        wishes = self.client.batches.wishes
        return wishes.hold(ids) if held else wishes.release(ids)

    def prioritise(self, ids: Sequence[int], priority: int) -> list[int]:
        here, away = self._apart(ids)
        changed = self.client.batches.wishes.prioritise(away, priority) if away else []
        return self._changed(self.store.set_priority(here, priority) + changed)

    def move(self, job_id: int, before: int | None, first: bool) -> None:
        self._must_wait(job_id)
        if before is None:
            moved = self.store.move_to_end(job_id, first)
        else:
            if before == job_id:
                raise UsageError(f"Job {job_id} cannot be moved before itself.")
            self._must_wait(before)
            moved = self.store.move_before(job_id, before)
        if not moved:
            raise self._started(job_id)
        self._changed([job_id])

    def places(self, ids: Sequence[int]) -> dict[int, tuple[int, float]]:
        """(priority, position) of each, to put it back there."""
        return self.store.places_of(ids)

    def place(self, places: Sequence[tuple[int, int, float]]) -> list[int]:
        """Put jobs that wait to where (id, priority, position) says; those that were."""
        return self._changed(self.store.place(places))

    def edit(self, job_id: int, changes: Mapping[str, Any]) -> None:
        """Change a job that waits."""
        self._must_wait(job_id)
        changes = {key: checked_change(key, value) for key, value in changes.items()}
        if "gpus" in changes:
            why_not = refusal(Ask(changes["gpus"]), self.client.seats())
            if why_not and self.client.job(job_id).host == "daemon":
                raise UsageError(f"Job {job_id} could never start so. {why_not} Nothing was changed.")
        if changes and not self.store.edit(job_id, changes):
            raise self._started(job_id)
        self._changed([job_id])

    def rerun_changed(self, ids: Sequence[int], changes: Mapping[str, Any]) -> None:
        """Run jobs that are done again, each changed before it can start."""
        changes = {key: checked_change(key, value) for key, value in changes.items()}
        self.client.ensure_daemon()
        if "gpus" in changes and (why_not := refusal(Ask(changes["gpus"]), self.client.seats())):
            raise UsageError(f"They could never start so. {why_not} Nothing was queued.")
        self.store.edit_done(ids, changes)
        self.client.rerun(ids)

    def dependencies(self) -> list[tuple[int, int]]:
        """(job, job that it waits or has waited for)."""
        return [(row["job_id"], row["on_job_id"]) for row in self.store.all_dependencies()]

    def spec_of(self, job_id: int) -> dict[str, Any]:
        self._must_wait(job_id)
        return self.store.spec_of(job_id)

    def remove(self, ids: Sequence[int]) -> list[int]:
        """Forget jobs that wait or are done, with their logs; those that were removed."""
        waiting = [view.id for view in self.client.views(ids) if view.state == State.QUEUED]
        self._must_be_here(waiting)
        return self._changed(Forgetting(self.client.database).forget(ids))

    def why_not_removed(self, job_id: int) -> str:
        waiting = self.store.waiting_for(job_id)
        if waiting:
            return f"job {job_id} is waited for by job {waiting[0]}; remove that one first"
        return f"job {job_id} is {self.client.job(job_id).state}; kill it first"

    def old(self, older_than_s: float) -> list[int]:
        """Jobs that have been done for longer than this, and what runs that have ended have left for as long."""
        before = time.time() - older_than_s
        return sorted([*self.store.older_than(before), *self.left_by_runs(before=before)])

    def left_by_runs(self, name: str | None = None, before: float = math.inf) -> list[int]:
        """Jobs that wait for runs that have ended. `name`: only of this run."""
        if name is not None:
            self._must_have_ended(name)
        runs = [run for run in ended_runs(self.client) if name in (None, run.name)]
        return [job_id for run in runs for job_id in self.store.waiting_of(run.host_id, min(before, _EVER))]

    def _must_have_ended(self, name: str) -> None:
        run = self.client.hosts.run_named(name)
        if run is None:
            raise NotFoundError(f"There is no run {name}. `duckrow ls` names those that have ended and left jobs.")
        if is_alive(self.client.folder, run.id):
            raise ConflictError(f"{name} is still running. Press Ctrl-C there, or kill its jobs.")

    def clean(self, older_than_s: float) -> list[int]:
        """Forget what is old, and give back the space that it took; those that were removed."""
        return self.forget(self.old(older_than_s))

    def forget(self, ids: Sequence[int]) -> list[int]:
        forgetting = Forgetting(self.client.database)
        removed = forgetting.forget(ids)
        if removed:
            forgetting.forget_environments()
            alone = not self.client.living_hosts()
            give_back_space(self.client.database.path, rest_a_little, may_copy=True, alone=alone)
        return self._changed(removed)

    def limit(self, project: str, max_running: int | None) -> None:
        with self.client.database.transaction():
            self.store.set_limit(f"project:{project}", max_running)
        self.client.ring_all()

    def limits(self) -> dict[str, int]:
        """How many jobs of a project may run at a time."""
        limits = self.store.limits().items()
        return {scope.removeprefix("project:"): most for scope, most in limits if scope.startswith("project:")}

    def wish_of_devices(self, devices: Sequence[str], wish: str) -> list[str]:
        """For all of them or, if one of them is none of the daemon's, for none; what will happen, in words."""
        if wish in ("drain", "remove"):
            self.client.ensure_daemon()
            for device in devices:
                self._checked(device, wish)
        return [self.wish_of_device(device, wish) for device in devices]

    def wish_of_device(self, device: str, wish: str) -> str:
        """`add`, `drain`, `remove`, `undrain`; what will happen, in words."""
        if wish in ("add", "undrain") and self._give_out_again(device) and self.client.daemon() is None:
            return f"GPU {device} is given out again."
        self.client.ensure_daemon()
        device, offered = self._checked(device, wish)
        self.store.wish_of_device(device, None if wish == "undrain" or (wish == "add" and device in offered) else wish)
        self.client.ring_all()
        busy = any(device == place["device"] and place["jobs"] for place in self.client.devices())
        if wish == "add":
            return f"GPU {device} is given out."
        if wish == "undrain":
            return f"GPU {device} is given out again."
        what = (
            "it gets no new job" if wish == "drain" else "it goes when its last job has ended" if busy else "it is gone"
        )
        return f"GPU {device}: {what}."

    def _checked(self, written: str, wish: str) -> tuple[str, set[str]]:
        """The name of the GPU that is meant, and those that the daemon gives out."""
        offered = {name for seat in self.client.seats() for name in seat.devices if not name.startswith(CPU)}
        device = self._gpu_meant(written, offered)
        if device not in offered and wish != "add":
            raise UsageError(f"The daemon has no GPU {device}. It has: {', '.join(sorted(offered)) or 'none'}.")
        return device, offered

    def _give_out_again(self, device: str) -> bool:
        """Of a GPU that was set aside; whether it was."""
        living = self.client.living_hosts()
        offered = {name for host in living for seat in seats_from(host.seats) for name in seat.devices}
        hosts = {DAEMON, *(host.id for host in living)}  # a daemon that starts next would set it aside again
        was_aside = SetAsideStore(self.client.database).want_back(hosts, self._gpu_meant(device, offered))
        if was_aside:
            self.client.ring_all()
        return was_aside

    # -- helpers ----------------------------------------------------------------------------------------------

    def _gpu_meant(self, written: str, offered: set[str]) -> str:
        """What the daemon calls the GPU that a person may have named by the beginning of its UUID."""
        name = plain_name(written)
        if name in offered or not any_uuid([name]):
            return name
        shown = GpuView(self.client).devices()
        meant = called(name, [Device(each["device"], "", each.get("uuid") or "", None) for each in shown])
        if len(meant) > 1:
            names = ", ".join(device.name for device in meant)
            raise UsageError(f"GPUs {names} begin with {written}: write more of the UUID.")
        return meant[0].name if meant else name

    def _changed(self, ids: list[int]) -> list[int]:
        if ids:
            self.client.ring_all()
        return ids

    def _apart(self, ids: Sequence[int]) -> tuple[list[int], list[int]]:
        """(jobs of this machine, runs on clusters)."""
        away = BatchStore(self.client.database).of_jobs(ids)
        return [job_id for job_id in ids if job_id not in away], list(away)

    def _must_be_here(self, ids: Sequence[int]) -> None:
        for job_id, (host_id, _) in BatchStore(self.client.database).of_jobs(ids).items():
            batch = self.client.hosts.get(host_id).name
            raise UsageError(
                f"Job {job_id} waits on a cluster, in batch {batch}: it can be held, released, given a priority or "
                "killed, but not changed otherwise."
            )

    def _must_wait(self, job_id: int) -> None:
        self._must_be_here([job_id])
        state, outcome = self.store.end_of(job_id)
        if state != State.QUEUED:
            raise ConflictError(f"Job {job_id} is {outcome or state}: only a job that waits can be changed.")

    def _started(self, job_id: int) -> ConflictError:
        return ConflictError(f"Job {job_id} has started meanwhile, and was left as it is.")


def edit_in_editor(text: str) -> str:
    """What a person makes of this text in $VISUAL or $EDITOR."""
    import subprocess
    import tempfile

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.NamedTemporaryFile("w+", suffix=".toml", prefix="duckrow-", delete=False) as file:
        file.write(text)
    try:
        code = subprocess.call(f'{editor} "{file.name}"', shell=True)
        if code != 0:
            raise UsageError(f"The editor ({editor}) ended with {code}; nothing was changed.")
        with open(file.name) as edited:
            return edited.read()
    finally:
        os.unlink(file.name)
