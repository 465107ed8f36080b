"""How statements name an attempt: by its job and its number."""

from __future__ import annotations

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.core.jobs.attempt import LiveAttempt


def key_of(attempt: LiveAttempt) -> dict[str, int]:
    return {"job_id": attempt.job.id, "number": attempt.number}
