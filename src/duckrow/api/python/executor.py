"""The executor: jobs as the futures of `concurrent.futures`."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from duckrow.api.adding.options import read_options
from duckrow.api.call import each, words_of
from duckrow.api.calls.functions import Call, JobFailed, name_of
from duckrow.api.calls.signature import check_call, check_kind
from duckrow.api.client import Client
from duckrow.api.clusters.tender import rest_after
from duckrow.api.jobs.hold import set_held
from duckrow.api.jobs.kill import kill
from duckrow.api.python.handles import Job, open_client
from duckrow.api.python.lending import Lending
from duckrow.api.python.submission import submit_calls
from duckrow.api.queue.attendance import Attendance, warn
from duckrow.api.queue.kept_back import forget_held, note_held
from duckrow.api.queue.views import JobView, job_view
from duckrow.core.errors import BadValue, UsageError
from duckrow.core.life.states import State
from duckrow.store.folder.state_folder import state_folder

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from duckrow.api.adding.options import Options

T = TypeVar("T")
P = ParamSpec("P")

_LOOK_S = 0.02  # how often the watcher asks whether anything has changed
_ASK_CLUSTER_S = 3.0  # how often a cluster is asked, where jobs are on one
_AT_LEAST_S = 1.0  # how often it looks in any case
_SHARE = 5  # a look that takes long is followed by a rest that is this many times as long
_ONE_QUERY = 5000  # ids

# Options of Python's own executors, whose workers make many calls, and what to do here instead.
_OF_POOLS = {
    "initializer": "Do it at the beginning of the function.",
    "initargs": "Give them to the function.",
    "mp_context": "The process is always a new one.",
    "max_tasks_per_child": "It counts as 1.",
    "thread_name_prefix": "name= names the jobs.",
}


class JobFuture(concurrent.futures.Future[T]):
    """The future of a job, which it carries as `job`."""

    def __init__(self, job: Job[T]) -> None:
        super().__init__()
        self.job = job
        # A caller may cancel at the moment when the watcher reports the job as running.
        self._turn = threading.RLock()

    def cancel(self) -> bool:
        """Take the job out of the queue; False if it runs or is done."""
        cancel_all([self])
        return self.cancelled()

    def withdraw(self) -> bool:
        """Cancel only the future. If this returns True, the caller must kill the job."""
        with self._turn:
            if self.cancelled() or not super().cancel():
                return False
            self.set_running_or_notify_cancel()
            return True

    def follow(self, view: JobView) -> None:
        """Update the future from the job."""
        if not self._runs() or view.state != State.DONE:
            return
        try:
            value = self.job.result_of(view)
        except BaseException as error:  # raised by the function, so it may be any
            self.set_exception(error)
        else:
            self.set_result(value)

    def fail(self, error: BaseException) -> None:
        if self._runs():
            self.set_exception(error)

    def _runs(self) -> bool:
        """Mark it as running: it cannot be cancelled any more. False if it was cancelled or is done."""
        with self._turn:
            return not self.done() and (self.running() or self.set_running_or_notify_cancel())


def cancel_all(futures: Sequence[JobFuture[Any]]) -> None:
    """Leaves running and done jobs alone. It asks the jobs, as a future may not know yet that its job has started."""
    pending = {future.job.id: future for future in futures if not future.done()}
    if not pending:
        return
    with open_client(next(iter(pending.values())).job.home) as client:
        note_held(client.home, pending)
        waiting = set_held(client, list(pending), True)  # so that none of them starts meanwhile
        withdrawn = [job_id for job_id in waiting if pending[job_id].withdraw()]
        if withdrawn:
            kill(client, withdrawn, answered=False)
        left = sorted({*waiting} - {*withdrawn})  # such as one that waits for its next attempt
        if left:
            set_held(client, left, False)
        forget_held(client.home, pending.keys() - {*withdrawn})  # withdrawn ones stay held until they are killed


class Executor(concurrent.futures.Executor):
    """Runs functions as jobs, each in a process of its own, on a device of its own.

        with duckrow.Executor(gpus=1) as executor:
            losses = list(executor.map(train, [0.1, 0.01]))

    `max_workers`: how many of its jobs may run at a time; by default as many as there are devices. `engine`: local, or
    a cluster (`slurm`), where all calls of a `map` are one batch. The other options are those of `duckrow.submit`, for
    all of its jobs. If the caller dies, its jobs keep running.
    """

    def __init__(self, max_workers: int | None = None, *, engine: str = "local", **options: Unpack[Options]) -> None:
        is_number = isinstance(max_workers, int) and not isinstance(max_workers, bool)
        if max_workers is not None and (not is_number or max_workers < 1):
            raise BadValue(f"max_workers={max_workers!r}: max_workers must be greater than 0, and a whole number.")
        _refuse(options)
        self._request = read_options({"on": None if engine == "local" else engine, **options})
        if self._request.cluster is not None and max_workers is not None:
            raise UsageError('max_workers is for this machine. For a cluster, use slurm={"max_jobs": 2, ...}.')
        self._home = state_folder().root
        self._max_workers = max_workers
        self._lock = threading.Lock()
        self._pending: dict[int, JobFuture[Any]] = {}
        self._held: dict[int, None] = {}  # those of them that max_workers holds back, in order
        self._watcher: threading.Thread | None = None
        self._is_shut = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> JobFuture[T]:
        check_call(fn, args, kwargs)
        return self._add([self._call(fn, args, kwargs)])[0]

    def map(
        self, fn: Callable[..., T], *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[T]:
        """The results in the order of the arguments. `chunksize`: how many calls make one job."""
        if chunksize < 1:
            raise BadValue(f"chunksize={chunksize!r} must be a number of 1 or more.")
        until = None if timeout is None else time.monotonic() + timeout
        calls = list(zip(*iterables, strict=False))
        check_kind(fn)
        for args in calls:
            check_call(fn, args, {})
        if chunksize == 1:
            return _in_order(self._add([self._call(fn, args) for args in calls]), until)
        chunks = [calls[at : at + chunksize] for at in range(0, len(calls), chunksize)]
        futures = self._add([Call(each, (fn, chunk), {}, self._request.name or name_of(fn)) for chunk in chunks])
        return (value for values in _in_order(futures, until) for value in values)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._lock:
            self._is_shut = True
            futures = list(self._pending.values()) if cancel_futures else []
            watcher = self._watcher
        cancel_all(futures)
        if wait and watcher is not None:
            watcher.join()

    def _add(self, calls: Sequence[Call]) -> list[JobFuture[Any]]:
        with self._lock:
            if self._is_shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if not calls:
                return []
            room = self._room()
            jobs = submit_calls(self._request, calls, self._home, room)
            futures = [JobFuture(job) for job in jobs]
            self._pending.update((future.job.id, future) for future in futures)
            self._held.update((job.id, None) for job in jobs[room:] if room is not None)
            note_held(self._home, self._held)
            self._ensure_watcher()
        return futures

    def _call(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None) -> Call:
        return Call(fn, args, kwargs or {}, self._request.name or name_of(fn))

    def _room(self) -> int | None:
        """How many more jobs may run, if that is limited."""
        running = len(self._pending) - len(self._held)
        return None if self._max_workers is None else max(self._max_workers - running, 0)

    # -- the watcher: a thread that lives while there is something to wait for --------------------------------

    def _ensure_watcher(self) -> None:
        if self._watcher is None:
            # Somebody has to release held jobs. Otherwise a script may end while its jobs are still running.
            is_needless = self._max_workers is None
            self._watcher = threading.Thread(target=self._watch, name="duckrow-executor", daemon=is_needless)
            self._watcher.start()

    def _watch(self) -> None:
        try:
            with open_client(self._home) as client:
                attendance, lending = Attendance(client, warn), Lending(client, warn)
                try:
                    while True:
                        asked_s = self._look(client)
                        attendance.look(self._may_start())
                        lending.look(list(self._pending))
                        if not self._has_more():
                            return
                        _until_changed(client, rest_after(asked_s, _LOOK_S, _SHARE))
                finally:
                    lending.end()
        except Exception as error:  # any error: nobody may wait for ever
            self._give_up(error)

    def _may_start(self) -> list[int]:
        """Its jobs, but those that it holds back itself, and cancelled ones: of these there is nothing to tell."""
        with self._lock:
            return [id for id, future in self._pending.items() if id not in self._held and not future.cancelled()]

    def _has_more(self) -> bool:
        with self._lock:
            if not self._pending:
                self._watcher = None
            return bool(self._pending)

    def _look(self, client: Client) -> float:
        """Update all futures; returns how long the queries took, without the callers' callbacks."""
        began = time.monotonic()
        client.tender.see_to()
        with self._lock:
            pending = dict(self._pending)
        views: list[JobView] = []
        there: set[int] = set()
        for at in range(0, len(pending), _ONE_QUERY):
            ids = list(pending)[at : at + _ONE_QUERY]
            views += _begun(client, ids)
            there |= client.jobs.owners(ids).keys()
        asked_s = time.monotonic() - began
        gone = pending.keys() - there
        self._forget({*gone, *(view.id for view in views if view.state == State.DONE)})
        try:
            self._release(client)  # first: a callback may be slow
        finally:
            for view in views:
                pending.pop(view.id).follow(view)  # only the caller keeps a result
            for job_id in gone:
                pending[job_id].fail(JobFailed(f"Job {job_id} was removed before it had a result."))
        return asked_s

    def _forget(self, ids: Collection[int]) -> None:
        with self._lock:
            for job_id in ids:
                self._pending.pop(job_id, None)
                self._held.pop(job_id, None)
        forget_held(self._home, ids)

    def _release(self, client: Client) -> None:
        with self._lock:
            released = list(self._held)[: self._room()]
            for job_id in released:
                del self._held[job_id]
        if released:
            set_held(client, released, False)
            forget_held(self._home, released)

    def _give_up(self, error: Exception) -> None:
        with self._lock:
            futures = list(self._pending.values())
            self._pending.clear()
            forget_held(self._home, self._held)  # from now on, only a person can release them
            self._held.clear()
            self._watcher = None
        for future in futures:
            broken = concurrent.futures.BrokenExecutor(
                f"Job {future.job.id} keeps running, but nothing watches it: {words_of(error)}"
            )
            broken.__cause__ = error
            future.fail(broken)


def _refuse(options: Mapping[str, Any]) -> None:
    """Refuse options that an executor does not have, though jobs or other executors do."""
    for key in ("hold", "outfile"):
        if options.get(key):
            raise UsageError(f"{key}= is for one job, so an executor does not have it.")
    for key, instead in _OF_POOLS.items():
        if key in options:
            raise UsageError(f"There is no {key}=: each call is a job in its own process. {instead}")


def _begun(client: Client, ids: Iterable[int]) -> list[JobView]:
    """The jobs that are no longer queued: few, even if many are queued."""
    return [job_view(row, time.time()) for row in client.jobs.by_ids(ids, begun=True)]


def _until_changed(client: Client, rest_s: float) -> None:
    again_at = time.monotonic() + max(_AT_LEAST_S, rest_s)
    while True:
        time.sleep(rest_s)
        client.tender.see_to()
        if client.has_news() or time.monotonic() >= again_at:
            return


def _in_order(futures: list[JobFuture[Any]], until: float | None) -> Iterator[Any]:
    futures.reverse()
    try:
        while futures:
            futures[-1].result(None if until is None else until - time.monotonic())
            yield futures.pop().result()  # a result is not kept once it was returned
    finally:  # one failed, or the caller wants no more
        cancel_all(futures)
