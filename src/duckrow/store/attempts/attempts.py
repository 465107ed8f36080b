"""Attempts from start to end, as the host that watches them records them."""

from __future__ import annotations

import time

from duckrow.core.clock import Now
from duckrow.core.jobs.attempt import Exit, FirstProcess, LiveAttempt, Stop
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.life.states import Outcome, State
from duckrow.store.attempts.attempt_key import key_of
from duckrow.store.attempts.reservation_json import reservations_from, text_of
from duckrow.store.jobs.columns import LISTS
from duckrow.store.jobs.queue import queued_job
from duckrow.store.life.delays import delayed
from duckrow.store.life.moves import MoveStore
from duckrow.store.life.suspension import suspended_since
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database, from_sql, to_sql

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

_SQL = load_queries("attempts", LISTS)


class AttemptStore:
    def __init__(self, database: Database, host_id: int, moves: MoveStore) -> None:
        self._database = database
        self._host_id = host_id
        self._moves = moves

    # -- their life -------------------------------------------------------------------------------------------

    def start(self, attempt: LiveAttempt) -> None:
        self._moves.start(attempt.job.id, attempt.started_at)
        self._database.execute(
            _SQL["insert_attempt"],
            {
                "job_id": attempt.job.id,
                "number": attempt.number,
                "host_id": self._host_id,
                "keeper": attempt.keeper,
                "holds": text_of(attempt.holds),
                "log": to_sql(attempt.log),
                "wall": attempt.started.wall,
                "mono": attempt.started.mono,
                "boot": attempt.started.boot,
            },
        )

    def running(self, attempt: LiveAttempt, at: float) -> None:
        """It runs. It began at its `started` at the earliest, which may be later than when it was ordered."""
        values = {**key_of(attempt), "pid": attempt.pid, "process": attempt.process}
        self._database.execute(_SQL["set_pid"], {**values, **attempt.started._asdict()})
        self._move(attempt, State.RUNNING, at, "")

    def stopping(self, attempt: LiveAttempt, stopped_for: Outcome | None, now: Now, detail: str) -> None:
        self._database.execute(
            _SQL["begin_stop"], {**key_of(attempt), "stopped_for": stopped_for, "wall": now.wall, "mono": now.mono}
        )
        if attempt.state is not State.STOPPING:
            self._move(attempt, State.STOPPING, now.wall, detail)

    def note_exit(self, attempt: LiveAttempt) -> None:
        """Keep its exit code or signal while leftovers of the attempt are still there."""
        self._database.execute(
            _SQL["note_exit"], {**key_of(attempt), "exit_code": attempt.exit_code, "signal": attempt.signal}
        )

    def finish(self, attempt: LiveAttempt, outcome: Outcome, at: float, detail: str) -> bool:
        """Close the attempt's row; False if somebody else already has."""
        closed = self._database.execute(
            _SQL["finish_attempt"],
            {
                "job_id": attempt.job.id,
                "number": attempt.number,
                "at": at,
                "exit_code": attempt.exit_code,
                "signal": attempt.signal,
                "outcome": outcome,
                "detail": detail,
                "pid": attempt.pid,
                "log": to_sql(attempt.log),
                "started_at": attempt.started_at,
                "host_peak_mb": None if attempt.end is None else attempt.end.host_peak_mb,
            },
        )
        return closed.rowcount == 1

    def unstart(self, attempt: LiveAttempt, wait_s: float, now: Now, detail: str) -> None:
        """An attempt that never began leaves no trace but this event."""
        not_before = delayed(wait_s, now.wall, now.boot)
        job = attempt.job
        self._moves.requeue(job.id, attempt.state, job.retries_used, now.wall, detail, not_before, job.losses)
        self._database.execute(_SQL["uncount_attempt"], {"job_id": job.id})
        self._database.execute(_SQL["delete_attempt"], key_of(attempt))

    def _move(self, attempt: LiveAttempt, after: State, at: float, detail: str) -> None:
        self._moves.move(attempt.job.id, attempt.state, after, at, detail)
        attempt.move_to(after)

    # -- who watches them -------------------------------------------------------------------------------------

    def live(self) -> list[tuple[int, LiveAttempt]]:
        return live_attempts(self._database)

    def take_over(self, attempt: LiveAttempt, from_host_id: int) -> bool:
        """Watch an attempt of a dead host; False if another host was quicker."""
        taken = self._database.execute(
            _SQL["take_over"], {**key_of(attempt), "host_id": self._host_id, "from_host_id": from_host_id}
        )
        return taken.rowcount == 1

    def keepers_in_use(self) -> set[str]:
        return {row[0] for row in self._database.all(_SQL["keepers_in_use"])}

    def restate_start(self, attempt: LiveAttempt) -> None:
        """The wall clock was set: record when it started by the clock as it is now."""
        self._database.execute(_SQL["restate_start"], {**key_of(attempt), "started_at": attempt.started_at})


def live_attempts(database: Database) -> list[tuple[int, LiveAttempt]]:
    """Every attempt that holds devices, with the host that watches it."""
    now = {"wall": time.time(), "mono": time.monotonic(), "boot": time.clock_gettime(time.CLOCK_BOOTTIME)}
    rows = database.execute(_SQL["live_attempts_of_hosts"], now)
    return [(row["watcher_id"], _live_attempt(row)) for row in rows]


def _live_attempt(row: Any) -> LiveAttempt:
    stopped_for, stop_began = row["stopped_for"], row["stop_began_mono"]
    return LiveAttempt(
        number=row["number"],
        job=queued_job(row[name] for name in QueuedJob._fields),
        keeper=row["keeper"],
        holds=reservations_from(row["holds"]),
        started=Now(row["started_at"], row["started_mono"], row["started_boot"]),
        log=from_sql(row["log"]),
        job_host_id=row["job_host_id"],
        state=State(row["state"]),
        first=FirstProcess(row["pid"], row["process"]) if row["pid"] is not None or row["process"] else None,
        stop=None if stop_began is None else Stop(None if stopped_for is None else Outcome(stopped_for), stop_began),
        suspended_mono=None if row["suspended"] is None else suspended_since(row["suspended"]),
        end=_exit(row["exit_code"], row["signal"]),
    )


def _exit(code: int | None, number: int | None) -> Exit | None:
    return None if code is None and number is None else Exit(code, number)
