"""Updates the database's copy of a batch from its folder, which is authoritative."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from duckrow.api.clusters.memory import PeaksFromBatch
from duckrow.clusters.batch import Batch
from duckrow.clusters.claims import Claims
from duckrow.clusters.held_runs import HeldRuns
from duckrow.clusters.pilots import Pilot, read_pilots
from duckrow.clusters.priorities import Priorities
from duckrow.clusters.shared_files import names
from duckrow.clusters.waits import Waits
from duckrow.core.life.states import Outcome, State
from duckrow.store.batch_runs import BatchRunStore
from duckrow.store.batches import BatchStore, RunRow

if TYPE_CHECKING:
    from duckrow.api.session import Session
    from duckrow.store.batches import BatchRow


class BatchCopy:
    def __init__(self, session: Session, row: BatchRow) -> None:
        self.session = session
        self.row = row
        self.batch = Batch(row.folder)
        self.claims = Claims(self.batch)
        self._holds = HeldRuns(self.claims)
        self._priorities = Priorities(self.batch)
        self._peaks = PeaksFromBatch(session.database, self.batch)
        self.pilots: list[Pilot] = []
        self._store = BatchStore(session.database)
        self._runs = BatchRunStore(session.database)
        self._running: dict[int, tuple[Pilot, dict[str, Any]]] = {}
        self._known_releases: set[tuple[int, int]] = set()
        self._rows: dict[int, RunRow] | None = None  # by job, as we last saw them

    def refresh(self) -> list[int]:
        """Record what is new; returns the changed jobs, including those that others recorded first."""
        written = self._write_news() if os.path.exists(self.batch.folder) else self._all_lost()
        return list(dict.fromkeys([*written, *self.changes()]))

    def changes(self) -> list[int]:
        """The jobs whose rows have changed since our last look, whoever wrote them."""
        before, self._rows = self._rows, {run.job_id: run for run in self._store.runs(self.row.id)}
        return [] if before is None else [job_id for job_id, row in self._rows.items() if before.get(job_id) != row]

    def _write_news(self) -> list[int]:
        self.claims.look()
        self._holds.look()
        self._priorities.look()
        self._peaks.bring_home()
        self.pilots = [pilot for pilot in read_pilots(self.batch) if pilot.running]
        self._running = {run: (pilot, facts) for pilot in self.pilots for run, facts in pilot.running.items()}
        if not any(self._news(run) for run in self._store.runs(self.row.id)):
            return []
        changed: list[int] = []
        with self.session.database.transaction():
            for run in self._store.runs(self.row.id):
                if self._news(run):
                    self._write(run)
                    changed.append(run.job_id)
        return changed

    def has_all_results(self) -> bool:
        results = names(self.batch.results)  # none if the folder was removed
        return bool(results) and len(results) >= self.batch.count

    def is_done(self) -> bool:
        return all(run.state is State.DONE for run in self._store.runs(self.row.id))

    def close(self) -> None:
        """Close the batch: its folder need not be read any more."""
        with self.session.database.transaction():
            self._store.close(self.row.id)

    def _news(self, run: RunRow) -> str:
        """What must be recorded about a run: done, again, running, released, order; empty: nothing."""
        if run.number in self.claims.done:
            return "" if run.state is State.DONE else "done"
        if run.state is State.DONE:
            is_known = os.path.exists(f"{self.batch.results}/{run.number}.json") or self._is_just_skipped(run)
            return "" if is_known else "again"
        news = self._news_of_claim(run)
        if not news and run.state is State.QUEUED and self._order(run) != (run.held, run.priority):
            return "order"
        return news

    def _is_just_skipped(self, run: RunRow) -> bool:
        """Whether it was skipped because of how its dependency ended: its folder gets that at the next look."""
        return run.outcome == Outcome.SKIPPED and Waits(self.claims).is_waiting(run.number)

    def _order(self, run: RunRow) -> tuple[bool, int]:
        """Whether it is held, and its priority."""
        return self._holds.is_marked(run.number), self._priorities.given.get(run.number, run.priority)

    def _news_of_claim(self, run: RunRow) -> str:
        claim = self.claims.latest.get(run.number)
        if claim is None:
            return ""
        if (run.number, claim) in self.claims.released:
            is_new = run.state is not State.QUEUED or (run.number, claim) not in self._known_releases
            return "released" if is_new else ""
        return "running" if self._is_newer(run, claim) else ""

    def _is_newer(self, run: RunRow, claim: int) -> bool:
        _, facts = self._running.get(run.number, (None, {"claim": None}))
        if facts["claim"] != claim:
            return False  # it is about to start, or has just ended
        expected = State.STOPPING if facts["stopping"] else State.RUNNING
        return (run.state, run.attempts) != (expected, facts["number"]) and run.state is not State.STOPPING

    def _write(self, run: RunRow) -> None:
        news = self._news(run)
        if news == "done":
            result = self.claims.result(run.number)
            if result is not None:
                if run.held:  # it was released, claimed and done since our last look
                    self._runs.saw_order(run, False, run.priority)
                for release in self.claims.history(run.number):
                    self._runs.put_attempts(self.row.id, run, release)
                self._runs.saw_result(self.row.id, run, result)
        elif news == "again":
            self._runs.saw_rerun(self.row.id, run)
        elif news == "released":
            claim = self.claims.latest[run.number]
            self._known_releases.add((run.number, claim))
            self._runs.saw_release(self.row.id, run, self.claims.release_of(run.number, claim))
            self._runs.saw_order(run, *self._order(run))
        elif news == "order":
            self._runs.saw_order(run, *self._order(run))
        elif news == "running":
            pilot, facts = self._running[run.number]
            self._runs.saw_running(self.row.id, run, facts, f"in SLURM job {pilot.slurm_job}")

    def _all_lost(self) -> list[int]:
        """The folder was removed, so its unfinished runs are lost."""
        left = [run for run in self._store.runs(self.row.id) if run.state is not State.DONE]
        how = {"outcome": Outcome.LOST, "detail": f"{self.batch.folder} was removed", "ended_at": time.time()}
        with self.session.database.transaction():
            for run in left:
                self._runs.saw_result(self.row.id, run, how)
        return [run.job_id for run in left]
