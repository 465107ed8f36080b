"""How many SLURM jobs there should be, what the script says, and what is understood of SLURM's answers."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from duckrow.clusters.claims import Claims, Taker
from duckrow.clusters.lease import Lease
from duckrow.clusters.pilots import TOLD_TO_END, PilotFolder
from duckrow.clusters.port import ClusterLimits, ClusterRefused, JobPhase, NoAnswer, TooMany, answer_within
from duckrow.clusters.room_in_jobs import left_over
from duckrow.clusters.slurm import commands
from duckrow.clusters.slurm.script import array_of, script_of
from duckrow.clusters.slurm.states_question import StatesQuestion, job_told
from duckrow.clusters.standing_still import JobEnd, why_still
from duckrow.clusters.tending import Tending
from duckrow.core.clusters.request import ClusterRequest, gpus_in, request_from
from duckrow.core.errors import UsageError
from tests.clusters.conftest import MakeBatch, on_slurm, told
from tests.conftest import DEADLINE_S


@pytest.mark.parametrize(
    ("request_", "runs", "living", "jobs"),
    [
        (ClusterRequest(runs_per_job=8), 20, 0, 3),
        (ClusterRequest(runs_per_job=8, max_jobs=2), 20, 0, 3),  # two at a time: SLURM sees to that
        (ClusterRequest(max_jobs=2), 20, 0, 2),
        (ClusterRequest(max_jobs=2), 20, 1, 1),
        (ClusterRequest(), 100, 0, 8),
        (ClusterRequest(parallel_runs=4), 10, 0, 3),
        (ClusterRequest(gres="gpu:4"), 10, 0, 3),
        (ClusterRequest(gpus_per_node="a100:2"), 10, 0, 5),
        (ClusterRequest(), 0, 0, 0),
        (ClusterRequest(), 5, 8, 0),
    ],
)
def test_there_are_as_many_slurm_jobs_as_there_is_work_for(
    request_: ClusterRequest, runs: int, living: int, jobs: int
) -> None:
    assert request_.jobs_for(runs, living) == jobs


@pytest.mark.parametrize(
    ("text", "count"), [("gpu:4", 4), ("gpu:a100:2", 2), ("gpu", 1), ("gpu:1,tmp:5", 1), ("tmp:5", 0), ("", 0)]
)
def test_the_gpus_of_a_request_are_counted(text: str, count: int) -> None:
    assert gpus_in(text) == count


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"time": "60"}, 'time must say its unit: "60m"'),
        ({"time": "soon"}, "'soon' is not a time"),
        ({"runs_per_job": 0}, "runs_per_job must be a whole number"),
        ({"partitoin": "x"}, "partitoin is not a setting of a SLURM request"),
        ({"sbatch": [1]}, "sbatch must be a list of strings"),
        ({"fixed_chunks": True}, "needs runs_per_job"),
        ({"comment": "a\nb"}, "comment must be a string on one line"),
        ({"sbatch": ["--nodes=2"]}, "For runs that use several nodes each: --nodes 2"),
        ({"sbatch": ["-N", "2"]}, "For runs that use several nodes each: --nodes 2"),
        ({"nodes": 2, "parallel_runs": 2}, "one at a time in a SLURM job"),
    ],
)
def test_a_request_that_makes_no_sense_is_told(values: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as error:
        request_from(values)
    assert said in str(error.value)


def test_runs_get_the_gpus_that_they_need_or_are_refused_before_they_wait_in_a_queue() -> None:
    assert ClusterRequest().for_gpus(2).gres == "gpu:2"
    assert ClusterRequest(gres="tmp:5").for_gpus(1).gres == "tmp:5,gpu:1"
    for enough in (
        ClusterRequest(gres="gpu:4"),
        ClusterRequest(gpus_per_node="a100:2"),
        ClusterRequest(sbatch=("-G", "8")),
    ):
        assert enough.for_gpus(2) == enough
    with pytest.raises(UsageError, match=r"needs 4 GPUs, but each SLURM job gets 2\. Ask for more: --gres gpu:4"):
        ClusterRequest(gres="gpu:2").for_gpus(4)


@pytest.mark.parametrize(
    ("words", "clusters"),
    [(("-M", "other"), "other"), (("-Mother",), "other"), (("clusters=other",), "other"), (("--mem=8G",), "")],
)
def test_the_cluster_that_was_named_is_the_one_that_is_asked(
    words: tuple[str, ...], clusters: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = ClusterRequest(sbatch=words)
    assert request.clusters == clusters
    fake_program(
        tmp_path / "bin", "squeue", 'case "$*" in *--clusters=other*) echo "7|0|RUNNING|N/A|None"; esac', monkeypatch
    )
    assert answer_within(StatesQuestion(request.clusters)) == told({"7_0": "RUNNING"} if clusters else {})
    script = script_of("/shared/batch", request, "python")
    assert ("#SBATCH -M other\n" in script) == (words == ("-M", "other"))


def test_a_percent_sign_in_a_folder_is_not_for_slurm_to_replace() -> None:
    assert "--output=/shared/%%j/pilots/%A_%a.log\n" in script_of("/shared/%j", ClusterRequest(), "python")


def test_the_script_says_what_was_asked_for_and_becomes_the_pilot() -> None:
    request = request_from({"partition": "dev", "time": "1d", "comment": "a b", "setup": ["module load x"]})
    script = script_of("/shared/my batch", request, "/venv/bin/python", "0-3")
    assert script.startswith("#!/bin/bash\n#SBATCH --job-name=duckrow\n")
    for line in (
        "--partition=dev",
        "--time=1-00:00:00",
        '--comment="a b"',
        "--signal=B:USR2@120",
        "--requeue",
        "--array=0-3",
        '--output="/shared/my batch/pilots/%A_%a.log"',
    ):
        assert f"\n#SBATCH {line}\n" in script
    ending = "module load x\nexec /venv/bin/python -m duckrow.scheduler.pilot '/shared/my batch' \"${1:-0}\"\n"
    assert script.endswith(ending)


def test_a_run_on_several_nodes_is_started_on_each_of_them() -> None:
    request = ClusterRequest(nodes=2, gres="gpu:8")
    assert {"--nodes=2", "--ntasks=2", "--ntasks-per-node=1"} <= set(request.options())
    assert (request.runs_at_a_time, request.jobs_for(20)) == (1, 8)
    script = script_of("/shared/batch", request, "python")
    assert "srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --kill-on-bad-exit=1" in script
    assert "# each run: export MASTER_ADDR=" in script


def test_the_script_shows_the_environment_that_the_settings_name(tmp_path: Path) -> None:
    values = {"modules": ["devel/cuda", "my tool"], "conda": "torch", "setup": ["ulimit -c 0"]}
    request = request_from({**values, "python": "/opt/python", "container": "my image.sif"})
    script = script_of("/shared/batch", request, "/venv/bin/python")
    expected = [
        "module load devel/cuda || exit 1",
        "module load 'my tool' || exit 1",
        'eval "$(conda shell.bash hook)" && conda activate torch || exit 1',
        "ulimit -c 0",
    ]
    assert "\n".join(expected) in script
    assert "# each run: " in script
    assert "'my image.sif' /bin/sh -c COMMAND" in script
    assert "\nexec /opt/python -m duckrow.scheduler.pilot " in script
    assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0


def test_a_short_time_limit_leaves_time_to_work() -> None:
    assert ClusterRequest(time=60.0).notice_s == 15.0
    assert ClusterRequest(time=36000.0).notice_s == 120.0


def test_the_indices_of_an_array_are_written_as_ranges() -> None:
    assert array_of([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"


class FakeSlurm:
    """Answers like sbatch, as far as numbers of jobs go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, largest_array: int, room: int = 10**6) -> None:
        self.arrays: list[str] = []
        self.room = room
        monkeypatch.setattr(commands, "sbatch", self._sbatch)
        monkeypatch.setattr(commands, "limits", lambda: ClusterLimits(largest_array))

    def _sbatch(
        self, script: str, array: str, *arguments: str, environment: Mapping[str, str], options: Sequence[str]
    ) -> int:
        parts = array.partition("%")[0].split(",")
        size = sum(int(part.partition("-")[2] or part) - int(part.split("-")[0]) + 1 for part in parts)
        if size > self.room:
            raise TooMany("QOSMaxSubmitJobPerUserLimit")
        self.room -= size
        self.arrays.append(" ".join([f"{array}+{arguments[0]}", *options]))
        return len(self.arrays)


def test_arrays_are_no_larger_than_slurm_allows(make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm = FakeSlurm(monkeypatch, largest_array=5)
    tending = on_slurm(make_batch(12, ClusterRequest(runs_per_job=1)))
    tending.look({})
    assert len(tending.submit_missing()) == 12
    assert slurm.arrays == ["0-4+0", "0-4+5", "0-1+10"]


def test_all_that_will_be_needed_is_submitted_and_slurm_sees_to_how_many_run_at_a_time(
    make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = FakeSlurm(monkeypatch, largest_array=5)
    tending = on_slurm(make_batch(14, ClusterRequest(runs_per_job=2, max_jobs=2, sbatch=("--dependency=afterok:9",))))
    tending.look({})
    jobs = tending.submit_missing()
    assert slurm.arrays == ["0-4%2+0", "0-1+5 --dependency=afterok:9,afterany:1"]
    tending.look(told({**dict.fromkeys(jobs, "COMPLETED"), "2_1": "RUNNING"}))
    assert len(tending.submit_missing()) == 6
    assert slurm.arrays[2:] == ["0-4%1+0", "0+5 --dependency=afterok:9,afterany:3"]


RUNS = {"running": {}, "taken": 2, "places": 2}


def test_a_run_that_no_other_slurm_job_would_take_is_left_to_the_last(make_batch: MakeBatch) -> None:
    """Two pilots with two runs each have done their share; a third has died, or was given up."""
    tending = on_slurm(make_batch(6, ClusterRequest(runs_per_job=2, lease=1000.0)))
    for number, job in enumerate(("1_0", "1_1", "1_2")):
        pilot = PilotFolder(tending.batch, job)
        pilot.renew(RUNS)
        for run in (2 * number, 2 * number + 1):
            tending.claims.take(pilot.card, run)
    alive = {"1_0": "RUNNING", "1_1": "RUNNING", "1_2": "RUNNING"}
    tending.look(told(alive))
    assert left_over(tending, "1_0") == []  # all are at work
    tending.look(told({**alive, "1_2": "FAILED"}))
    assert left_over(tending, "1_0") == [4, 5]  # and in a moment they lapse
    tending.look(told({**alive, "1_2": "PENDING"}))
    assert left_over(tending, "1_0") == []  # it comes again
    for run in (0, 1, 4, 5):
        tending.claims.release(run, 1, "given back")
    tending.look(told({**alive, "1_2": "CANCELLED"}))
    assert left_over(tending, "1_0") == [0, 1, 4, 5]
    assert left_over(tending, "1_1") == [0, 1, 4, 5]  # the first has nothing to do and may be about to end
    PilotFolder(tending.batch, "1_3").renew({"running": {}, "taken": 0, "idle": False})
    tending.look(told({**alive, "1_2": "CANCELLED", "1_3": "RUNNING"}))
    assert left_over(tending, "1_0") == [4, 5]  # one that has just started takes its share


def test_a_pilot_takes_what_is_left_beyond_its_share_and_beyond_its_chunk(make_batch: MakeBatch) -> None:
    taker = Taker(Claims(batch := make_batch(4)), PilotFolder(batch, "1_0").card, range(2))
    assert [taker.next() for _ in range(3)] == [(0, 1), (1, 1), None]
    taker.widen([3])
    assert [taker.next() for _ in range(2)] == [(3, 1), None]


def test_what_exceeds_the_limit_of_the_user_comes_when_there_is_room(
    make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = FakeSlurm(monkeypatch, largest_array=1000, room=3)
    batch = make_batch(8, ClusterRequest(runs_per_job=1))
    tending = on_slurm(batch)
    tending.look({})
    first = tending.submit_missing()
    assert len(first) == 3
    slurm.room = 10
    tending.look(told(dict.fromkeys(first, "PENDING")))
    assert len(tending.submit_missing()) == 5
    tending.look(told({**dict.fromkeys(tending.states, "PENDING")}))
    assert tending.submit_missing() == []


def test_a_slurm_job_that_has_just_begun_and_said_nothing_yet_is_counted_in_full(
    make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeSlurm(monkeypatch, largest_array=5)
    tending = on_slurm(make_batch(2, ClusterRequest(parallel_runs=2)))
    PilotFolder(tending.batch, "1_0")
    tending.look(told({"1_0": "RUNNING"}))
    assert tending.submit_missing() == []


def test_where_not_one_job_is_allowed_it_is_told(make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeSlurm(monkeypatch, largest_array=1000, room=0)
    tending = on_slurm(make_batch(8))
    tending.look({})
    with pytest.raises(TooMany):
        tending.submit_missing()


def test_a_job_that_slurm_holds_after_a_failed_launch_is_cancelled_and_replaced(
    make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = FakeSlurm(monkeypatch, largest_array=5)
    cancelled: list[str] = []
    monkeypatch.setattr(commands, "scancel", lambda jobs, *_, **__: cancelled.extend(jobs))
    tending = on_slurm(make_batch(2, ClusterRequest(runs_per_job=1)))
    tending.look({})
    first, second = tending.submit_missing()
    held = job_told("PENDING", "launch failed requeued held", None)
    by_its_owner = job_told("PENDING", "JobHeldUser", None)
    tending.look({first: held, second: by_its_owner})
    assert tending.held() == {first: "launch failed requeued held"}
    assert (tending.submit_missing(), cancelled) == (["2_0"], [first])
    assert slurm.arrays == ["0-1+0", "0+0"]


def test_a_chunk_whose_job_died_gets_a_job_of_its_own(make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm = FakeSlurm(monkeypatch, largest_array=2)
    tending = on_slurm(make_batch(8, ClusterRequest(runs_per_job=2, fixed_chunks=True)))
    tending.look({})
    jobs = tending.submit_missing()
    assert (jobs, slurm.arrays) == (["1_0", "1_1", "2_0", "2_1"], ["0-1+0", "0-1+2"])
    for job in jobs:
        PilotFolder(tending.batch, job)
    tending.look(told({**dict.fromkeys(jobs, "RUNNING"), "2_1": "FAILED"}))
    assert tending.submit_missing() == ["3_0"]
    assert slurm.arrays[-1] == "0+3"


def test_those_who_cancel_everything_are_believed(make_batch: MakeBatch) -> None:
    tending = on_slurm(make_batch(4))
    for job in ("1_0", "1_1"):
        PilotFolder(tending.batch, job)
    tending.look(told({"1_0": "CANCELLED", "1_1": "RUNNING"}))
    assert not tending.stands_still()
    tending.look(told({"1_0": "CANCELLED", "1_1": "CANCELLED"}))
    assert tending.stands_still()


def test_one_cancelled_job_of_many_does_not_stop_a_batch(make_batch: MakeBatch) -> None:
    tending = on_slurm(make_batch(4))
    cancelled, other = (PilotFolder(tending.batch, job) for job in ("1_0", "1_1"))
    cancelled.end(TOLD_TO_END)
    other.end("nothing left to take")
    for states in ({"1_0": "CANCELLED"}, {}):  # soon after, and when SLURM has forgotten it
        tending.look(told({**states, "1_1": "COMPLETED"}))
        assert not tending.stands_still()
    other.end(TOLD_TO_END)
    tending.look({})
    assert "cancelled" in tending.stands_still()


@pytest.mark.parametrize(
    ("ends", "stands_still"),
    [
        ([JobEnd("1_0", True, True, 5.0), JobEnd("1_1", False, True, 9.0)], False),
        ([JobEnd("1_0", True, True, 9.0), JobEnd("1_1", False, True, 5.0)], True),  # all that lived then
        ([JobEnd("1_0", True, False, 9.0), JobEnd("2_0", False, True, 5.0)], True),  # two arrays, one after the other
        ([JobEnd("1_0", False, True, 9.0), JobEnd("2_0", False, False)], True),  # the last array did nothing
        ([JobEnd("1_0", True, False)], True),
        ([], False),
    ],
)
def test_the_last_slurm_job_to_end_says_whether_all_were_meant(ends: list[JobEnd], stands_still: bool) -> None:
    assert bool(why_still(ends, 0, "")) is stands_still
    assert not why_still(ends, 2, "")  # somebody has said since that it should go on


def one_submitted(make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch) -> tuple[Tending, list[str]]:
    """A batch of one run, and the SLURM jobs that were submitted for it."""
    FakeSlurm(monkeypatch, largest_array=5)
    tending = on_slurm(make_batch(1))
    tending.look({})
    return tending, tending.submit_missing()


def test_whoever_wants_a_batch_to_go_on_is_believed_until_the_next_array(
    make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    tending, jobs = one_submitted(make_batch, monkeypatch)
    tending.look(told(dict.fromkeys(jobs, "CANCELLED")))
    assert tending.stands_still()
    tending.go_on()
    assert not tending.stands_still()
    jobs += tending.submit_missing()
    tending.look(told(dict.fromkeys(jobs, "CANCELLED")))
    assert tending.stands_still()


def test_whoever_wants_a_batch_to_go_on_need_not_wait_until_slurm_has_seen_a_job_end(
    make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    tending, jobs = one_submitted(make_batch, monkeypatch)
    PilotFolder(tending.batch, jobs[0]).end("it was told to end")
    tending.look(told(dict.fromkeys(jobs, "COMPLETING")))
    assert not tending.submit_missing(), "perhaps somebody has cancelled it"
    tending.go_on()
    assert len(tending.submit_missing()) == 1


def test_nobody_counts_on_a_pilot_that_is_leaving_although_it_has_not_ended(
    make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gives back its runs one by one, and ends when the last of them has."""
    tending, jobs = one_submitted(make_batch, monkeypatch)
    PilotFolder(tending.batch, jobs[0]).renew({"places": 3, "running": {}, "taken": 1, "leaving": TOLD_TO_END})
    tending.look(told(dict.fromkeys(jobs, "RUNNING")))
    assert not tending.submit_missing(), "perhaps somebody has cancelled it"
    tending.go_on()
    assert len(tending.submit_missing()) == 1


def test_nobody_counts_on_a_job_that_slurm_is_ending_although_its_pilot_has_not_heard_of_it(
    make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    tending, jobs = one_submitted(make_batch, monkeypatch)
    PilotFolder(tending.batch, jobs[0]).renew({"places": 3, "running": {}, "taken": 1})
    tending.go_on()
    tending.look(told(dict.fromkeys(jobs, "RUNNING")))
    assert not tending.submit_missing()
    tending.look(told(dict.fromkeys(jobs, "COMPLETING")))
    assert len(tending.submit_missing()) == 1


def test_what_ends_before_it_begins_is_not_submitted_again_and_again(make_batch: MakeBatch) -> None:
    tending = on_slurm(make_batch(4))
    pilots = [PilotFolder(tending.batch, job) for job in ("1_0", "1_1")]
    tending.look(told({"1_0": "FAILED", "1_1": "FAILED"}))
    assert "1_*.log" in tending.stands_still()
    tending.claims.take(pilots[1].card, 0)
    tending.look(told({"1_0": "FAILED", "1_1": "FAILED"}))
    assert not tending.stands_still()


def fake_program(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", NoAnswer),
        ("sbatch: error: Unable to contact slurm controller (connect failure)", NoAnswer),
        ("sbatch: error: QOSMaxSubmitJobPerUserLimit", TooMany),
        ("sbatch: error: invalid partition specified: x", ClusterRefused),
    ],
)
def test_what_sbatch_says_is_understood(
    said: str, kind: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_program(tmp_path / "bin", "sbatch", f"echo '{said}' >&2; exit 1", monkeypatch)
    with pytest.raises(kind) as error:
        commands.sbatch("script", "0", environment={})
    assert error.type is kind
    assert said.rpartition("error: ")[2] in str(error.value)


def test_a_slow_controller_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_program(tmp_path / "bin", "squeue", "exec sleep 600", monkeypatch)
    question = StatesQuestion()
    assert question.answer(0.0) is None
    question.withdraw()
    with pytest.raises(NoAnswer):
        answer_within(StatesQuestion(), 0.05)


def test_the_states_of_jobs_are_read_with_those_of_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["7|0|RUNNING|2026-11-16T08:30:00|None", "7|1|PENDING|N/A|Resources", "9|N/A|FAILED|N/A|NonZeroExitCode"]
    fake_program(tmp_path / "bin", "squeue", "\n".join(f"echo '{line}'" for line in lines), monkeypatch)
    states = answer_within(StatesQuestion())
    assert [states[job].phase for job in ("7_0", "7_1", "9")] == [JobPhase.RUNNING, JobPhase.WAITING, JobPhase.ENDED]
    assert [(states[job].reason, states[job].ended_at is None) for job in ("7_0", "7_1")] == [
        ("", False),
        ("Resources", True),
    ]


def test_the_time_that_is_left_is_reckoned_from_the_end_that_slurm_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_minute = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 60))
    fake_program(
        tmp_path / "bin", "squeue", f"test -e {tmp_path}/unlimited && echo N/A || echo {in_a_minute}", monkeypatch
    )
    assert 0 < (commands.time_left_s("1_0") or 0) <= 60
    (tmp_path / "unlimited").touch()
    assert commands.time_left_s("1_0") is None


def test_a_machine_without_slurm_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="There is no squeue here"):
        answer_within(StatesQuestion())


def test_a_lease_that_cannot_be_renewed_is_lost() -> None:
    lost = threading.Event()
    refused = threading.Event()

    def renew(status: Mapping[str, Any]) -> None:
        if refused.is_set():
            raise OSError("the file server is away")

    lease = Lease(renew, 0.3, lost.set)
    lease.begin({})
    refused.set()
    assert lost.wait(DEADLINE_S)
    lease.finish()


def test_what_is_told_is_written_with_the_lease() -> None:
    written: list[Mapping[str, Any]] = []
    seen = threading.Event()

    def renew(status: Mapping[str, Any]) -> None:
        written.append(status)
        if status.get("running"):
            seen.set()

    lease = Lease(renew, 60.0, lambda: None)
    lease.begin({})
    lease.tell({"running": 1})
    assert seen.wait(DEADLINE_S)
    lease.finish()
    assert written[0] == {}
