"""The batches that a login node knows: looked at by every command, tended now and then."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from duckrow.api.slurm_copy import BatchCopy
from duckrow.api.slurm_wishes import BatchWishes
from duckrow.core.errors import UsageError
from duckrow.engines.slurm import commands
from duckrow.engines.slurm.batch import Batch
from duckrow.engines.slurm.tending import Tending
from duckrow.store.batches import BatchStore

if TYPE_CHECKING:
    from duckrow.api.client import Client

NOW_AND_THEN_S = 30.0  # how often a command that only looks asks SLURM
PATIENCE_S = 5.0  # and how long it then waits for the answer
_LOOK_S = 0.05
_ANSWER_S = 10.0  # for so long SLURM may think about what it still has, where that has to be known
_LONGEST_PAUSE_S = 300.0  # between two questions to a SLURM that does not answer


class Batches:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.store = BatchStore(client.database)
        self.wishes = BatchWishes(self)
        self.copies: dict[int, BatchCopy] = {}
        self.news: dict[int, None] = {}  # jobs that have changed, until somebody has taken note of it
        self.notes: list[str] = []  # what happened that a person who waits should hear
        self._question: commands.StatesQuestion | None = None  # asked, and not yet answered
        self.still: set[int] = set()  # batches for which nothing more is submitted
        self.why_still: dict[int, str] = {}

    def close(self) -> None:
        """Nobody waits for SLURM's answer any more."""
        if self._question is not None:
            self._question.withdraw()
            self._question = None

    # -- looking ----------------------------------------------------------------------------------------------

    def refresh(self, every_s: float = NOW_AND_THEN_S, patience_s: float = PATIENCE_S) -> None:
        """Bring the copies of open batches up to date.

        `every_s`: how often SLURM is asked. `patience_s`: how long to wait for its answer; who comes again needs none.
        """
        open_batches = self.store.open_batches()
        changed = self._closed_by_others({host.id for host in open_batches})
        for host in open_batches:
            copy = self.copies.setdefault(host.id, BatchCopy(self.client, host))
            changed += copy.refresh()
        if open_batches:
            self._tend_if_due(every_s, patience_s)
        for host in open_batches:
            if self.copies[host.id].is_done():
                self._cancel_useless(self.copies[host.id].batch)
                self.copies.pop(host.id).close()
        if changed:
            self.news |= dict.fromkeys(changed)
            self.client.ring_all()  # somebody's job may have waited for one of these

    def _closed_by_others(self, open_ids: set[int]) -> list[int]:
        """Another command was the first to see the end of these: the jobs of which we did not know it."""
        closed = [host_id for host_id in self.copies if host_id not in open_ids]
        return [job_id for host_id in closed for job_id in self.copies.pop(host_id).changes()]

    # -- tending ----------------------------------------------------------------------------------------------

    def _tend_if_due(self, every_s: float, patience_s: float) -> None:
        asked_mono, pause_s = self.store.last_asked()
        # One that has not come yet is of an earlier boot.
        if self._question is not None or not 0 <= time.monotonic() - asked_mono < max(every_s, pause_s):
            self._tend(pause_s, patience_s)

    def _tend(self, pause_s: float, patience_s: float) -> None:
        """Ask SLURM once for all batches; when it does not answer, nothing is concluded and it is left alone longer."""
        try:
            self._question = self._question or commands.StatesQuestion()
            states = self._question.answer(patience_s)
            if states is None:
                if patience_s:
                    self._question.withdraw()
                    raise commands.NoAnswer(f"squeue has not answered within {patience_s:g} s.")
                return
            self._question = None
            for copy in self.copies.values():
                self._tend_one(copy, states)
            pause_s = 0.0
        except commands.NoAnswer as error:
            self._question = None
            self.notes.append(str(error))
            pause_s = min(max(pause_s * 2, 2.0), _LONGEST_PAUSE_S)
        except UsageError as error:  # SLURM is not here, or refuses: to say so again and again helps nobody
            self.notes.append(str(error))
            pause_s = _LONGEST_PAUSE_S
        with self.client.database.transaction():
            self.store.note_asked(pause_s)

    def _tend_one(self, copy: BatchCopy, states: dict[str, str]) -> None:
        tending = Tending(copy.batch)
        tending.look(states)
        lapsed = tending.lapse()
        if lapsed:
            self.notes.append(f"{len(lapsed)} interrupted runs wait again: their SLURM job has ended.")
            tending.claims.look()
        if not tending.claims.free():
            return
        why_still = tending.stands_still()
        if why_still:
            self.still.add(copy.host.id)
            self.why_still[copy.host.id] = why_still
            return
        self.still.discard(copy.host.id)
        jobs = tending.submit_missing()
        if jobs:
            self.notes.append(f"SLURM jobs submitted: {', '.join(jobs[:5])}{' ...' if len(jobs) > 5 else ''}.")

    def _cancel_useless(self, batch: Batch) -> None:
        if not os.path.exists(batch.folder):
            return
        try:
            Tending(batch).cancel_useless()
        except (commands.NoAnswer, UsageError):
            pass  # they find nothing to take, and end

    def start(self, host_id: int) -> list[str]:
        """Submit what is missing, also where somebody has cancelled everything."""
        tending = Tending(Batch(self.client.hosts.get(host_id).source))
        tending.look(commands.states_of_jobs())
        tending.lapse()
        tending.claims.look()
        return tending.submit_missing()

    def abandoned(self, ids: Sequence[int]) -> list[int]:
        """Those that wait in a batch for which nothing more is submitted, by what SLURM says now."""
        batch_of = {job_id: batch for job_id, (batch, _) in self.of_jobs(ids).items()}
        began = time.monotonic()
        while batch_of and not self._asked_since(began) and time.monotonic() < began + _ANSWER_S:
            self.refresh(every_s=0.0)
            time.sleep(_LOOK_S)
        return [job_id for job_id, batch in batch_of.items() if batch in self.still]

    def _asked_since(self, mono: float) -> bool:
        return mono <= self.store.last_asked()[0] <= time.monotonic()

    def of_jobs(self, ids: Sequence[int]) -> dict[int, tuple[int, int]]:
        """Job -> (batch, run), of those that are runs of batches."""
        return self.store.of_jobs(ids)
