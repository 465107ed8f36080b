"""The client: add jobs, look at them, wait for them, here and on clusters."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from duckrow.api.attendance import Attendance, warn
from duckrow.api.environment import inherited_environment
from duckrow.api.out_of_use import drained, set_aside_by_living
from duckrow.api.session import Session
from duckrow.api.tender import Tender
from duckrow.api.views import JobView, gpu_seconds
from duckrow.core.dependency import Dependency, in_words, is_met
from duckrow.core.errors import EXIT_TIMED_OUT, DuckrowError, UsageError
from duckrow.core.inventory import CPU, WHOLE
from duckrow.core.job import JobSpec
from duckrow.core.lifecycle import Outcome, State, state_in_words
from duckrow.core.needs import Needs, ask_of
from duckrow.core.placement import refusal
from duckrow.core.title import full_name
from duckrow.store.answers import AnswerStore
from duckrow.store.control import ControlStore
from duckrow.store.folder import Folder
from duckrow.store.hosts import DAEMON, is_alive, ring, seats_from

if TYPE_CHECKING:
    from duckrow.api.slurm_batches import Batches
    from duckrow.api.slurm_wishes import BatchWishes
    from duckrow.core.output_names import OutputNames

_LOOK_S = 0.05  # how often a client that waits asks the database whether anything has changed
_ANSWER_S = 10.0  # how long a host may take to fulfil a wish before we say that it has not yet


class Client(Session):
    def __init__(self, folder: Folder | None = None) -> None:
        super().__init__(folder)
        self.tender = Tender(self)

    def close(self) -> None:
        self.tender.close()
        super().close()

    # -- clusters ---------------------------------------------------------------------------------------------

    @property
    def batches(self) -> Batches:
        """The runs on clusters."""
        return self.tender.batches

    @property
    def batch_wishes(self) -> BatchWishes:
        """What people want of runs on clusters."""
        from duckrow.api.slurm_wishes import BatchWishes

        return BatchWishes(self.batches)

    # -- adding -----------------------------------------------------------------------------------------------

    def submit(
        self,
        specs: Sequence[JobSpec],
        environment: Mapping[str, str | None] | None = None,
        after: Sequence[Dependency] = (),
        array_limit: int | None = None,
        output: OutputNames | None = None,
    ) -> range:
        """Add jobs to the daemon's queue, all or none; they are on disk when this returns.

        `environment`: what is different from the variables here; None: left behind. `after`: what each of them waits
        for. `array_limit`: how many of the array that they are may run at a time. `output`: where they write.
        """
        self.ensure_daemon()
        if after:
            self.tender.copy()  # they may wait for runs on a cluster
        why_not = next(self.could_never_start(specs), None)
        if why_not:
            raise UsageError(f"This job could never start. {why_not[1]} Nothing was submitted.")
        with self.database.transaction():
            control = ControlStore(self.database)
            # Before the jobs are there: `last` is not one of themselves.
            waits_for = self.not_yet_met(after, may_be_broken=all(s.if_broken == "wait" for s in specs))
            if output is not None:
                from duckrow.api.output_files import placed

                specs = placed(specs, output, self.jobs.next_id())
            ids = self.jobs.add(DAEMON, specs, inherited_environment(environment))
            control.add_dependencies(ids, waits_for)
            if array_limit is not None:
                control.set_limit(f"array:{ids[0]}", array_limit)
        ring(self.folder, DAEMON)
        return ids

    def could_never_start(self, specs: Sequence[JobSpec]) -> Iterator[tuple[int, str]]:
        """Which of these the daemon could never start, and why."""
        seats, machine = self.seats(), self.hosts.machine(DAEMON)
        asked: dict[tuple[int | None, Needs], str | None] = {}
        for number, spec in enumerate(specs):
            key = (spec.gpus, spec.needs)
            if key not in asked:
                asked[key] = refusal(ask_of(spec.gpus, spec.needs.as_text()), seats, machine)
            why_not = asked[key]
            if why_not:
                yield number, why_not

    def not_yet_met(self, after: Sequence[Dependency], may_be_broken: bool) -> list[tuple[int, str]]:
        """(job, condition) of those that have yet to end; one that has ended in the wrong way is an error."""
        control = ControlStore(self.database)
        waits_for = []
        for dependency in after:
            for job_id in self.select([dependency.words]):
                state, outcome = control.end_of(job_id)
                if state != State.DONE or outcome is None:
                    waits_for.append((job_id, dependency.condition))
                elif is_met(dependency.condition, Outcome(outcome)):
                    continue
                elif may_be_broken:
                    waits_for.append((job_id, dependency.condition))
                else:
                    wanted, ended = in_words(dependency.condition, job_id), state_in_words(State.DONE, outcome)
                    raise UsageError(
                        f"This job would wait for {wanted}, which {ended} already, so it would never start. "
                        "Nothing was submitted."
                    )
        return waits_for

    # -- looking ----------------------------------------------------------------------------------------------

    def unfinished(self) -> tuple[list[int], list[int]]:
        """The jobs that are not done, wherever they are; those of them that only a run which has ended would start."""
        self.tender.copy()
        rows = AnswerStore(self.database).unfinished()
        alive = {host_id: is_alive(self.folder, host_id) for host_id in {row.host_id for row in rows}}
        stranded = [row.id for row in rows if row.of_run and row.state == State.QUEUED and not alive[row.host_id]]
        return [row.id for row in rows], stranded

    def devices(self) -> list[dict[str, Any]]:
        """Each device that a living host gives out, with the jobs on it."""
        now = time.time()
        held: dict[tuple[str, str], list[dict[str, Any]]] = {}
        names = {row.id: row.name for row in self.hosts.all()}
        suspended = self.jobs.suspended()
        for row in self.jobs.live():
            for device, share in row.holds:
                job = {
                    "id": row.job_id,
                    "name": full_name(row.name, row.array_index),
                    "command": row.command,
                    "pid": row.pid,
                    "share": share / WHOLE,
                    "for_s": now - row.started_at,
                    "suspended": row.job_id in suspended,
                }
                held.setdefault(_place_of(device, names.get(row.job_host_id, "")), []).append(job)
        offered = {
            _place_of(device, host.name): host.name
            for host in self.living_hosts()
            for seat in seats_from(host.seats)
            for device in seat.devices
        }
        places = sorted({*offered, *held}, key=lambda place: (place[1], len(place[0]), place[0]))
        unwanted = drained(self.database, DAEMON)
        broken = set_aside_by_living(self)
        return [
            {
                "device": place[0],
                "host": place[1] or offered.get(place, ""),
                "drained": place[0] in unwanted,
                "set_aside": broken.get(place[0]),
                "jobs": held.get(place, []),
            }
            for place in places
        ]

    def story(self, job_id: int) -> dict[str, Any]:
        """All that is known of a job: itself, its attempts, its events."""
        from duckrow.store.job_story import JobStoryStore

        story, now = JobStoryStore(self.database), time.time()
        attempts = [
            {**made._asdict(), "gpu_seconds": gpu_seconds(made.devices, made.started_at, made.ended_at or now)}
            for made in story.attempts(job_id)
        ]
        events = [event._asdict() for event in story.events(job_id)]
        after = [
            {"id": row.on_job_id, "condition": row.condition, "met": bool(row.met)}
            for row in ControlStore(self.database).dependencies_of(job_id)
        ]
        own = self.job(job_id).as_json()
        needs = {name: value for name, value in self.jobs.needs_of(job_id)._asdict().items() if value}
        return {**own, "needs": needs, "after": after, "attempts_made": attempts, "events": events}

    # -- wishing ----------------------------------------------------------------------------------------------

    def await_wishes(self, ids: Sequence[int]) -> None:
        """Until the wishes for these jobs have been seen by a host."""
        deadline = time.monotonic() + _ANSWER_S
        for _ in self._changes(deadline):
            if self.jobs.wished().isdisjoint(ids):
                return
            if time.monotonic() > deadline:
                raise DuckrowError("The scheduler has not answered yet. The wish is noted; see `duckrow ls`.")

    def wait(
        self, ids: Sequence[int], timeout_s: float | None = None, tell: Callable[[str], None] = warn
    ) -> list[JobView]:
        """Until these jobs are done. `tell`: called when nobody sees to them any more, and when somebody does again."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        from duckrow.api.lending import Lending

        attendance, lending = Attendance(self, tell), Lending(self, tell)
        try:
            for _ in self._changes(deadline):
                self.tender.see_to()
                views = self.views(ids)
                if all(view.state == State.DONE for view in views):
                    return views
                if deadline is not None and time.monotonic() >= deadline:
                    raise WaitedTooLong(f"Not all of them were done within {timeout_s:g} s.")
                attendance.look(ids)
                if lending.is_in_job:
                    waiting = sum(view.state == State.QUEUED for view in views)
                    lending.look(waiting, begun=sum(view.state not in (State.QUEUED, State.DONE) for view in views))
            raise AssertionError("changes never end")
        finally:
            lending.end()

    def has_news(self) -> bool:
        """Whether anything has changed since this was last asked, here or on clusters."""
        return self.tender.has_news() or self.database.changed_by_others()

    def _changes(self, deadline: float | None) -> Iterator[None]:
        """Now, whenever the database has changed, at least once a second, and when the time is up."""
        self.database.changed_by_others()
        while True:
            yield
            again_at = min(time.monotonic() + 1.0, deadline or math.inf)
            while not self.has_news() and time.monotonic() < again_at:
                self.tender.see_to()
                time.sleep(min(_LOOK_S, max(again_at - time.monotonic(), 0.0)))


def _place_of(device: str, host: str) -> tuple[str, str]:
    """A GPU is one device whoever gives it out; CPU slots are each host's own."""
    return (device, host) if device.startswith(CPU) else (device, "")


class WaitedTooLong(DuckrowError):
    exit_code = EXIT_TIMED_OUT
