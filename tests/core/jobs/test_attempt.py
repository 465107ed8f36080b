"""An attempt while it lives: its number, and when its time limit is over."""

from __future__ import annotations

from tests.core.language import attempt, job


def test_every_attempt_of_every_job_has_a_number_of_its_own() -> None:
    attempts = [attempt(job(id=job_id), number=number) for job_id in (1, 2, 3) for number in (1, 2, 999)]
    assert len({each.id for each in attempts}) == len(attempts)


def test_the_deadline_counts_from_the_start() -> None:
    assert attempt(job(timeout_s=60.0), started_mono=1000.0).deadline_mono == 1060.0
    assert attempt(job(timeout_s=0.0), started_mono=1000.0).deadline_mono == 1000.0
    assert attempt(job()).deadline_mono is None
