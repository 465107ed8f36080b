"""What people do to one job or to many at once: each is done or refused with its reason, and much can be undone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from duckrow.api.client import Client
from duckrow.api.control import Control
from duckrow.api.pausing import Paused, pause_jobs, resume_jobs
from duckrow.api.views import JobView
from duckrow.core.errors import ConflictError, JobGone, UsageError
from duckrow.core.lifecycle import State

MOST_JOBS = 10_000
Undo = dict[str, Any]


@dataclass
class Deed:
    """What came of it. `undo`: the arguments that take it back, where that can be done."""

    done: list[int] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    undo: Undo | None = None

    def refuse(self, job_id: int, why: str) -> None:
        self.refused.append({"id": job_id, "why": why})


def act(
    client: Client,
    action: str,
    ids: Sequence[int],
    *,
    priority: int | None = None,
    before: int | None = None,
    changes: Mapping[str, Any] | None = None,
    places: Sequence[tuple[int, int, float]] = (),
    now: bool = False,
) -> Deed:
    """`now`: what is killed gets no time to end by itself."""
    if len(ids) > MOST_JOBS:
        raise UsageError(f"{len(ids)} jobs are too many for one request: at most {MOST_JOBS}. Nothing was done.")
    deed = Deed()
    known = {view.id: view for view in client.views(list(dict.fromkeys(ids)))}
    for job_id in ids:
        if job_id not in known:
            deed.refuse(job_id, f"there is no job {job_id}")
    jobs = [known[job_id] for job_id in dict.fromkeys(ids) if job_id in known]
    if action == "priority":
        _prioritise(client, jobs, deed, _needed(action, priority))
    elif action == "before":
        _move(client, jobs, deed, _needed(action, before), first=False)
    elif action == "rerun":
        _rerun(client, jobs, deed, edit_words(changes or {}))
    elif action == "place":
        _place(client, jobs, deed, places)
    elif action == "kill":
        _kill(client, jobs, deed, at_once=now)
    else:
        _PLAIN[action](client, jobs, deed)
    return deed


def _needed(action: str, value: int | None) -> int:
    if value is None:
        raise UsageError(f'\'{action}\' needs a number: {{"action": "{action}", "{action}": 7, ...}}.')
    return value


_SECONDS_AND_BYTES = {"timeout": "timeout_s", "grace": "grace_s", "backoff": "backoff_s", "max_log": "max_log_bytes"}


def edit_words(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the command line by the names under which jobs keep them."""
    return {_SECONDS_AND_BYTES.get(name, name): value for name, value in changes.items()}


# -- ending and running again -------------------------------------------------------------------------------------


def _kill(client: Client, jobs: Sequence[JobView], deed: Deed, at_once: bool) -> None:
    alive = [job for job in jobs if job.state != State.DONE]
    _refuse_rest(jobs, alive, deed, lambda job: f"{job.words} is {job.outcome} already")
    deed.done = [job.id for job in alive]
    if not alive:
        return
    client.wish(deed.done, "kill-now" if at_once else "kill")
    client.await_wishes(deed.done)
    if all(job.state == State.QUEUED for job in alive):
        deed.undo = {"action": "rerun", "ids": deed.done}


def _rerun(client: Client, jobs: Sequence[JobView], deed: Deed, changes: Mapping[str, Any]) -> None:
    ended = [job for job in jobs if job.state == State.DONE]
    _refuse_rest(jobs, ended, deed, lambda job: f"{job.words} is {job.state}, not done")
    deed.done = [job.id for job in ended]
    if deed.done and changes:
        Control(client).rerun_changed(deed.done, changes)
    elif deed.done:
        client.rerun(deed.done)


def _remove(client: Client, jobs: Sequence[JobView], deed: Deed) -> None:
    control = Control(client)
    deed.done = control.remove([job.id for job in jobs])
    gone = set(deed.done)
    for job in jobs:
        if job.id not in gone:
            try:
                deed.refuse(job.id, control.why_not_removed(job.id))
            except JobGone as error:
                deed.refuse(job.id, str(error))


def _pause(client: Client, jobs: Sequence[JobView], deed: Deed) -> None:
    _note(deed, pause_jobs(client, [job.id for job in jobs]))
    if deed.done:
        deed.undo = {"action": "resume", "ids": list(deed.done)}


def _resume(client: Client, jobs: Sequence[JobView], deed: Deed) -> None:
    _note(deed, resume_jobs(client, [job.id for job in jobs]))
    if deed.done:
        deed.undo = {"action": "pause", "ids": list(deed.done)}


def _note(deed: Deed, paused: Paused) -> None:
    deed.done = paused.done
    for job_id, why in paused.refused.items():
        deed.refuse(job_id, why)


# -- what waits ---------------------------------------------------------------------------------------------------


def _hold(client: Client, jobs: Sequence[JobView], deed: Deed) -> None:
    _set_held(client, jobs, deed, held=True)


def _release(client: Client, jobs: Sequence[JobView], deed: Deed) -> None:
    _set_held(client, jobs, deed, held=False)


def _set_held(client: Client, jobs: Sequence[JobView], deed: Deed, held: bool) -> None:
    deed.done = Control(client).hold([job.id for job in jobs], held)
    _refuse_started(jobs, deed)
    done = set(deed.done)
    changed = [job.id for job in jobs if job.id in done and job.held != held]
    if changed:
        deed.undo = {"action": "release" if held else "hold", "ids": changed}


def _prioritise(client: Client, jobs: Sequence[JobView], deed: Deed, priority: int) -> None:
    control = Control(client)
    places = control.places([job.id for job in jobs])
    deed.done = control.prioritise([job.id for job in jobs], priority)
    _refuse_started(jobs, deed)
    _can_go_back(deed, places)


def _first(client: Client, jobs: Sequence[JobView], deed: Deed) -> None:
    _move(client, list(reversed(jobs)), deed, None, first=True)


def _last(client: Client, jobs: Sequence[JobView], deed: Deed) -> None:
    _move(client, jobs, deed, None, first=False)


def _move(client: Client, jobs: Sequence[JobView], deed: Deed, before: int | None, first: bool) -> None:
    control = Control(client)
    if before is not None:
        client.select([str(before)])
    places = control.places([job.id for job in jobs])
    for job in jobs:
        try:
            control.move(job.id, before, first)
            deed.done.append(job.id)
        except (ConflictError, JobGone) as error:
            deed.refuse(job.id, str(error))
    _can_go_back(deed, places)


def _place(client: Client, jobs: Sequence[JobView], deed: Deed, places: Iterable[tuple[int, int, float]]) -> None:
    """Back to where they stood before they were moved."""
    named = {job.id for job in jobs}
    deed.done = Control(client).place([place for place in places if place[0] in named])
    _refuse_started(jobs, deed)


def _can_go_back(deed: Deed, places: Mapping[int, tuple[int, float]]) -> None:
    if deed.done:
        back = [[job_id, *places[job_id]] for job_id in deed.done if job_id in places]
        deed.undo = {"action": "place", "ids": list(deed.done), "places": back}


def _refuse_started(jobs: Iterable[JobView], deed: Deed) -> None:
    done = set(deed.done)
    for job in jobs:
        if job.id in done:
            continue
        if job.state == State.QUEUED:
            deed.refuse(job.id, f"job {job.id} has started meanwhile, and was left as it is")
        else:
            deed.refuse(job.id, f"job {job.id} is {job.outcome or job.state}: only a job that waits can be changed")


def _refuse_rest(
    jobs: Iterable[JobView], accepted: Iterable[JobView], deed: Deed, why: Callable[[JobView], str]
) -> None:
    taken = {job.id for job in accepted}
    for job in jobs:
        if job.id not in taken:
            deed.refuse(job.id, why(job))


_PLAIN: dict[str, Callable[[Client, Sequence[JobView], Deed], None]] = {
    "hold": _hold,
    "release": _release,
    "pause": _pause,
    "resume": _resume,
    "remove": _remove,
    "first": _first,
    "last": _last,
}
ACTIONS = (*_PLAIN, "kill", "rerun", "priority", "before", "place")
