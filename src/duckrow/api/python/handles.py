"""The Python handle of a job: watch it, wait for it, kill it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from duckrow.api.calls.functions import JobFailed, exception_of, is_call, value_of
from duckrow.api.client import Client
from duckrow.api.jobs.kill import kill
from duckrow.api.jobs.wait import WaitedTooLong
from duckrow.api.jobs.wait import wait as wait_for
from duckrow.api.queue.views import JobView
from duckrow.core.errors import DuckrowError, UsageError
from duckrow.core.life.states import Outcome, State
from duckrow.kernel.log_ends import LINE_SHOWN, last_lines
from duckrow.store.folder.state_folder import Folder, state_folder

T = TypeVar("T")

_LINES_TOLD = 10  # of the log of a failed job
_IN_WORDS = {
    Outcome.OUT_OF_MEMORY: "ran out of memory",
    Outcome.TIMED_OUT: "timed out, ended",
    Outcome.KILLED: "was killed",
    Outcome.LOST: "was lost",
    Outcome.SKIPPED: "was skipped",
}


class NotDoneInTime(WaitedTooLong, TimeoutError):
    """A job was not done within the time that its caller wanted to wait. It keeps running."""


@dataclass(frozen=True, repr=False)
class Job(Generic[T]):
    """A job, whoever submitted it. What it tells is as it is at this moment; the job does not depend on its handle."""

    id: int
    name: str = field(compare=False)
    home: str  # the state folder that it is in

    def view(self) -> JobView:
        """All that is known of it."""
        with open_client(self.home) as client:
            client.tender.copy()
            return self._only(client.views([self.id]))

    @property
    def state(self) -> str:
        """queued, starting, running, stopping, done."""
        return self.view().state

    @property
    def outcome(self) -> str | None:
        """How it ended: succeeded, failed, timed-out, killed, lost, skipped; None while it is not done."""
        return self.view().outcome

    @property
    def exit_code(self) -> int | None:
        return self.view().exit_code

    @property
    def folder(self) -> str:
        """Its own folder, `$DUCKROW_RUN_DIR` of its process."""
        return self._folder_of(self.view())

    @property
    def log_path(self) -> str | None:
        """Of its latest attempt; None if there is none."""
        return self.view().log or None

    def logs(self, tail: int | None = None) -> str:
        """What it has printed so far, or the last lines of that."""
        path = self.log_path
        if path is None or not os.path.exists(path):
            return ""
        if tail is not None:
            return "".join(f"{line}\n" for line in last_lines(path, tail, blank=True)) if tail > 0 else ""
        with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
            return file.read()

    def done(self) -> bool:
        return self.state == State.DONE

    def wait(self, timeout: float | None = None) -> Job[T]:
        """Waits until it is done, however it ended. Raises TimeoutError if that takes longer than `timeout` seconds."""
        self._end(timeout)
        return self

    def result(self, timeout: float | None = None) -> T:
        """What the function returned, or 0 for a command, once it is done.

        What the function raised is raised here too, with the traceback from the job as its cause. A job that has failed
        in another way, or was killed, raises JobFailed.
        """
        return self.result_of(self._end(timeout))

    def kill(self, wait: bool = True, now: bool = False) -> None:
        """End it with all its processes. `now`: without a grace. Without `wait`, only say so."""
        with open_client(self.home) as client:
            client.tender.copy()
            if self._only(client.views([self.id])).state == State.DONE:
                return
            kill(client, [self.id], at_once=now, answered=False)
            if wait:
                wait_for(client, [self.id])

    def __repr__(self) -> str:
        try:
            view = self.view()
            how = view.outcome or view.state
        except DuckrowError:  # a handle can always be printed
            how = "gone"
        return f"<duckrow.Job {self.id} {self.name}: {how}>"

    def result_of(self, end: JobView) -> T:
        """The result, given the view of the done job."""
        who, folder = f"Job {self.id} ({self.name})", self._folder_of(end)
        is_function = is_call(end.command)
        if end.outcome == Outcome.SUCCEEDED:
            return cast("T", value_of(folder, who) if is_function else end.exit_code)
        error = exception_of(folder, who) if is_function and end.outcome == Outcome.FAILED else None
        error = error or JobFailed(f"{who} {_told(end)}")
        if isinstance(error, JobFailed) and error.view is None:
            error.view = end
        raise error

    def _end(self, timeout: float | None) -> JobView:
        with open_client(self.home) as client:
            try:
                return self._only(wait_for(client, [self.id], timeout))
            except WaitedTooLong:
                raise NotDoneInTime(f"Job {self.id} ({self.name}) was not done within {timeout:g} s.") from None

    def _only(self, views: list[JobView]) -> JobView:
        if not views:
            raise UsageError(f"There is no job {self.id} any more: it was removed.")
        return views[0]

    def _folder_of(self, view: JobView) -> str:
        return view.folder or Folder(self.home).run_folder(view.project, view.name, view.id)


def _told(end: JobView) -> str:
    """How it ended, and the end of its log."""
    how = _IN_WORDS.get(Outcome(end.outcome or Outcome.LOST), "failed")
    if end.signal is not None:
        names = {number.value: number.name for number in signal.Signals}
        how += f" by {names.get(end.signal, f'signal {end.signal}')}"
    elif end.exit_code is not None:
        how += f" with exit code {end.exit_code}"
    if end.detail:
        how += f" ({end.detail})"
    lines = last_lines(end.log, _LINES_TOLD, longest=LINE_SHOWN) if end.log else []
    return "\n    ".join([f"{how}. The end of its log:", *lines]) if lines else f"{how}."


@contextmanager
def open_client(home: str | None = None) -> Iterator[Client]:
    """A client for one task: a connection belongs to one thread and process, and opens in less than a millisecond."""
    client = client_of(home)
    try:
        yield client
    finally:
        client.close()


def client_of(home: str | None = None) -> Client:
    """A client to keep, in one thread."""
    return Client(state_folder() if home is None else Folder(home))


def job(job_id: int) -> Job[Any]:
    """The handle of a job, whoever submitted it, and whenever."""
    if not isinstance(job_id, int) or isinstance(job_id, bool):
        raise UsageError(f"{job_id!r} is not the id of a job, which is a number.")
    with open_client() as client:
        client.select([str(job_id)])
        return Job(job_id, client.job(job_id).name, client.folder.root)
