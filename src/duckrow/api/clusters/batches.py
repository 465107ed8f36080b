"""The batches that a login node knows: copied from their folders, and tended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from duckrow.api.clusters.copy import BatchCopy
from duckrow.clusters.batch import Batch
from duckrow.clusters.claims import Claims
from duckrow.clusters.lapsing import lapse
from duckrow.clusters.port import Cluster, ClusterOf, NoAnswer, Question, States, answer_within, late
from duckrow.clusters.tending import Tending
from duckrow.clusters.waits import Waits
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.errors import UsageError
from duckrow.store.batches import BatchStore, GroupStanding, RunOfBatch, Standing

if TYPE_CHECKING:
    from duckrow.api.session import Session

_LOOK_S = 0.05
_ANSWER_S = 10.0  # how long we wait for the cluster's answer if we need it
_LONGEST_PAUSE_S = 300.0  # between two questions to a cluster that does not answer
_NAMED = 5


class Batches:
    def __init__(self, session: Session, cluster_of: ClusterOf) -> None:
        self.session = session
        self.cluster_of = cluster_of
        self.store = BatchStore(session.database)
        self.copies: dict[int, BatchCopy] = {}
        self.news: dict[int, None] = {}  # jobs that have changed, until somebody reads this
        self.notes: list[str] = []  # events that a waiting person should hear about
        self._questions: dict[Cluster, Question] = {}  # not answered yet
        self._done: list[Batch] = []  # batches that ended while we watched: the cluster may still have jobs for them

    def close(self) -> None:
        """Withdraw the open questions to clusters."""
        while self._questions:
            self._questions.popitem()[1].withdraw()

    # -- copying ----------------------------------------------------------------------------------------------

    def copy(self) -> None:
        """Bring the rows of open batches up to date from their folders."""
        self._reopen()
        open_batches = self.store.open()
        changed = self._closed_by_others({row.id for row in open_batches})
        self._settle_dependents()
        for row in open_batches:
            copy = self.copies.setdefault(row.id, BatchCopy(self.session, row))
            changed += copy.refresh()
        if changed:
            self._settle_dependents()  # before we close a batch whose runs were all skipped
        for row in open_batches:
            if self.copies[row.id].is_done():
                self._done.append(self.copies[row.id].batch)
                self.copies.pop(row.id).close()
        if changed:
            self.news |= dict.fromkeys(changed)
            self.session.ring_all()  # a job may have waited for one of these

    def any_has_all_results(self) -> bool:
        """Whether all runs of an open batch have ended, which a glance at its folder tells."""
        return any(copy.has_all_results() for copy in self.copies.values())

    def _reopen(self) -> None:
        """Reopen batches that are done here, if another login node runs some of their runs again."""
        for row in self.store.latest_closed():
            if row.closed_at is not None and Batch(row.folder).reopened_at() > row.closed_at:
                with self.session.database.transaction():
                    self.store.reopen(row.id)

    def _settle_dependents(self) -> None:
        """Write to the folders of waiting runs which of their dependencies have ended: only the database knows that."""
        for batch_id, dependents in self.store.dependents().items():
            batch = self.batch(batch_id)
            if os.path.exists(batch.folder):
                claims = Claims(batch)
                claims.look()
                for run in dependents:
                    Waits(claims).settle(*run)

    def _closed_by_others(self, open_ids: set[int]) -> list[int]:
        """The changed jobs of batches that another command has closed."""
        closed = [batch_id for batch_id in self.copies if batch_id not in open_ids]
        return [job_id for batch_id in closed for job_id in self.copies.pop(batch_id).changes()]

    # -- asking the cluster -----------------------------------------------------------------------------------

    def look(self, every_s: float, patience_s: float) -> None:
        """Record the status of the batches, as the cluster reports it."""
        if self._is_due("looked", every_s):
            self._ask("looked", patience_s, lambda copy, states: self._note(copy, self._looked(copy.batch, states)))

    def submit(self, every_s: float, patience_s: float) -> bool:
        """Free the claims of dead pilots, submit missing cluster jobs, cancel useless ones.

        False: the cluster has not answered, or refused; `notes` says which.
        """
        could = True
        if self.copies and (self._questions or self._is_due("asked", every_s)):
            could = self._ask("asked", patience_s, self._tend)
        self.cancel_useless()
        return could

    def _is_due(self, what: str, every_s: float) -> bool:
        if not every_s:
            return True  # somebody wants it now, however long the cluster has been silent
        mono, pause_s = self.store.last_asked(what)
        # A time in the future is from an earlier boot.
        return not 0 <= time.monotonic() - mono < max(every_s, pause_s)

    def _ask(self, what: str, patience_s: float, see_to: Callable[[BatchCopy, States], None]) -> bool:
        """Ask each cluster once for all its batches. If it does not answer, conclude nothing, and ask less often.

        False: not all have answered.
        """
        _, pause_s = self.store.last_asked(what)
        try:
            copies: dict[Cluster, list[BatchCopy]] = {}
            for copy in self.copies.values():
                copies.setdefault(self._cluster_of(copy.batch), []).append(copy)
            for cluster, of_cluster in copies.items():
                states = self._answer_of(cluster, patience_s)
                if states is None:
                    return False  # a waiting caller asks again
                for copy in of_cluster:
                    see_to(copy, states)
            pause_s = 0.0
        except NoAnswer as error:
            self._give_up(str(error))
            pause_s = min(max(pause_s * 2, 2.0), _LONGEST_PAUSE_S)
        except UsageError as error:  # there is no cluster here, or it refuses: repeating that helps nobody
            self._give_up(str(error))
            pause_s = _LONGEST_PAUSE_S
        except OSError as error:  # the folder of a batch is full or missing: nothing is lost, and we try again
            self._give_up(f"{error.filename or 'The folder of a batch'}: {error.strerror}. Nothing is lost.")
            pause_s = min(max(pause_s * 2, 2.0), _LONGEST_PAUSE_S)
        with self.session.database.transaction():
            self.store.note_asked(what, pause_s)
        return not pause_s

    def _answer_of(self, cluster: Cluster, patience_s: float) -> States | None:
        """None: no answer within the caller's patience."""
        if cluster not in self._questions:
            self._questions[cluster] = cluster.ask()
        question = self._questions[cluster]
        states = question.answer(patience_s)
        if states is not None:
            del self._questions[cluster]
        elif patience_s:
            raise late(question, patience_s)
        return states

    def _give_up(self, why: str) -> None:
        self.close()
        self.notes.append(why)

    # -- tending ----------------------------------------------------------------------------------------------

    def _tend(self, copy: BatchCopy, states: States) -> None:
        if not os.path.exists(copy.batch.folder):
            return  # copying reports that
        tending = self._looked(copy.batch, states)
        lapsed = lapse(tending)
        if lapsed:
            self.notes.append(f"{len(lapsed)} interrupted runs are queued again: their SLURM job has ended.")
            tending.claims.look()
        self._note(copy, tending)
        if tending.claims.free() and not tending.stands_still():
            self._say_submitted(tending.submit_missing())
            self._note(copy, tending)

    def tending(self, batch: Batch) -> Tending:
        return Tending(batch, self._cluster_of(batch))

    def _looked(self, batch: Batch, states: States) -> Tending:
        tending = self.tending(batch)
        tending.look(states)
        return tending

    def _cluster_of(self, batch: Batch) -> Cluster:
        # Without its folder, a batch's cluster is unknown; nothing is done with it except to report that.
        return self.cluster_of(batch.request if os.path.exists(batch.folder) else ClusterRequest())

    def _note(self, copy: BatchCopy, tending: Tending) -> None:
        """Record its status, for everyone who asks before the cluster is asked again."""
        if os.path.exists(copy.batch.folder):
            why_still = tending.stands_still() if tending.claims.free() else ""
            with self.session.database.transaction():
                self.store.note_standing(copy.row.id, standing_of(tending, why_still))

    def _say_submitted(self, jobs: Sequence[str]) -> None:
        if jobs:
            more = " ..." if len(jobs) > _NAMED else ""
            self.notes.append(f"SLURM jobs submitted: {', '.join(jobs[:_NAMED])}{more}.")

    def cancel_useless(self) -> None:
        """Cancel waiting cluster jobs of batches that have ended: they would find nothing to run."""
        while self._done:
            self._cancel_useless(self._done.pop())

    def _cancel_useless(self, batch: Batch) -> None:
        if not os.path.exists(batch.folder):
            return
        try:
            self.tending(batch).cancel_useless()
        except (NoAnswer, UsageError):
            pass  # they find nothing to run, and end

    def start(self, batch_id: int) -> list[str]:
        """Submit missing cluster jobs, even if somebody has cancelled all of them."""
        self.go_on([batch_id])
        batch = self.batch(batch_id)
        tending = self._looked(batch, answer_within(self.cluster_of(batch.request).ask()))
        lapse(tending)
        tending.claims.look()
        return tending.submit_missing()

    def go_on(self, batch_ids: Sequence[int]) -> None:
        """Somebody wants runs of these batches, so an earlier cancel of all their jobs no longer counts."""
        for batch_id in batch_ids:
            batch = self.batch(batch_id)
            if os.path.exists(batch.folder):
                self.tending(batch).go_on()

    def abandoned(self, ids: Sequence[int]) -> list[int]:
        """The queued runs of batches for which nothing more is submitted, as the cluster reports now."""
        batch_of = {job_id: run.batch_id for job_id, run in self.of_jobs(ids).items()}
        began = time.monotonic()
        while batch_of and not self._asked_since(began) and time.monotonic() < began + _ANSWER_S:
            self.copy()
            self.submit(every_s=0.0, patience_s=_ANSWER_S)
            time.sleep(_LOOK_S)
        still = self.still()
        return [job_id for job_id, batch in batch_of.items() if batch in still]

    def still(self) -> dict[int, str]:
        """The batches for which nothing more is submitted, and why."""
        return {batch_id: standing.still for batch_id, standing in self.store.standings().items() if standing.still}

    def _asked_since(self, mono: float) -> bool:
        return mono <= self.store.last_asked("asked")[0] <= time.monotonic()

    def of_jobs(self, ids: Sequence[int]) -> dict[int, RunOfBatch]:
        """Those of these jobs that are runs of batches."""
        return self.store.of_jobs(ids)

    def batch(self, batch_id: int) -> Batch:
        """The folder of this batch."""
        return Batch(self.store.get(batch_id).folder)

    def group_of(self, job_id: int) -> int:
        """The index of this run's request in its batch."""
        run = self.of_jobs([job_id])[job_id]
        batch = self.batch(run.batch_id)
        return batch.group_of(run.number) if os.path.exists(batch.folder) else 0


def standing_of(tending: Tending, why_still: str = "") -> Standing:
    groups = [GroupStanding(*group) for group in tending.groups()]
    return Standing(why_still, tending.running(), tending.waiting(), tending.held(), groups)
