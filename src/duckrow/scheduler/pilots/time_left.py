"""How much time a pilot has left, and which runs fit into it."""

from __future__ import annotations

import time

from duckrow.clusters.port import OwnJob
from duckrow.core.clusters.time_left import any_fits, fits, length_to_fit
from duckrow.core.jobs.job import JobSpec, as_queued
from duckrow.core.schedule.run_times import RunTimes


class PilotTime:
    def __init__(self, own_job: OwnJob, margin_s: float) -> None:
        """`margin_s`: kept free before the limit, for the cluster and for us."""
        self._own_job, self._margin_s = own_job, margin_s
        self._whole_s: float | None = None  # what was left when we asked
        self._asked_mono: float | None = None
        self._times = RunTimes()
        self.refused = False  # there was a run that did not fit

    def ask_once(self) -> None:
        """Ask the cluster, unless we have. Best while runs are running: it may be slow to answer."""
        if self._asked_mono is None:
            self._asked_mono = time.monotonic()
            left_s = self._own_job.time_left_s()
            self._whole_s = None if left_s is None else max(left_s - self._margin_s, 0.0)

    def fits(self, spec: JobSpec, asked_s: float | None = None) -> bool:
        """Whether to begin it here, judged by its time limit or by how long similar runs took.

        `asked_s`: how much time it asked for, if that is less than our total.
        """
        if self._asked_mono is not None and any_fits(self._left_s(), self._whole_s):
            return True  # to judge takes longer than to take a run
        expected_s = length_to_fit(self._times.expected(as_queued(spec, 0)), spec.timeout_s or asked_s)
        if expected_s is None:
            return True
        fit = fits(expected_s, self._left_s(), self._whole_s)
        self.refused |= not fit
        return fit

    def _left_s(self) -> float | None:
        self.ask_once()
        assert self._asked_mono is not None
        return None if self._whole_s is None else self._whole_s - (time.monotonic() - self._asked_mono)

    def took(self, spec: JobSpec, length_s: float) -> None:
        """It succeeded after this time."""
        self._times.note(as_queued(spec, 0), length_s)
