"""The verbs beside a daemon that answers: the dry one, which does what it is asked when a verb waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from duckrow.api.adding.would_place import WouldPlace
from duckrow.api.client import Client
from duckrow.api.devices.wishes import wish_of_devices
from duckrow.api.jobs.edit import edit, spec_of
from duckrow.api.jobs.pause import pause, resume
from duckrow.core.devices.inventory import cpu_seats
from duckrow.core.devices.set_aside import SetAside
from duckrow.core.errors import DuckrowError, UsageError
from duckrow.core.jobs.job import JobSpec
from duckrow.core.life.wishes import DeviceWish
from duckrow.store.devices.set_aside import SetAsideStore
from duckrow.store.hosts import DAEMON
from tests.scheduler.conftest import MakeQueue, make_queue, new_database  # noqa: F401
from tests.scheduler.language import Queue, fails, gpus, ignores_sigterm, runs, slots

MakeBoth = Callable[..., tuple[Client, Queue]]


@pytest.fixture
def both(make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeBoth]:  # noqa: F811
    """A daemon with these devices, and a client of it."""
    made: list[Client] = []

    def make(*given: object) -> tuple[Client, Queue]:
        queue = make_queue(*given)
        monkeypatch.setattr(Client, "ensure_daemon", lambda _self: False)
        monkeypatch.setattr(Client, "settle", lambda _self: None)
        monkeypatch.setattr(Client, "await_wishes", lambda _self, _ids: queue.passes())
        made.append(Client(queue.folder))
        return made[-1], queue

    yield make
    for client in made:
        client.close()


# -- pause and resume -----------------------------------------------------------------------------------------------


def test_a_pause_suspends_what_runs_and_a_resume_continues_it(both: MakeBoth) -> None:
    client, queue = both(slots(1))
    running, waiting = queue.add(runs()), queue.add()
    queue.passes(1)
    paused = pause(client, [running, waiting])
    assert (paused.running, paused.waiting, paused.done) == ([running], [waiting], [running, waiting])
    assert paused.undo == {"action": "resume", "ids": [running, waiting]}
    assert queue.suspended() == {running}
    resumed = resume(client, [running, waiting])
    assert (resumed.running, resumed.waiting) == ([running], [waiting])
    assert resumed.undo == {"action": "pause", "ids": [running, waiting]}
    assert not queue.suspended()


def test_one_that_ends_and_waits_for_its_next_attempt_is_held(both: MakeBoth) -> None:
    client, queue = both(slots(1))
    job = queue.add(fails(after_s=5), retries=1, backoff_s=60)
    queue.passes(1)
    queue.clock.go_on(5)  # it has ended, and nobody has looked
    paused = pause(client, [job])
    assert (paused.waiting, paused.running, dict(paused.refused)) == ([job], [], {})


def test_what_ends_meanwhile_cannot_be_paused(both: MakeBoth) -> None:
    client, queue = both(slots(1))
    job = queue.add(fails(after_s=5))
    queue.passes(1)
    queue.clock.go_on(5)
    paused = pause(client, [job])
    assert dict(paused.refused) == {job: f"job {job} has changed: it failed"}
    assert (paused.done, paused.undo) == ([], None)


def test_what_is_about_to_end_cannot_be_paused(both: MakeBoth) -> None:
    client, queue = both(slots(1))
    job = queue.add(ignores_sigterm())
    queue.passes(1)
    queue.kill(job)
    queue.passes(1)
    assert dict(pause(client, [job]).refused) == {job: f"job {job} is stopping"}


def test_what_is_not_paused_by_itself_says_how_to_resume_it(both: MakeBoth) -> None:
    client, queue = both(slots(1))
    job = queue.add(project="mine")
    told = [dict(resume(client, [job]).refused)[job]]
    for project in ("mine", ""):
        queue.database.execute("INSERT INTO pauses VALUES (?, 0)", (project,))
        told += [dict(resume(client, [job]).refused)[job]]
    assert told == [
        f"job {job} is not paused: duckrow why {job} says what it waits for",
        f"job {job} is paused because mine is: duckrow resume --project mine",
        f"job {job} is paused because everything is: duckrow resume",
    ]


# -- devices --------------------------------------------------------------------------------------------------------


def test_a_gpu_is_drained_and_given_out_again(both: MakeBoth) -> None:
    client, queue = both(*gpus("24G", "24G"))
    assert wish_of_devices(client, ["1"], DeviceWish.DRAIN) == ["GPU 1: it gets no new job."]
    jobs = [queue.add(runs()) for _ in range(2)]
    queue.passes(5)
    assert queue.states(*jobs) == ["running", "queued"]
    assert wish_of_devices(client, ["1"], DeviceWish.UNDRAIN) == ["GPU 1 is available to jobs again."]
    queue.passes(5)
    assert queue.states(*jobs) == ["running", "running"]


def test_a_gpu_is_removed_when_its_last_job_has_ended_and_added_again(both: MakeBoth) -> None:
    client, queue = both(*gpus("24G", "24G"))
    job = queue.add(runs())
    queue.passes(5)
    (busy,) = queue.gpus_of(job)
    free = "1" if busy == "0" else "0"
    assert wish_of_devices(client, [busy, free], DeviceWish.REMOVE) == [
        f"GPU {busy}: it is removed when its last job has ended.",
        f"GPU {free}: it is removed.",
    ]
    queue.passes(5)
    assert [seat.devices for seat in client.seats()] == [(busy,)]
    queue.kill(job, at_once=True)
    queue.passes(5)
    assert client.seats() == []
    assert wish_of_devices(client, [free], DeviceWish.ADD) == [f"GPU {free} is available to jobs."]
    queue.passes(5)
    assert [seat.devices for seat in client.seats()] == [(free,)]


def test_a_gpu_that_is_there_can_be_added_and_that_ends_its_drain(both: MakeBoth) -> None:
    client, queue = both(*gpus("24G"))
    wish_of_devices(client, ["0"], DeviceWish.DRAIN)
    queue.passes(1)
    assert queue.host().loop.state.drained
    wish_of_devices(client, ["0"], DeviceWish.ADD)
    queue.passes(1)
    assert not queue.host().loop.state.drained
    assert len(client.seats()) == 1


def test_if_the_daemon_lacks_one_of_them_none_is_drained(both: MakeBoth) -> None:
    client, queue = both(*gpus("24G", "24G"))
    with pytest.raises(UsageError, match=r"^The daemon has no GPU 7\. It has: 0, 1\.$"):
        wish_of_devices(client, ["0", "7"], DeviceWish.DRAIN)
    queue.passes(1)
    assert not queue.host().loop.state.drained


def test_a_gpu_that_was_set_aside_can_be_given_back_without_a_daemon(both: MakeBoth) -> None:
    client, queue = both(*gpus("24G"))
    SetAsideStore(queue.database).save(DAEMON, SetAside("0", "it was lost", "boot"))
    queue.ends()
    assert wish_of_devices(client, ["0"], DeviceWish.UNDRAIN) == ["GPU 0 is available to jobs again."]


# -- where a job would run ------------------------------------------------------------------------------------------


def spec(**fields: object) -> JobSpec:
    return JobSpec("true", "/", **fields)  # type: ignore[arg-type]


def test_each_job_sees_those_that_run_and_those_before_it(both: MakeBoth) -> None:
    client, queue = both(slots(3))
    queue.add(runs())
    queue.passes(1)
    would = WouldPlace(client)
    assert [would.place(spec())[0] for _ in range(4)] == [
        "it starts at once, on CPU 1",
        "it starts at once, on CPU 2",
        "it waits for a free device",
        "it waits for a free device, after 1 job",
    ]
    assert would.place(spec(priority=90))[0] == "it waits for a free device", "nobody of its priority is before it"


def test_what_holds_a_job_back_is_told_before_it_is_added(both: MakeBoth) -> None:
    client, queue = both(slots(1))
    queue.database.execute("INSERT INTO pauses VALUES ('mine', 0)")
    would = WouldPlace(client)
    assert would.place(spec(held=True)) == ("it waits until it is released", None)
    assert would.place(spec(project="mine")) == ("it waits: mine is paused", None)
    assert would.place(spec())[0].startswith("it starts at once")
    where, never = would.place(spec(gpus=2))
    assert where == ""
    assert never is not None
    assert never.startswith("This job can never start. ")
    queue.database.execute("INSERT INTO pauses VALUES ('', 0)")
    assert WouldPlace(client).place(spec()) == ("it waits: everything is paused", None)


def test_without_a_daemon_a_job_would_start_one(both: MakeBoth) -> None:
    client, queue = both(cpu_seats(1))
    queue.ends()
    assert WouldPlace(client).place(spec()) == ("the daemon is not running: it starts when you add jobs", None)


# -- edit -----------------------------------------------------------------------------------------------------------


def test_a_job_that_waits_can_be_changed(both: MakeBoth) -> None:
    client, queue = both(slots(1))
    queue.add(runs())
    job = queue.add(runs())
    queue.passes(1)
    edit(client, job, {"timeout_s": 60.0})
    assert spec_of(client, job)["timeout_s"] == 60.0
    queue.kill(1, at_once=True)
    queue.passes(61)
    assert queue.state(job) == "timed-out"


def test_a_job_that_has_started_cannot_be_changed(both: MakeBoth) -> None:
    client, queue = both(slots(1))
    job = queue.add(runs())
    queue.passes(1)
    with pytest.raises(DuckrowError, match=f"ob {job}"):
        edit(client, job, {"timeout_s": 60.0})


def test_a_change_after_which_a_job_could_never_start_is_refused(both: MakeBoth) -> None:
    client, queue = both(slots(1))
    queue.add(runs())
    job = queue.add()
    queue.passes(1)
    with pytest.raises(UsageError, match=rf"^Job {job} could never start like this\. .* Nothing was changed\.$"):
        edit(client, job, {"gpus": 2})
    assert spec_of(client, job)["gpus"] is None
