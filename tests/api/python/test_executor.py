"""The executor: jobs as futures, over a queue in which the test does what the daemon would do."""

from __future__ import annotations

import concurrent.futures
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from duckrow.api import call
from duckrow.api.client import Client
from duckrow.api.python import executor as executor_module
from duckrow.api.python import lending
from duckrow.api.python.executor import Executor, JobFuture
from duckrow.api.python.lending import Lending
from duckrow.api.queue.attendance import Attendance
from duckrow.api.queue.kept_back import kept_back
from duckrow.core.devices.inventory import cpu_seats
from duckrow.core.errors import BadValue, UsageError
from duckrow.core.life.wishes import Wish
from tests.api.quiet_queue import QuietQueue
from tests.conftest import until


@pytest.fixture
def slots(queue: QuietQueue, monkeypatch: pytest.MonkeyPatch) -> QuietQueue:
    monkeypatch.setattr(Client, "await_wishes", lambda _self, _ids: None)  # nobody is there to fulfil them
    monkeypatch.setattr(executor_module, "_LOOK_S", 0.002)
    queue.offers(cpu_seats(2))
    queue.up()
    return queue


@pytest.fixture
def executor(slots: QuietQueue) -> Iterator[Executor]:
    made = Executor()
    yield made
    leave(slots, made)


def leave(queue: QuietQueue, executor: Executor) -> None:
    """Its watcher ends with its last job."""
    for view in queue.client.views(list(executor._pending)):
        if view.state == "queued":
            play(queue, view.id)
    executor.shutdown()


def play(queue: QuietQueue, job_id: int) -> None:
    """The job runs, in this process."""
    queue.start(job_id)
    code = call.main(str(queue.client.job(job_id).folder))
    queue.end(job_id, "failed" if code else "succeeded", code)


def played(queue: QuietQueue, future: JobFuture[Any]) -> JobFuture[Any]:
    play(queue, future.job.id)
    return future


def _root(number: int) -> float:
    return math.sqrt(1 / number)


def test_a_future_has_the_value_of_its_job_or_what_it_raised(slots: QuietQueue, executor: Executor) -> None:
    assert played(slots, executor.submit(_root, 4)).result() == 0.5
    failed = played(slots, executor.submit(_root, 0))
    assert isinstance(failed.exception(), ZeroDivisionError)


def test_a_map_gives_values_in_the_order_of_its_arguments_also_in_chunks(slots: QuietQueue, executor: Executor) -> None:
    values = executor.map(_root, [1, 4, 16])
    chunks = executor.map(_root, [1, 4, 16], chunksize=2)
    for job_id in (5, 4, 3, 2, 1):
        play(slots, job_id)
    assert list(values) == list(chunks) == [1.0, 0.5, 0.25]
    assert [view.name for view in slots.client.views([1, 4])] == ["_root", "_root"]


def test_a_queued_job_is_cancelled_and_one_that_runs_is_not(slots: QuietQueue, executor: Executor) -> None:
    waiting, running = executor.submit(_root, 1), executor.submit(_root, 4)
    slots.start(running.job.id)
    until(running.running, "the executor to see it run")
    assert waiting.cancel()
    assert not running.cancel()
    assert [tuple(row) for row in slots.client.database.all("SELECT job_id, wish FROM wishes")] == [(1, Wish.KILL)]
    with pytest.raises(concurrent.futures.CancelledError):
        waiting.result()
    slots.write("UPDATE jobs SET state = 'done', outcome = 'killed' WHERE id = 1")
    call.main(str(slots.client.job(running.job.id).folder))
    slots.end(running.job.id)
    assert running.result() == 0.5


def test_no_more_than_so_many_of_its_jobs_may_run(slots: QuietQueue) -> None:
    with Executor(max_workers=1) as executor:
        futures = [executor.submit(_root, number) for number in (1, 4)]
        assert [view.held for view in slots.client.views([1, 2])] == [False, True]
        played(slots, futures[0])
        until(lambda: not slots.client.job(2).held, "the second to be released")
        assert played(slots, futures[1]).result() == 0.5


def test_nobody_is_told_to_release_a_job_that_the_executor_holds_back_itself(
    slots: QuietQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[list[int]] = []

    class Noted(Attendance):
        def look(self, ids: Sequence[int]) -> None:
            looked_at.append(list(ids))

    monkeypatch.setattr(executor_module, "Attendance", Noted)
    with Executor(max_workers=1) as executor:
        futures = [executor.submit(_root, number) for number in (1, 4)]
        seen = len(looked_at)
        until(lambda: len(looked_at) > seen + 1, "the executor to look while one is held")
        played(slots, futures[0])
        until(lambda: [2] in looked_at, "the second to have its turn")
        played(slots, futures[1])
    assert [1, 2] not in looked_at


def test_a_job_that_was_removed_fails_its_future(slots: QuietQueue, executor: Executor) -> None:
    future = executor.submit(_root, 1)
    slots.write("DELETE FROM jobs")
    assert str(future.exception()) == "Job 1 was removed before it had a result."


def test_who_wants_no_more_has_the_rest_cancelled(slots: QuietQueue, executor: Executor) -> None:
    futures = [executor.submit(_root, number) for number in (1, 4)]
    executor.shutdown(wait=False, cancel_futures=True)
    assert all(future.cancelled() for future in futures)
    slots.write("UPDATE jobs SET state = 'done', outcome = 'killed'")
    with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
        executor.submit(_root, 1)


def test_nobody_is_told_that_jobs_are_held_while_they_are_cancelled(
    slots: QuietQueue, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[bool, list[str]]] = []

    def withdraw(future: JobFuture[Any]) -> bool:
        with Client(slots.client.folder) as client:
            told.append((client.job(future.job.id).held, kept_back(client, [future.job.id])))
        return was_withdraw(future)

    was_withdraw = JobFuture.withdraw
    monkeypatch.setattr(JobFuture, "withdraw", withdraw)
    future = executor.submit(_root, 1)
    assert future.cancel()
    assert told == [(True, [])]
    assert executor._may_start() == []
    assert (slots.client.job(1).held, kept_back(slots.client, [1])) == (True, [])  # it will be killed
    slots.write("UPDATE jobs SET state = 'done', outcome = 'killed'")


def test_a_job_that_could_not_be_cancelled_may_be_held_by_a_person_later(
    slots: QuietQueue, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JobFuture, "withdraw", lambda _future: False)
    executor.submit(_root, 1).cancel()
    assert not slots.client.job(1).held
    slots.write("UPDATE jobs SET held = 1")
    assert kept_back(slots.client, [1]) == ["Job 1 is held. Still waiting. Type: duckrow release 1"]


@pytest.mark.filterwarnings("error")
def test_who_waits_for_a_job_that_the_executor_holds_back_just_waits(slots: QuietQueue) -> None:
    with Executor(max_workers=1) as executor:
        futures = [executor.submit(_root, number) for number in (1, 4)]
        assert slots.client.job(2).held
        with pytest.raises(TimeoutError, match="was not done within"):
            futures[1].job.result(timeout=0.1)  # in time: it is not released yet
        executor.shutdown(wait=False)  # it releases what it has taken all the same
        with pytest.raises(TimeoutError, match="was not done within"):
            futures[1].job.result(timeout=0.1)  # in time: it is not released yet
        played(slots, futures[0])
        until(lambda: not slots.client.job(2).held, "the second to be released")
        played(slots, futures[1])
        assert futures[1].job.result() == 0.5


def test_a_job_that_nobody_will_release_is_told_to_who_waits_for_it(
    slots: QuietQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = Executor(max_workers=1)
    futures = [executor.submit(_root, number) for number in (1, 4)]
    assert kept_back(slots.client, [1, 2]) == []

    def fail(*_words: object) -> float:
        raise OSError("no disk.")

    monkeypatch.setattr(Executor, "_look", fail)
    assert isinstance(futures[1].exception(), concurrent.futures.BrokenExecutor)
    assert kept_back(slots.client, [1, 2]) == ["Job 2 is held. Still waiting. Type: duckrow release 2"]


def test_what_a_person_holds_is_told_also_of_an_executors_jobs(slots: QuietQueue, executor: Executor) -> None:
    executor.submit(_root, 1)
    slots.write("UPDATE jobs SET held = 1")
    assert kept_back(slots.client, [1]) == ["Job 1 is held. Still waiting. Type: duckrow release 1"]
    slots.write("UPDATE jobs SET held = 0")


def test_if_the_queue_cannot_be_watched_nobody_waits_for_ever(
    slots: QuietQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_words: object) -> float:
        raise OSError("no disk.")

    monkeypatch.setattr(Executor, "_look", fail)
    error = Executor().submit(_root, 1).exception()
    assert isinstance(error, concurrent.futures.BrokenExecutor)
    assert str(error) == "Job 1 keeps running, but nothing watches it: no disk"


@pytest.mark.parametrize(
    ("make", "kind", "told"),
    [
        (lambda: Executor(0), BadValue, "max_workers=0: max_workers must be greater than 0, and a whole number."),
        (lambda: Executor(True), BadValue, "max_workers=True: "),
        (lambda: Executor(hold=True), UsageError, "hold= is for one job, so an executor does not have it."),
        (lambda: Executor(initializer=print), UsageError, "There is no initializer=: each call is a job "),  # type: ignore[call-arg]
        (lambda: Executor(2, engine="slurm"), UsageError, "max_workers is for this machine."),
    ],
)
@pytest.mark.usefixtures("slots")
def test_what_an_executor_cannot_do_is_refused(make: Callable[[], Executor], kind: type[Exception], told: str) -> None:
    with pytest.raises(kind) as refused:
        make()
    assert str(refused.value).startswith(told)


def test_a_chunk_has_at_least_one_call_and_no_calls_are_no_jobs(slots: QuietQueue, executor: Executor) -> None:
    with pytest.raises(BadValue, match="chunksize=0 must be a number of 1 or more"):
        executor.map(_root, [1], chunksize=0)
    assert list(executor.map(_root, [])) == []


# -- a job that waits for others lends them its slot -----------------------------------------------------------------


@pytest.fixture
def inside(slots: QuietQueue, monkeypatch: pytest.MonkeyPatch) -> QuietQueue:
    """We are job 1, which waits for job 2."""
    monkeypatch.setattr(lending, "_LOOK_S", 0.0)
    monkeypatch.setattr(lending, "_TELL_S", 0.0)
    slots.add("outer", "inner")
    monkeypatch.setenv("DUCKROW_JOB_ID", "1")
    monkeypatch.setenv("DUCKROW_RUN_DIR", str(slots.run_folder(1)))
    return slots


def wishes(queue: QuietQueue) -> list[tuple[int, str]]:
    return [tuple(row) for row in queue.client.database.all("SELECT job_id, wish FROM wishes ORDER BY id")]


def test_the_slot_is_lent_while_all_wait_and_taken_back_at_the_end(inside: QuietQueue) -> None:
    inside.start(1, "cpu0")
    lent = Lending(inside.client, pytest.fail)
    lent.look([2])
    assert wishes(inside) == [(1, Wish.LEND)]
    lent.end()
    assert wishes(inside)[-1] == (1, Wish.TAKE_BACK)


def test_it_is_not_lent_when_one_of_them_runs(inside: QuietQueue) -> None:
    inside.start(1, "cpu0")
    inside.start(2, "cpu1")
    lent = Lending(inside.client, pytest.fail)
    lent.look([2])
    lent.end()
    assert wishes(inside) == []


def test_a_gpu_is_not_lent_and_it_is_told_once_what_to_change(inside: QuietQueue) -> None:
    inside.start(1, "0")
    said: list[str] = []
    lent = Lending(inside.client, said.append)
    time.sleep(0.001)  # in time: it tells only after some time, here none
    for _ in range(2):
        lent.look([2])
    assert wishes(inside) == []
    (told,) = said
    assert told.startswith("Job 1 keeps its GPU while it waits for jobs that have not started.")


@pytest.mark.parametrize("other", ["another folder", "no number", "done"])
def test_a_process_that_is_no_job_of_this_daemon_lends_nothing(
    inside: QuietQueue, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    inside.start(1, "cpu0")
    if other == "another folder":
        monkeypatch.setenv("DUCKROW_RUN_DIR", "/elsewhere")
    elif other == "no number":
        monkeypatch.setenv("DUCKROW_JOB_ID", "")
    else:
        inside.end(1)
    Lending(inside.client, pytest.fail).look([2])
    assert wishes(inside) == []
