"""What the scheduler reads and writes in a tick. Each call is part of the tick's one transaction."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from duckrow.core.clock import Now
from duckrow.core.dependency import in_words, is_met
from duckrow.core.errors import IllegalTransition
from duckrow.core.job import LiveAttempt, QueuedJob
from duckrow.core.lifecycle import Outcome, State, check_transition
from duckrow.core.needs import Needs, needs_from
from duckrow.core.retry import Verdict
from duckrow.core.use import Point, Use
from duckrow.store.connection import load_queries
from duckrow.store.database import Database, from_sql, to_sql
from duckrow.store.delays import NotBefore, delayed
from duckrow.store.job_columns import LISTS
from duckrow.store.suspension import standing_wish, suspended_since

_SQL = load_queries("scheduler", LISTS)
Holds = tuple[tuple[str, int], ...]


class TickStore:
    def __init__(self, database: Database, host_id: int) -> None:
        self.database = database
        self.host_id = host_id
        self._holds_text: dict[Holds, str] = {}
        self._any_dependencies = True

    # -- observe ----------------------------------------------------------------------------------------------

    def eligible(self, limit: int, full: Iterable[str] = ()) -> list[QueuedJob]:
        """The head of the queue, without the jobs of scopes that are full."""
        values = {"host_id": self.host_id, "limit": limit, "full": json.dumps(sorted(full))}
        rows = self.database.execute(_SQL["eligible"], values)
        return [_queued_job(row) for row in rows]

    def foreign_holds(self) -> list[Holds]:
        """What the attempts of other hosts hold."""
        rows = self.database.execute(_SQL["foreign_holds"], {"host_id": self.host_id})
        return [_holds(row[0]) for row in rows]

    def foreign_needs(self) -> list[Needs]:
        """What the attempts of other hosts have asked for, besides devices."""
        rows = self.database.execute(_SQL["foreign_needs"], {"host_id": self.host_id})
        return [needs_from(row[0]) for row in rows]

    def live_attempts(self) -> list[tuple[int, LiveAttempt]]:
        """Every attempt that holds devices, with the host that watches it."""
        now = {"wall": time.time(), "mono": time.monotonic(), "boot": time.clock_gettime(time.CLOCK_BOOTTIME)}
        rows = self.database.execute(_SQL["live_attempts_of_hosts"], now)
        return [(row["watcher_id"], _live_attempt(row)) for row in rows]

    def look_for_dependencies(self) -> None:
        """Whether any job waits for another: only others add such, so it is enough to look when they have written."""
        self._any_dependencies = bool(self.database.execute(_SQL["any_dependencies"]).fetchone()[0])

    def limits(self) -> dict[str, int]:
        """How many jobs of a scope may run at a time."""
        return {row[0]: row[1] for row in self.database.execute(_SQL["limits"])}

    def device_wishes(self) -> dict[str, str]:
        return {row[0]: row[1] for row in self.database.execute(_SQL["device_wishes"])}

    def forget_device_wish(self, device: str) -> None:
        self.database.execute(_SQL["forget_device_wish"], {"device": device})

    def peaks(self) -> dict[tuple[str, str], int]:
        """What each recipe has taken at most on each model of GPU."""
        rows = self.database.execute(_SQL["peaks"])
        return {(row["recipe"], row["model"]): row["peak_mb"] for row in rows}

    def looked_at_until(self) -> float:
        """Until when somebody looks at the GPUs, by the monotonic clock."""
        row = self.database.execute(_SQL["looked_at_until"]).fetchone()
        return float(row[0]) if row else 0.0

    def wishes(self) -> list[tuple[int, int, str, int, State]]:
        """(wish id, job, wish, the job's host, its state)."""
        return [
            (row["id"], row["job_id"], row["wish"], row["host_id"], State(row["state"]))
            for row in self.database.execute(_SQL["wishes"])
        ]

    def unfinished(self) -> bool:
        """Whether any job of this host is not done."""
        return bool(self.database.one(_SQL["unfinished"], {"host_id": self.host_id}))

    def paused_projects(self) -> list[str]:
        """The pauses for which jobs of this host wait; the empty name stands for the pause of all."""
        return [row[0] for row in self.database.all(_SQL["paused_projects"], {"host_id": self.host_id})]

    def keepers_in_use(self) -> set[str]:
        return {row[0] for row in self.database.all(_SQL["keepers_in_use"])}

    def environment(self, environment_id: int) -> dict[str, str]:
        text = self.database.one(_SQL["environment"], {"id": environment_id})
        variables: dict[str, str] = json.loads(text)
        return variables

    # -- record -----------------------------------------------------------------------------------------------

    def start(self, attempts: Iterable[LiveAttempt]) -> None:
        for attempt in attempts:
            moved = self.database.execute(_SQL["start_job"], {"job_id": attempt.job.id, "at": attempt.started_at})
            self._expect_moved(moved.rowcount, attempt.job.id, State.QUEUED, State.STARTING)
            self.database.execute(
                _SQL["insert_attempt"],
                {
                    "job_id": attempt.job.id,
                    "number": attempt.number,
                    "host_id": self.host_id,
                    "keeper": attempt.keeper,
                    "holds": self._text_of(attempt.holds),
                    "log": to_sql(attempt.log),
                    "wall": attempt.started.wall,
                    "mono": attempt.started.mono,
                    "boot": attempt.started.boot,
                },
            )

    def running(self, attempt: LiveAttempt, at: float) -> None:
        values = {**_key(attempt), "pid": attempt.pid, "process": attempt.process}
        self.database.execute(_SQL["set_pid"], values)
        self._move(attempt, State.RUNNING, at, "")

    def stopping(self, attempt: LiveAttempt, stopped_for: Outcome | None, now: Now, detail: str) -> None:
        self.database.execute(
            _SQL["begin_stop"], {**_key(attempt), "stopped_for": stopped_for, "wall": now.wall, "mono": now.mono}
        )
        if attempt.state is not State.STOPPING:
            self._move(attempt, State.STOPPING, now.wall, detail)

    def note_use(self, attempt: LiveAttempt, use: Use) -> None:
        """What was seen of its memory and of how busy its GPUs were."""
        values = {"peak_mb": use.peak_mb, "utilization": use.utilization, "curve": json.dumps(use.curve)}
        self.database.execute(_SQL["note_use"], {**_key(attempt), **values})

    def restate_start(self, attempt: LiveAttempt) -> None:
        """The wall clock was set: when it started, by the clock as it is now."""
        self.database.execute(_SQL["restate_start"], {**_key(attempt), "started_at": attempt.started_at})

    def restate_host(self, step_s: float) -> None:
        """The same for this host."""
        self.database.execute(_SQL["restate_host"], {"host_id": self.host_id, "step_s": step_s})

    def forget_readings(self) -> None:
        """The machine was booted again: what was read of GPUs before says nothing."""
        self.database.execute(_SQL["forget_readings"])

    def curve(self, attempt: LiveAttempt) -> list[Point]:
        """What an earlier host has seen of it."""
        text = self.database.execute(_SQL["curve"], _key(attempt)).fetchone()[0]
        return [(at, mb, busy) for at, mb, busy in json.loads(text or "[]")]

    def set_holds(self, attempt: LiveAttempt) -> None:
        self.database.execute(_SQL["set_holds"], {**_key(attempt), "holds": self._text_of(attempt.holds)})

    def set_needs(self, job_id: int, needs: Needs) -> None:
        """What a job has learned about itself."""
        self.database.execute(_SQL["set_needs"], {"job_id": job_id, "needs": needs.as_text()})

    def learn(self, recipe: str, model: str, peak_mb: int) -> None:
        values = {"recipe": to_sql(recipe), "model": model, "peak_mb": peak_mb, "at": time.time()}
        self.database.execute(_SQL["learn"], values)

    def keep_reading(self, device: str, at: float, reading: Mapping[str, Any]) -> None:
        values = {"device": device, "at": at, "reading": json.dumps(reading)}
        self.database.execute(_SQL["keep_reading"], values)

    def note(self, attempt: LiveAttempt, detail: str, at: float) -> bool:
        """Something worth knowing of an attempt that goes on, once: an event without a move; False if there is one."""
        values = {**_key(attempt), "state": attempt.state, "detail": detail}
        noted = self.database.execute(_SQL["note_event"], {**values, "at": at}).rowcount == 1
        if noted:
            self.database.execute(_SQL["set_detail"], values)
        return noted

    def suspend(self, attempt: LiveAttempt, by_itself: bool, at: float) -> None:
        """It stays suspended, also when this host ends. `by_itself`: it was paused alone, not with the queue."""
        assert attempt.suspended_mono is not None
        if not self.database.execute(_SQL["end_suspension"], {"job_id": attempt.job.id}).rowcount:
            self._note_suspension(attempt, "suspended", at)
        wish = standing_wish(attempt.suspended_mono, by_itself)
        self.database.execute(_SQL["stay_suspended"], {"job_id": attempt.job.id, "wish": wish, "at": at})

    def resume(self, attempt: LiveAttempt, at: float) -> None:
        """It goes on, and its time limit with it: the time of its start was moved on by as long as it was suspended."""
        self.end_suspension(attempt)
        self.database.execute(_SQL["restart_limit"], {**_key(attempt), "started_mono": attempt.started.mono})
        self._note_suspension(attempt, "resumed", at)

    def end_suspension(self, attempt: LiveAttempt) -> None:
        self.database.execute(_SQL["end_suspension"], {"job_id": attempt.job.id})

    def _note_suspension(self, attempt: LiveAttempt, detail: str, at: float) -> None:
        values = {**_key(attempt), "state": attempt.state, "detail": detail, "at": at}
        self.database.execute(_SQL["note_suspension"], values)

    def hold(self, job_id: int) -> None:
        """One that waits: it does not start until it is released."""
        self.database.execute(_SQL["hold"], {"job_id": job_id})

    def note_exit(self, attempt: LiveAttempt) -> None:
        """Keep what the kernel said while leftovers of the attempt are still there."""
        self.database.execute(
            _SQL["note_exit"], {**_key(attempt), "exit_code": attempt.exit_code, "signal": attempt.signal}
        )

    def finish_attempt(self, attempt: LiveAttempt, outcome: Outcome, at: float, detail: str) -> bool:
        """Close the attempt's row; False if somebody else already has."""
        closed = self.database.execute(
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
                "host_peak_mb": attempt.host_peak_mb,
            },
        )
        return closed.rowcount == 1

    def finish_job(self, job_id: int, before: State, outcome: Outcome, at: float, detail: str) -> bool:
        """The end of a job; says whether that is of concern to jobs that waited for it."""
        check_transition(job_id, before, State.DONE)
        moved = self.database.execute(
            _SQL["finish_job"],
            {"job_id": job_id, "before": before, "outcome": outcome, "at": at, "detail": detail},
        )
        self._expect_moved(moved.rowcount, job_id, before, State.DONE)
        return self._settle_dependents(job_id, outcome, at)

    def _settle_dependents(self, job_id: int, outcome: Outcome, at: float) -> bool:
        """Those that waited for this end go on, are skipped, or wait on, as was asked for; False if there are none."""
        if not self._any_dependencies:
            return False
        dependents = self.database.execute(_SQL["dependents"], {"job_id": job_id}).fetchall()
        for row in dependents:
            if is_met(row["condition"], outcome):
                self.database.execute(_SQL["meet_dependency"], {"job_id": row["job_id"], "on_job_id": job_id})
                self.database.execute(_SQL["unblock"], {"job_id": row["job_id"]})
            elif row["state"] == State.QUEUED and row["if_broken"] == "skip":
                why = f"it waited for {in_words(row['condition'], job_id)}, which has {outcome}"
                self.finish_job(row["job_id"], State.QUEUED, Outcome.SKIPPED, at, why)
        return bool(dependents)

    def requeue_job(self, job: QueuedJob, before: State, verdict: Verdict, now: Now) -> None:
        not_before = delayed(verdict.wait_s, now.wall, now.boot)
        losses = job.losses + 1 if verdict.is_loss else 0
        retries_used = job.retries_used + verdict.uses_retry
        self._requeue(job.id, before, not_before, retries_used, now.wall, verdict.detail, losses)

    def unstart(self, attempt: LiveAttempt, wait_s: float, now: Now, detail: str) -> None:
        """An attempt that never began leaves no trace but this event."""
        not_before = delayed(wait_s, now.wall, now.boot)
        job = attempt.job
        self._requeue(job.id, attempt.state, not_before, job.retries_used, now.wall, detail, job.losses)
        self.database.execute(_SQL["uncount_attempt"], {"job_id": attempt.job.id})
        self.database.execute(_SQL["delete_attempt"], _key(attempt))

    def rerun(self, job_id: int, at: float, new_host_id: int) -> None:
        """Queue it again, and those that were skipped because of how it had ended."""
        self._again(job_id, at, new_host_id, 0, "rerun asked for")

    def go_back(self, job_id: int, attempt: int, retries_used: int, at: float, detail: str) -> State | None:
        """Undo what followed from this failure of a job of ours: it waits again. What it was; None: it is too late."""
        values = {"job_id": job_id, "attempt": attempt, "retries_used": retries_used, "detail": detail}
        row = self.database.execute(_SQL["failed_attempt"], values).fetchone()
        if row is None:
            return None
        if row["state"] == State.QUEUED:  # for a retry, which is not needed for this
            self.database.execute(_SQL["spare_retry"], values)
        else:
            self._again(job_id, at, self.host_id, retries_used, detail)
        return State(row["state"])

    def _again(self, job_id: int, at: float, new_host_id: int, retries_used: int, detail: str) -> None:
        self._requeue(job_id, State.DONE, (None, None, None), retries_used, at, detail)
        # A run on a cluster goes back into its batch, whoever else has a host in mind.
        self.database.execute(_SQL["rehost_again"], {"job_id": job_id, "host_id": new_host_id})
        self.database.execute(_SQL["reopen_batch"], {"job_id": job_id})
        for (dependent,) in self.database.execute(_SQL["chain"], {"job_id": job_id}).fetchall():
            key = {"job_id": job_id, "dependent": dependent}
            self.database.execute(_SQL["unmeet_dependencies"], key)
            self.database.execute(_SQL["count_blockers"], {"job_id": dependent})
            self._again(dependent, at, new_host_id, 0, detail)

    def unfinished_jobs(self) -> list[tuple[int, State]]:
        """(job, state) of each job of this host that is not done."""
        rows = self.database.execute(_SQL["unfinished_jobs"], {"host_id": self.host_id})
        return [(row["id"], State(row["state"])) for row in rows]

    def rehost(self, job_ids: Iterable[int]) -> None:
        """Take jobs that wait for a dead host."""
        values = [{"id": job_id, "host_id": self.host_id} for job_id in job_ids]
        self.database.execute_many(_SQL["rehost"], values)

    def skip_queued(self, job_ids: Iterable[int], at: float, detail: str) -> None:
        """Leave these jobs out, but for those that have been started meanwhile."""
        self.database.execute_many(
            _SQL["finish_job"],
            [
                {"job_id": job_id, "before": State.QUEUED, "outcome": Outcome.SKIPPED, "at": at, "detail": detail}
                for job_id in job_ids
            ],
        )

    def take_over(self, attempt: LiveAttempt, from_host_id: int) -> bool:
        """Watch an attempt of a dead host; False if another host was quicker."""
        taken = self.database.execute(
            _SQL["take_over"], {**_key(attempt), "host_id": self.host_id, "from_host_id": from_host_id}
        )
        return taken.rowcount == 1

    def forget_wish(self, wish_id: int) -> None:
        self.database.execute(_SQL["forget_wish"], {"id": wish_id})

    # -- helpers ----------------------------------------------------------------------------------------------

    def _move(self, attempt: LiveAttempt, after: State, at: float, detail: str) -> None:
        self.move(attempt.job.id, attempt.state, after, at, detail)
        attempt.state = after

    def move(self, job_id: int, before: State, after: State, at: float, detail: str) -> None:
        check_transition(job_id, before, after)
        moved = self.database.execute(
            _SQL["move_job"], {"job_id": job_id, "before": before, "after": after, "at": at, "detail": detail}
        )
        self._expect_moved(moved.rowcount, job_id, before, after)

    def _requeue(
        self,
        job_id: int,
        before: State,
        not_before: NotBefore,
        retries_used: int,
        at: float,
        detail: str,
        losses: int = 0,
    ) -> None:
        check_transition(job_id, before, State.QUEUED)
        moved = self.database.execute(
            _SQL["requeue_job"],
            {
                "job_id": job_id,
                "before": before,
                "not_before": not_before[0],
                "not_before_boot": not_before[1],
                "boot_id": not_before[2],
                "retries_used": retries_used,
                "losses": losses,
                "at": at,
                "detail": detail,
            },
        )
        self._expect_moved(moved.rowcount, job_id, before, State.QUEUED)

    def _expect_moved(self, rowcount: int, job_id: int, before: State, after: State) -> None:
        """Every move is a compare-and-set: the job must have been where we thought it was."""
        if rowcount == 1:
            return
        events = self.database.execute("SELECT before, after FROM events WHERE job_id = ? ORDER BY number", (job_id,))
        story = ", ".join(f"{event['before']} to {event['after']}" for event in events)
        raise IllegalTransition(f"Job {job_id} was not {before} when it was to become {after}. Its story: {story}.")

    def _text_of(self, holds: Holds) -> str:
        if holds not in self._holds_text:
            self._holds_text[holds] = json.dumps(holds)
        return self._holds_text[holds]


def _key(attempt: LiveAttempt) -> dict[str, int]:
    return {"job_id": attempt.job.id, "number": attempt.number}


def _holds(text: str) -> Holds:
    return tuple((device, share) for device, share in json.loads(text))


def _queued_job(values: Iterable[Any]) -> QueuedJob:
    return QueuedJob._make([from_sql(value) if value.__class__ is bytes else value for value in values])


def _live_attempt(row: Any) -> LiveAttempt:
    stopped_for = row["stopped_for"]
    return LiveAttempt(
        number=row["number"],
        job=_queued_job(row[name] for name in QueuedJob._fields),
        keeper=row["keeper"],
        holds=_holds(row["holds"]),
        started=Now(row["started_at"], row["started_mono"], row["started_boot"]),
        log=from_sql(row["log"]),
        job_host_id=row["job_host_id"],
        state=State(row["state"]),
        pid=row["pid"],
        process=row["process"],
        stopped_for=None if stopped_for is None else Outcome(stopped_for),
        stop_began_mono=row["stop_began_mono"],
        suspended_mono=None if row["suspended"] is None else suspended_since(row["suspended"]),
        exit_code=row["exit_code"],
        signal=row["signal"],
    )
