"""The status of batches in words: why their runs are stuck, and what to type."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from duckrow.store.batches import BatchRow, BatchStore, Standing

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.api.session import Session

_NAMED = 3


def start_command(batch: str) -> str:
    return f"duckrow batches {batch} --start"


def jobs_in_words(standing: Standing | None) -> str:
    """`12_0, 12_1 run; 3 wait (Resources)`: the cluster jobs of a batch."""
    if standing is None:
        return "-"
    parts = [f"{_some(standing.running)} run"] if standing.running else []
    for reason in dict.fromkeys(standing.waiting.values()):
        jobs = [job for job, why in standing.waiting.items() if why == reason]
        parts.append(f"{_some(jobs)} wait{f' ({reason})' if reason else ''}")
    return "; ".join(parts) or "-"


def _some(jobs: Sequence[str]) -> str:
    return ", ".join(jobs) if len(jobs) <= _NAMED else str(len(jobs))


def groups_in_words(standing: Standing | None) -> list[str]:
    """If the runs of a batch have different requests: each request with its cluster jobs."""
    groups = standing.groups if standing is not None else ()
    return [
        f"{group.asks}: {jobs_in_words(standing.of_group(number))}" + (f" ({group.still})" if group.still else "")
        for number, group in enumerate(groups)
        if standing is not None
    ]


def why_it_waits(batch: str, standing: Standing | None, detail: str = "", asks: str = "") -> list[str]:
    """Why a run of a batch has not started. `standing`: of the runs with the same request; `asks`: that request."""
    if standing is not None and standing.still:
        return [f"its batch {batch} is stuck: {standing.still}. Type: {start_command(batch)}"]
    note = f" ({detail})" if detail else ""
    for_it = f" with {asks}" if asks else ""
    sentences = [f"it waits for a SLURM job of batch {batch}{for_it} to take it{note}"]
    jobs = jobs_in_words(standing)
    sentences.append(f"SLURM jobs: {jobs}" if jobs != "-" else "no SLURM job of it is known yet: duckrow batches")
    if standing is not None:
        sentences += held_jobs(standing.held)
    return sentences


def held_jobs(held: Mapping[str, str]) -> list[str]:
    return [f"SLURM holds job {job} ({reason}); it is replaced: duckrow batches" for job, reason in held.items()]


def standing_still(session: Session, host_ids: Collection[int]) -> list[str]:
    """A sentence for each of these batches that is stuck, because nothing more is submitted for it."""
    return [
        f"Batch {batch.name} is stuck: {why}. Still waiting. Type: {start_command(batch.name)}"
        for batch, why in _still(session)
        if batch.id in host_ids
    ]


def _still(session: Session) -> list[tuple[BatchRow, str]]:
    """The batches for which nothing more is submitted, and why."""
    store = BatchStore(session.database)
    why = {batch_id: standing.still for batch_id, standing in store.standings().items() if standing.still}
    return [(batch, why[batch.id]) for batch in store.among(why).values()] if why else []


def still_note(session: Session) -> str:
    """The same for a list of jobs, as the end of a sentence."""
    names = [batch.name for batch, _ in _still(session)]
    if not names:
        return ""
    what = f"batch {names[0]} is stuck" if len(names) == 1 else f"{len(names)} batches are stuck"
    return f"; {what} ({start_command(names[0])})"
