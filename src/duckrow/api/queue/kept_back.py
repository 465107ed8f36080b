"""Tells people who wait for jobs that a person keeps some of them back, and what to type."""

from __future__ import annotations

from _thread import allocate_lock  # threading takes longer to load than this module
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from duckrow.core.life.failures import compact_ids

if TYPE_CHECKING:
    from duckrow.api.session import Session


# Jobs that this process holds, with their state folders. It releases or kills them itself: nobody else need do that.
_held_here: set[tuple[str, int]] = set()
_lock = allocate_lock()


def note_held(home: str, ids: Iterable[int]) -> None:
    """This process holds these, or is about to, and will release or kill them."""
    with _lock:
        _held_here.update((home, job_id) for job_id in ids)


def forget_held(home: str, ids: Iterable[int]) -> None:
    """It has released these, or never will."""
    with _lock:
        _held_here.difference_update((home, job_id) for job_id in ids)


def kept_back(session: Session, ids: Sequence[int]) -> list[str]:
    """In sentences: which of these jobs are held, suspended or in a paused queue. None of them ends by itself."""
    suspended = session.jobs.suspended().items() if ids else ()
    alone = {job_id for job_id, by_itself in suspended if by_itself}.intersection(ids)
    with_queue = {job_id for job_id, by_itself in suspended if not by_itself}.intersection(ids)
    with _lock:  # otherwise one could be released, and forgotten, after it was read as held
        held = [job_id for job_id in session.jobs.held_among(ids) if (session.home, job_id) not in _held_here]
    sentences = [_sentence(held, "held", "duckrow release")] if held else []
    sentences += [_sentence(alone, "suspended", "duckrow resume")] if alone else []
    return sentences + [_paused(project) for project in session.jobs.pauses_among(ids, with_queue)]


def _sentence(ids: Sequence[int] | set[int], how: str, verb: str) -> str:
    named = compact_ids(ids)
    are = f"Job {named} is" if len(ids) == 1 else f"Jobs {named} are"
    return f"{are} {how}. Still waiting. Type: {verb} {named}"


def _paused(project: str) -> str:
    from duckrow.core.life.pausing import resume_command

    what = f"The project {project}" if project else "The queue"
    return f"{what} is paused. Still waiting. Type: {resume_command(project)}"
