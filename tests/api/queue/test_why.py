"""`duckrow why`: every reason for which a job may wait, against a real database, with what to type about it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from duckrow.api.client import Client
from duckrow.api.devices import gpus
from duckrow.api.queue.why import why
from duckrow.clusters.batch import create_batch
from duckrow.core.clock import Now
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.devices.inventory import WHOLE, Seat, cpu_seats, parse_gpus
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Needs
from duckrow.core.devices.neighbours import Neighbour
from duckrow.core.devices.policy import Policy
from duckrow.core.devices.set_aside import SetAside
from duckrow.core.errors import JobGone
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import JobSpec
from duckrow.core.jobs.run_source import never_resumed, source_of_sweep
from duckrow.core.life.dependencies import OK
from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import Outcome
from duckrow.core.schedule.explain import SOON
from duckrow.store.batches import BatchStore, GroupStanding, Standing
from duckrow.store.devices.readings import ReadingStore
from duckrow.store.devices.set_aside import SetAsideStore
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON, try_lock, unlock
from duckrow.store.jobs.control import ControlStore
from duckrow.store.sqlite.database import Database
from tests.store.shelf import Shelf, at

GB = 1024
NEVER = "it can never start as things are."
OTHER_PEOPLE = "it waits until other people's processes are gone (--share-gpus: start beside them)"
NIGHTS = "it waits for a SLURM job of batch nights to take it"


class Scene:
    """A daemon of which only its lock and its rows are there, over seats and GPUs as a test says."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.client = Client(folder)
        self.shelf = Shelf(self.client.database)
        self.control = ControlStore(self.client.database)
        self._lock: int | None = None

    def up(self, seats: Sequence[Seat], sizes_mb: Sequence[int] = (), **machine: Any) -> None:
        """The daemon runs. GPUs whose size is given can be read."""
        total_mb = {str(number): mb for number, mb in enumerate(sizes_mb)}
        known = Machine(total_mb=total_mb, models=dict.fromkeys(total_mb, "RTX"))._replace(**machine)
        self.client.hosts.open(DAEMON, seats, known)
        if self._lock is None:
            self._lock = try_lock(self.folder, DAEMON)
        for gpu in total_mb:
            self.read(gpu, total_mb[gpu])

    def down(self) -> None:
        if self._lock is not None:
            unlock(self.folder, DAEMON, self._lock)
            self._lock = None

    def read(self, gpu: str, free_mb: int, total_mb: int | None = None, **told: Any) -> None:
        """GPU `gpu` has just been read."""
        figures = {"mono": time.monotonic(), "processes": [], "total_mb": total_mb or free_mb, "free_mb": free_mb}
        with self.client.database.transaction():
            ReadingStore(self.client.database).keep(gpu, time.time(), {**figures, **told})

    def add(self, **fields: Any) -> int:
        (job_id,) = self.shelf.add("true", **fields)
        return job_id

    def run(self, device: str = "cpu0", share: int = WHOLE, since_s: float = 10, **fields: Any) -> LiveAttempt:
        """A job that runs there."""
        clocks = (time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME))
        started = Now(*(clock - since_s for clock in clocks))
        return self.shelf.run(self.add(**fields), holds=((device, share),), started=started)

    def why(self, job_id: int | None = None, **fields: Any) -> list[str]:
        """Of a job that is there, or of one that comes now."""
        return why(self.client, self.add(**fields) if job_id is None else job_id)

    def close(self) -> None:
        self.down()
        self.client.close()


@pytest.fixture(scope="module")
def new_database(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One that is copied for each test: to make one takes longer than to ask why."""
    folder = Folder(str(tmp_path_factory.mktemp("new") / "home")).make()
    Database(folder).close()
    return folder.database


@pytest.fixture
def scene(tmp_path: Path, new_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setattr(gpus, "_PATIENCE_S", 0.0)  # nobody is there to answer
    monkeypatch.setenv("PATH", str(tmp_path))  # no SLURM
    folder = Folder(str(tmp_path / "state")).make()
    shutil.copy(new_database, folder.database)
    scene = Scene(folder)
    scene.up(cpu_seats(1))
    yield scene
    scene.close()


# -- jobs that do not wait ------------------------------------------------------------------------------------------


def test_nothing_keeps_it(scene: Scene) -> None:
    assert scene.why() == [SOON]


def test_a_job_that_is_gone_is_said_to_be(scene: Scene) -> None:
    with pytest.raises(JobGone):
        scene.why(99)


def test_one_that_runs_does_not_wait(scene: Scene) -> None:
    running = scene.run()
    assert scene.why(running.job.id) == ["it is not waiting: it is running"]


def test_one_that_is_done_says_how_it_ended(scene: Scene) -> None:
    attempt = scene.run()
    scene.shelf.finish(attempt, Outcome.FAILED)
    assert scene.why(attempt.job.id) == ["it is not waiting: it failed"]


def test_one_that_is_suspended_says_how_it_goes_on(scene: Scene) -> None:
    attempt = scene.run()
    with scene.client.database.transaction():
        attempt.suspend(1.0)
        scene.shelf.tick.suspensions.suspend(attempt, True, 1.0)
    told = "it is running but suspended, because it was paused: duckrow resume 1"
    assert scene.why(attempt.job.id) == [told]


# -- what people want ------------------------------------------------------------------------------------------------


def test_it_is_held(scene: Scene) -> None:
    assert scene.why(held=True) == ["it is held: duckrow release 1"]


def test_its_time_has_not_come(scene: Scene) -> None:
    assert scene.why(not_before=time.time() + 7199) == ["it starts in 1h 59m (--begin)"]


def test_it_waits_to_be_tried_again(scene: Scene) -> None:
    attempt = scene.run()
    scene.shelf.requeue(attempt, Verdict(Outcome.FAILED, again=True, wait_s=3600), at(time.time()))
    (reason,) = scene.why(attempt.job.id)
    assert reason.startswith("it is tried again in 59m")


def test_a_time_that_has_come_keeps_nobody(scene: Scene) -> None:
    assert scene.why(not_before=time.time() - 1) == [SOON]


@pytest.mark.parametrize(
    ("paused", "told"),
    [
        ("", "everything is paused: duckrow resume"),
        ("vision", "vision is paused: duckrow resume --project vision"),
    ],
)
def test_everything_or_its_project_is_paused(scene: Scene, paused: str, told: str) -> None:
    scene.client.jobs.pause(paused)
    assert scene.why(project="vision") == [told]


def test_another_project_is_paused(scene: Scene) -> None:
    scene.client.jobs.pause("speech")
    assert scene.why(project="vision") == [SOON]


@pytest.mark.parametrize(("condition", "how"), [("ok", "succeed"), ("any", "end"), ("failed", "fail")])
def test_it_waits_for_another_job(scene: Scene, condition: str, how: str) -> None:
    before, job = scene.run().job.id, scene.add()
    with scene.client.database.transaction():
        scene.control.add_dependencies([job], [(before, condition)])
    assert scene.why(job) == [f"it waits for job {before} to {how}"]


def test_it_waits_for_many_jobs_of_an_array(scene: Scene) -> None:
    array = scene.client.jobs.add(
        DAEMON, [JobSpec("true", "/", name="fit", array_index=each) for each in range(300)], {}
    )
    job = scene.add()
    with scene.client.database.transaction():
        scene.control.add_dependencies([job], [(each, OK) for each in array])
    assert scene.why(job) == [f"it waits for 300 jobs of the array fit to succeed: {array[0]}-{array[-1]}"]


def test_all_that_people_want_is_told_at_once(scene: Scene) -> None:
    scene.client.jobs.pause("")
    assert scene.why(held=True, not_before=time.time() + 7199) == [
        "it is held: duckrow release 1",
        "it starts in 1h 59m (--begin)",
        "everything is paused: duckrow resume",
    ]


def test_as_many_of_its_project_run_as_may(scene: Scene) -> None:
    scene.up(cpu_seats(4))
    scene.run(project="vision")
    with scene.client.database.transaction():
        scene.control.set_limit("project:vision", 1)
    assert scene.why(project="speech", priority=1) == [SOON]
    assert scene.why(project="vision") == ["vision may run 1 job at a time, and 1 is running"]


def test_as_many_of_its_array_run_as_may(scene: Scene) -> None:
    scene.up(cpu_seats(4))
    with scene.client.database.transaction():
        first, second = scene.client.jobs.add(DAEMON, [JobSpec("true", "/", array_index=index) for index in (0, 1)], {})
        scene.control.set_limit(f"array:{first}", 1)
    assert scene.why(second) == ["1 job comes first"]
    scene.shelf.run(first, holds=(("cpu0", WHOLE),))
    assert scene.why(second) == ["its array may run 1 job at a time, and 1 is running"]


def test_a_limit_that_is_not_reached_keeps_nobody(scene: Scene) -> None:
    scene.up(cpu_seats(4))
    scene.run(project="vision")
    with scene.client.database.transaction():
        scene.control.set_limit("project:vision", 2)
    assert scene.why(project="vision") == [SOON]


# -- who would start it ----------------------------------------------------------------------------------------------


def test_the_daemon_is_not_running(scene: Scene) -> None:
    scene.down()
    assert scene.why() == ["the daemon is not running: duckrow up"]


@pytest.mark.parametrize(
    ("source", "command"),
    [
        ("/list", "duckrow run --resume=mine"),
        (never_resumed(""), "duckrow clean --run mine, which drops it"),
        (source_of_sweep(7), "duckrow sweep --resume --name 7"),
    ],
)
def test_its_run_is_over(scene: Scene, source: str, command: str) -> None:
    run = scene.client.hosts.add_run("mine", "/", source)
    assert scene.why(host_id=run) == [f"it belongs to the run mine, which has ended: {command}"]


# -- which devices there are -----------------------------------------------------------------------------------------


def test_it_could_never_start_here(scene: Scene) -> None:
    scene.up(parse_gpus(["0"]), [24 * GB])
    assert scene.why(gpus=2) == [f"{NEVER} It asks for 2 GPUs, but there is 1: 0. Ask for at most 1."]


def test_it_could_never_start_because_a_device_is_drained(scene: Scene) -> None:
    scene.up(parse_gpus(["0", "1"]), [24 * GB] * 2)
    scene.control.wish_of_device("1", "drain")
    assert scene.why(gpus=2) == [f"{NEVER} It asks for 2 GPUs, but there is 1: 0. Ask for at most 1. (1 drained)"]


def test_the_only_gpu_is_set_aside(scene: Scene) -> None:
    scene.up(parse_gpus(["0"]), [24 * GB])
    with scene.client.database.transaction():
        SetAsideStore(scene.client.database).save(DAEMON, SetAside("0", "it fell off the bus", "boot"))
    never, aside = scene.why(gpus=1)
    assert never.startswith(f"{NEVER} It asks for 1 GPU, but there is none here")
    assert aside == "GPU 0 is set aside: it fell off the bus; to use it again: duckrow gpus add 0"


def test_one_gpu_is_busy_and_the_other_is_set_aside(scene: Scene) -> None:
    scene.up(parse_gpus(["0", "1"]), [24 * GB] * 2)
    scene.run("0", gpus=1)
    with scene.client.database.transaction():
        SetAsideStore(scene.client.database).save(DAEMON, SetAside("1", "Xid 79", "boot"))
    assert scene.why(gpus=1) == [
        "it needs 1 GPU; 0 of 1 are free",
        "GPU 1 is set aside: Xid 79; to use it again: duckrow gpus add 1",
        "GPU 0 is held by job 1 (true)",
    ]


# -- who has them ----------------------------------------------------------------------------------------------------


def test_the_device_is_held_by_a_job(scene: Scene) -> None:
    scene.run(name="train")
    assert scene.why() == ["it needs a device; 0 of 1 are free", "CPU 0 is held by job 1 (train)"]


def test_how_much_longer_it_is_held_is_told_where_that_is_known(scene: Scene) -> None:
    for _ in range(3):
        done = scene.run(name="train", since_s=0)
        scene.shelf.finish(done, at=done.started_at + 3600)
    scene.run(name="train", since_s=1770)
    assert scene.why()[-1].startswith("CPU 0 is held by job 4 (train) for about 30m")


def test_a_holder_that_has_run_longer_than_usual(scene: Scene) -> None:
    for _ in range(3):
        done = scene.run(name="train", since_s=0)
        scene.shelf.finish(done, at=done.started_at + 60)
    scene.run(name="train", since_s=1800)
    assert scene.why()[-1] == "CPU 0 is held by job 4 (train), which has run longer than usual"


def test_the_holder_is_suspended(scene: Scene) -> None:
    holder = scene.run()
    with scene.client.database.transaction():
        holder.suspend(1.0)
        scene.shelf.tick.suspensions.suspend(holder, True, 1.0)
    assert scene.why()[-1] == "CPU 0 is held by job 1 (true), which is suspended: duckrow resume 1"


def test_slots_of_another_host_are_not_in_its_way(scene: Scene) -> None:
    run = scene.client.hosts.add_run("other", "/", "")
    job = scene.add(host_id=run)
    row = scene.client.database
    with row.transaction():
        row.execute("UPDATE jobs SET host_id = ? WHERE id = ?", (DAEMON, job))
    scene.shelf.run(job, holds=(("cpu0", WHOLE),))
    with row.transaction():
        row.execute("UPDATE jobs SET host_id = ? WHERE id = ?", (run, job))
    assert scene.why() == [SOON]


# -- who comes first -------------------------------------------------------------------------------------------------


def test_one_job_comes_first_and_waits_itself(scene: Scene) -> None:
    scene.run()
    first = scene.add()
    assert scene.why()[0] == f"job {first} comes first and is waiting itself"


@pytest.mark.parametrize(("count", "told"), [(1, "1 job comes first"), (3, "3 jobs come first")])
def test_jobs_come_first_that_can_start(scene: Scene, count: int, told: str) -> None:
    for _ in range(count):
        scene.add()
    assert scene.why() == [told]


def test_one_that_could_never_start_is_in_nobodys_way(scene: Scene) -> None:
    scene.up(parse_gpus(["0"]), [24 * GB])
    impossible = scene.add(gpus=4)
    assert not any(f"job {impossible}" in reason for reason in scene.why(gpus=1))


def test_one_of_a_lower_priority_is_in_nobodys_way(scene: Scene) -> None:
    scene.run()
    behind = scene.add(priority=-5)
    assert not any(f"job {behind}" in reason for reason in scene.why())


def test_a_larger_one_that_came_together_with_it_may_be_overtaken(scene: Scene) -> None:
    scene.up(parse_gpus(["0"]), [24 * GB])
    scene.run("0", share=WHOLE // 2, gpus=1, needs=Needs(gpu_mem_mb=12 * GB))
    sizes = (20, 4)
    specs = [JobSpec("true", "/", gpus=1, needs=Needs(gpu_mem_mb=size * GB)) for size in sizes]
    with scene.client.database.transaction():
        _, small = scene.client.jobs.add(DAEMON, specs, {})
    assert scene.why(small) == ["1 job comes first"]


@pytest.mark.parametrize(("limit_s", "passes"), [(60, True), (6000, False)])
def test_one_that_waits_may_be_overtaken_by_a_job_that_ends_in_time(scene: Scene, limit_s: float, passes: bool) -> None:
    """As the scheduler decides. What runs may take an hour, and the one that waits needs both devices."""
    scene.up(parse_gpus(["0", "1"]))
    scene.run("0", gpus=1, timeout_s=3600.0)
    big = scene.add(gpus=2)
    short = scene.why(gpus=1, timeout_s=float(limit_s), grace_s=10.0)
    assert (f"job {big} comes first and is waiting itself" not in short) is passes


# -- the machine -----------------------------------------------------------------------------------------------------


def test_the_cores_are_promised_to_others(scene: Scene) -> None:
    scene.up(cpu_seats(4), cpus=8, mem_mb=64 * GB)
    scene.run(needs=Needs(cpus=6))
    assert scene.why(needs=Needs(cpus=4)) == ["it needs 4 cores; 2 of 8 are free"]


def test_the_memory_is_promised_to_others(scene: Scene) -> None:
    scene.up(cpu_seats(4), cpus=8, mem_mb=64 * GB)
    scene.run(needs=Needs(mem_mb=48 * GB))
    assert scene.why(needs=Needs(mem_mb=32 * GB)) == ["it needs 32G of memory; 16G of 64G are free"]


def test_one_that_waits_for_the_machine_comes_first(scene: Scene) -> None:
    scene.up(cpu_seats(4), cpus=8, mem_mb=64 * GB)
    scene.run(needs=Needs(cpus=6))
    first = scene.add(needs=Needs(cpus=4))
    assert scene.why(needs=Needs(cpus=1)) == [f"job {first} comes first and is waiting itself"]


# -- memory of GPUs --------------------------------------------------------------------------------------------------


def test_a_gpu_has_too_little_free(scene: Scene) -> None:
    scene.up(parse_gpus(["0"]), [24 * GB])
    scene.run("0", share=WHOLE // 2, gpus=1, needs=Needs(gpu_mem_mb=12 * GB))
    assert scene.why(gpus=1, needs=Needs(gpu_mem_mb=16 * GB)) == [
        "it needs 16G on a GPU",
        "GPU 0 has 11.8G free",
        "GPU 0 is held by job 1 (true)",
    ]


def test_others_use_its_memory(scene: Scene) -> None:
    scene.up(parse_gpus(["0"]), [24 * GB])
    scene.read("0", 4 * GB, 24 * GB, foreign_mb=20 * GB, processes=[{"pid": 7, "mb": 20 * GB}])
    told = "GPU 0 has 3.8G free, others use 20G of it"
    assert scene.why(gpus=1, needs=Needs(gpu_mem_mb=16 * GB)) == ["it needs 16G on a GPU", told]


def test_memory_that_no_process_has(scene: Scene) -> None:
    scene.up(parse_gpus(["0"]), [24 * GB])
    scene.read("0", 4 * GB, 24 * GB, foreign_mb=20 * GB)
    assert scene.why(gpus=1, needs=Needs(gpu_mem_mb=16 * GB))[-1] == (
        "20G of GPU 0 belong to no visible process: one outside this container has them, or a reset frees them "
        "(nvidia-smi --gpu-reset)"
    )


def test_what_a_gpu_has_free_is_not_known(scene: Scene) -> None:
    scene.up(parse_gpus(["0"]), [24 * GB])
    scene.read("0", 24 * GB, mono=time.monotonic() - 3600)
    told = "the free memory of GPU 0 is unknown, so nothing starts there"
    assert scene.why(gpus=1, needs=Needs(gpu_mem_mb=16 * GB)) == ["it needs 16G on a GPU", told]


def test_a_gpu_whose_size_nobody_knows_is_left_to_who_holds_it(scene: Scene) -> None:
    scene.up(parse_gpus(["0"]))
    scene.run("0", gpus=1)
    assert scene.why(gpus=1, needs=Needs(auto=True, recipe="r")) == [
        "it needs a GPU without known jobs, as nothing is known of it",
        "GPU 0 is held by job 1 (true)",
    ]


def test_another_duckrow_has_just_started_something_there(scene: Scene) -> None:
    scene.up(parse_gpus(["0"]), [24 * GB])
    scene.read("0", 24 * GB, locked_by=0)
    told = "root's duckrow has just started a job on GPU 0: waiting for its memory to show, at most 2 minutes"
    for needs in (Needs(gpu_mem_mb=16 * GB), Needs()):
        assert told in scene.why(gpus=1, needs=needs, priority=5)


@pytest.mark.parametrize(
    ("gpus", "needs", "words"),
    [
        (1, Needs(alone=True), "a GPU to itself"),
        (2, Needs(alone=True), "2 GPUs to itself"),
        (2, Needs(gpu_mem_mb=8 * GB), "8G on each of 2 GPUs"),
        (None, Needs(total_gpu_mem_mb=30 * GB), "30G of GPU memory"),
        (1, Needs(alone=True, larger_than_mb=8 * GB), "a GPU of more than 8G to itself"),
        (1, Needs(), "1 GPU;"),
        (None, Needs(), "a device;"),
    ],
)
def test_what_it_needs_is_said_in_its_words(scene: Scene, gpus: int | None, needs: Needs, words: str) -> None:
    scene.up(parse_gpus(["0", "1"]), [24 * GB] * 2)
    for gpu in ("0", "1"):
        scene.run(gpu, gpus=1)
    assert any(f"it needs {words}" in f"{reason};" for reason in scene.why(gpus=gpus, needs=needs))


def test_a_job_without_a_gpu_needs_a_slot(scene: Scene) -> None:
    scene.run()
    assert scene.why(gpus=0) == ["it needs a CPU slot; 0 of 1 are free", "CPU 0 is held by job 1 (true)"]


# -- other people ----------------------------------------------------------------------------------------------------

ANNA = Neighbour("anna", "python", 4711, 8 * GB)


def test_somebody_uses_the_gpu(scene: Scene) -> None:
    scene.up(parse_gpus(["0"]), [24 * GB])
    scene.read("0", 24 * GB, neighbours=[ANNA])
    used_by = "GPU 0 is used by anna's python (process 4711, 8G)"
    assert scene.why(gpus=1) == ["it needs 1 GPU; 0 of 1 are free", used_by, OTHER_PEOPLE]


def test_the_driver_does_not_tell_who_uses_it(scene: Scene) -> None:
    scene.up(parse_gpus(["0"]), [24 * GB])
    scene.read("0", 24 * GB, problem="it does not answer")
    unknown = "the driver does not say who is using GPU 0"
    assert scene.why(gpus=1) == ["it needs 1 GPU; 0 of 1 are free", unknown, OTHER_PEOPLE]


def test_only_idle_gpus_are_wanted(scene: Scene) -> None:
    scene.up(parse_gpus(["0"]), [24 * GB], policy=Policy(only_idle=True))
    own = ANNA._replace(user="we", is_own=True)
    scene.read("0", 16 * GB, 24 * GB, foreign_mb=8 * GB, neighbours=[own], processes=[{"pid": 4711, "mb": 8 * GB}])
    assert scene.why(gpus=1) == [
        "it needs 1 GPU; 0 of 1 are free",
        "GPU 0 is used by your own python (process 4711, 8G)",
        "GPUs that somebody else is using are not used",
    ]


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (Policy(max_gpus=1), "at most 1 GPU may be used at a time"),
        (Policy(min_free_gpus=1), "1 GPU must stay free"),
        (Policy(jobs_per_gpu=1), "at most 1 job may share a GPU"),
    ],
)
def test_what_is_free_is_left_to_others(scene: Scene, policy: Policy, told: str) -> None:
    scene.up(parse_gpus(["0", "1"]), [24 * GB] * 2, policy=policy)
    small = Needs(gpu_mem_mb=4 * GB)
    scene.run("0", share=WHOLE // 6, gpus=1, needs=small)
    if policy.jobs_per_gpu:
        scene.run("1", share=WHOLE // 6, gpus=1, needs=small)
    needs = Needs() if policy.max_gpus or policy.min_free_gpus else small
    assert told in scene.why(gpus=1, needs=needs)


# -- runs on clusters ------------------------------------------------------------------------------------------------


class OnCluster:
    """A batch of which one run asks for what the batch does, and one for more memory."""

    def __init__(self, scene: Scene, folder: str) -> None:
        self._scene, self.store = scene, BatchStore(scene.client.database)
        specs = [JobSpec("true", "/"), JobSpec("true", "/", slurm={"mem": "64G"})]
        with scene.client.database.transaction():
            self.id = self.store.add("nights", folder)
            self.jobs = list(self.store.add_runs(self.id, specs, {}))
        create_batch(folder, specs, self.jobs, ClusterRequest(), {}, "python3")

    def stands(self, standing: Standing) -> None:
        with self._scene.client.database.transaction():
            self.store.note_standing(self.id, standing)


@pytest.fixture
def cluster(scene: Scene, tmp_path: Path) -> OnCluster:
    return OnCluster(scene, str(tmp_path / "batch"))


def test_a_run_on_a_cluster_waits_for_a_slurm_job(scene: Scene, cluster: OnCluster) -> None:
    assert scene.why(cluster.jobs[0]) == [NIGHTS, "no SLURM job of it is known yet: duckrow batches"]


def test_the_slurm_jobs_of_its_batch_are_named(scene: Scene, cluster: OnCluster) -> None:
    cluster.stands(Standing(running=["12_0"], waiting={"12_1": "Priority"}, held={"12_2": "JobHeldUser"}))
    assert scene.why(cluster.jobs[0]) == [
        NIGHTS,
        "SLURM jobs: 12_0 run; 12_1 wait (Priority)",
        "SLURM holds job 12_2 (JobHeldUser); it is replaced: duckrow batches",
    ]


def test_its_batch_stands_still(scene: Scene, cluster: OnCluster) -> None:
    cluster.stands(Standing("three SLURM jobs in a row have failed"))
    assert scene.why(cluster.jobs[0]) == [
        "its batch nights is stuck: three SLURM jobs in a row have failed. Type: duckrow batches nights --start"
    ]


def test_a_run_on_a_cluster_is_held(scene: Scene, cluster: OnCluster) -> None:
    scene.control.set_held(cluster.jobs, True)
    assert scene.why(cluster.jobs[0]) == [f"it is held: duckrow release {cluster.jobs[0]}"]


def test_a_run_on_a_cluster_waits_for_another_job(scene: Scene, cluster: OnCluster) -> None:
    before = scene.add()
    with scene.client.database.transaction():
        scene.control.add_dependencies(cluster.jobs, [(before, "ok")])
    assert scene.why(cluster.jobs[0]) == [f"it waits for job {before} to succeed"]


def test_runs_that_ask_for_different_things_wait_for_different_slurm_jobs(scene: Scene, cluster: OnCluster) -> None:
    groups = [GroupStanding("", ["12_0"]), GroupStanding("mem=64G", ["13_0"])]
    cluster.stands(Standing(running=["12_0"], waiting={"13_0": "Resources"}, groups=groups))
    small, large = (scene.why(job) for job in cluster.jobs)
    assert small == [NIGHTS, "SLURM jobs: 12_0 run"]
    with_more = "it waits for a SLURM job of batch nights with mem=64G to take it"
    assert large == [with_more, "SLURM jobs: 13_0 wait (Resources)"]
