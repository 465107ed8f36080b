"""How much time a pilot has left, and which runs fit into it."""

from __future__ import annotations

import time

from duckrow.clusters.port import OwnJob
from duckrow.core.clusters.time_left import fits, length_to_fit
from duckrow.core.jobs.job import JobSpec, as_queued
from duckrow.core.schedule.run_times import RunTimes


class PilotTime:
    def __init__(self, own_job: OwnJob, margin_s: float) -> None:
        """`margin_s`: kept free before the limit, for the cluster and for us."""
        left_s = own_job.time_left_s()
        self._whole_s = None if left_s is None else max(left_s - margin_s, 0.0)
        self._began_mono = time.monotonic()
        self._times = RunTimes()
        self.refused = False  # there was a run that did not fit

    def fits(self, spec: JobSpec, asked_s: float | None = None) -> bool:
        """Whether to begin it here, judged by its time limit or by how long similar runs took.

        `asked_s`: how much time it asked for, if that is less than our total.
        """
        left_s = None if self._whole_s is None else self._whole_s - (time.monotonic() - self._began_mono)
        expected = self._times.expected(as_queued(spec, 0))
        fit = fits(length_to_fit(expected, spec.timeout_s or asked_s), left_s, self._whole_s)
        self.refused |= not fit
        return fit

    def took(self, spec: JobSpec, length_s: float) -> None:
        """It succeeded after this time."""
        self._times.note(as_queued(spec, 0), length_s)
