"""Wishes about runs on clusters: kill, hold, release, priority, rerun.

The folder of their batch is authoritative. If a pilot wants the same run at the same moment, the claim decides, and the
answer says for which runs the wish was fulfilled.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from duckrow.api.clusters.standing import start_command
from duckrow.clusters.claims import LOGIN, Claims, killed_before_it_began
from duckrow.clusters.held_runs import HeldRuns
from duckrow.clusters.priorities import Priorities
from duckrow.clusters.shared_files import put
from duckrow.clusters.waits import Waits
from duckrow.core.life.states import State
from duckrow.core.life.wishes import kill_wish

if TYPE_CHECKING:
    from duckrow.api.clusters.batches import Batches


_PATIENCE_S = 10.0  # for the cluster's answer: cluster jobs should be submitted when the command returns


class BatchWishes:
    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    def kill(self, ids: Sequence[int], at_once: bool) -> None:
        """We claim runs that nobody has claimed, so they never start. For the others, we tell their pilots."""
        for claims, job_of in self._by_batch(ids):
            batch = claims.batch
            HeldRuns(claims).release(job_of)
            waits = Waits(claims)
            card = f"{batch.wishes}/.{socket.gethostname()}.{os.getpid()}"
            put(card, {"pilot": LOGIN})
            for run in job_of:
                number = claims.take(card, run) if claims.is_free(run) else None
                if number is not None:
                    claims.finish(run, number, killed_before_it_began())
                elif waits.is_waiting(run):
                    waits.end(run, killed_before_it_began())
                elif run not in claims.done:
                    put(f"{batch.wishes}/{run}.{kill_wish(at_once).value}", {"at": time.time()})
            os.unlink(card)
        self._batches.copy()
        self._batches.cancel_useless()

    def end_abandoned(self, ids: Sequence[int]) -> list[int]:
        """Kill runs that would wait for ever, because nothing more is submitted for their batch."""
        queued = [view.id for view in self._batches.session.views(ids) if view.state == State.QUEUED]
        abandoned = self._batches.abandoned(queued)
        if abandoned:
            self.kill(abandoned, at_once=False)
        return abandoned

    def hold(self, ids: Sequence[int]) -> list[int]:
        """Hold runs that nobody has claimed; returns those that are held now."""
        held = [job_of[run] for claims, job_of in self._by_batch(ids) for run in HeldRuns(claims).hold(job_of)]
        self._batches.copy()
        return held

    def release(self, ids: Sequence[int]) -> list[int]:
        """Let runs be claimed again; returns those that nobody has claimed."""
        free: list[int] = []
        for claims, job_of in self._by_batch(ids):
            HeldRuns(claims).release(job_of)
            free += _jobs(job_of, claims.free())
        self._submit(ids)  # they may need another cluster job
        return free

    def prioritise(self, ids: Sequence[int], priority: int) -> list[int]:
        """Give a priority to runs that nobody has claimed; returns those that have it."""
        given: list[int] = []
        for claims, job_of in self._by_batch(ids):
            holds = HeldRuns(claims)
            waiting = [run for run in job_of if claims.is_free(run) or holds.is_held(run)]
            if waiting:
                Priorities(claims.batch).give(waiting, priority)
            given += _jobs(job_of, waiting)
        self._batches.copy()
        return given

    def rerun(self, ids: Sequence[int]) -> None:
        """Put done runs back into their batch."""
        for claims, job_of in self._by_batch(ids):
            for run in claims.done.intersection(job_of):
                claims.reopen(run)
            claims.batch.note_reopened()
        store = self._batches.store
        with store.database.transaction():
            for batch_id in {run.batch_id for run in store.of_jobs(ids).values()}:
                store.reopen(batch_id)
        self._submit(ids)

    def _submit(self, ids: Sequence[int]) -> None:
        """Submit the cluster jobs that these runs need, even if all were cancelled."""
        batches = self._batches
        wanted = sorted({run.batch_id for run in batches.of_jobs(ids).values()})
        batches.go_on(wanted)
        batches.copy()
        if not batches.submit(every_s=0.0, patience_s=_PATIENCE_S):
            commands = [start_command(batches.store.get(batch_id).name) for batch_id in wanted]
            batches.notes.append(f"The runs wait for SLURM jobs. To submit these later: {'; '.join(commands)}")

    def _by_batch(self, ids: Sequence[int]) -> Iterator[tuple[Claims, dict[int, int]]]:
        """For each batch: its current claims, and run -> job of the wanted runs."""
        of_batch: dict[int, dict[int, int]] = {}
        for job_id, run in self._batches.of_jobs(ids).items():
            of_batch.setdefault(run.batch_id, {})[run.number] = job_id
        for batch_id, job_of in of_batch.items():
            claims = Claims(self._batches.batch(batch_id))
            claims.look()
            yield claims, job_of


def _jobs(job_of: dict[int, int], runs: Iterable[int]) -> list[int]:
    return [job_of[run] for run in runs if run in job_of]
