"""What happens to a cluster happens to no run: nodes die, limits come, people cancel, controllers restart."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from duckrow.kernel.process import environment_of
from tests.conftest import DEADLINE_S, is_running, until
from tests.slurm.conftest import CPUS, Cluster, SlurmDuckrow

Running = Callable[[int], dict[str, str]]


def finish(run: subprocess.Popen[bytes]) -> tuple[int, str]:
    _, told = run.communicate(timeout=DEADLINE_S)
    return run.returncode, told.decode()


def in_seconds(seconds: float) -> str:
    """A time as SLURM reads it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + seconds))


def blocked_until(name: str) -> str:
    """A run that goes on when a file is there; each attempt leaves a line."""
    return f"echo x >> begun; until test -e {name}; do sleep 0.1; done; echo y >> ended\n"


def test_a_slurm_job_that_somebody_cancels_is_replaced(
    duckrow: SlurmDuckrow, cluster: Cluster, running: Running
) -> None:
    run = duckrow.spawn_run("--runs-per-job", "2", "--parallel-runs", "2", commands=blocked_until("go") * 4)
    jobs = running(2)
    until(lambda: len(duckrow.lines("begun")) == 4, "all four to begin")
    cluster("scancel", next(iter(jobs)))
    until(lambda: len(duckrow.lines("begun")) == 6, "the two of the cancelled job to begin elsewhere")
    (duckrow.work / "go").touch()
    code, told = finish(run)
    assert code == 0, told
    assert duckrow.states() == ["succeeded"] * 4
    assert len(duckrow.lines("ended")) == 4


def test_when_all_slurm_jobs_are_cancelled_nothing_goes_on_before_somebody_says_so(
    duckrow: SlurmDuckrow, cluster: Cluster, running: Running
) -> None:
    run = duckrow.spawn_run("-n", "mine", "--parallel-runs", "2", commands=blocked_until("go") * 2)
    running(1)
    until(lambda: len(duckrow.lines("begun")) == 2, "both to begin")
    cluster("scancel", f"--user={os.getuid()}")
    code, told = finish(run)
    assert code == 1
    assert "duckrow batches mine --start" in told
    assert duckrow.states() == ["queued"] * 2
    told = "mine is stuck: somebody cancelled its SLURM jobs"
    assert told in duckrow("why", "1").stdout
    assert told in duckrow("batches").stderr
    assert "batch mine is stuck (duckrow batches mine --start)" in duckrow("ls").stderr
    waiting = duckrow.spawn("wait", "1-2", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert waiting.stderr is not None
    assert told in waiting.stderr.readline().decode()
    (duckrow.work / "go").touch()
    assert "1 SLURM job submitted" in duckrow("batches", "mine", "--start").stderr
    code, told = finish(waiting)
    assert code == 0, told
    assert duckrow.states() == ["succeeded"] * 2


def test_a_batch_goes_on_when_somebody_wants_its_runs_although_all_jobs_were_cancelled(
    duckrow: SlurmDuckrow, cluster: Cluster, running: Running
) -> None:
    duckrow("submit", "--on", "slurm", "--parallel-runs", "3", "--file", "-", stdin=f"false\n{blocked_until('go') * 2}")
    running(1)
    until(lambda: len(duckrow.lines("begun")) == 2, "two to begin")
    until(lambda: duckrow("ls") and duckrow.states()[0] == "failed", "one to fail")
    cluster("scancel", f"--user={os.getuid()}")
    until(lambda: duckrow("ls") and duckrow.states()[1:] == ["queued"] * 2, "the others to be given back")
    (duckrow.work / "go").touch()
    duckrow("rerun", "--failed")
    until(lambda: len(os.listdir(duckrow.batch() / "submitted")) == 2, "another SLURM job")
    assert duckrow("wait", "1-3", ok=False).returncode == 1
    assert duckrow.states() == ["failed", "succeeded", "succeeded"]
    assert duckrow.sql("SELECT attempts FROM jobs WHERE id = 1") == [(2,)]


def test_runs_of_pilots_that_die_without_a_word_run_again_although_nobody_keeps_accounts(
    duckrow: SlurmDuckrow, cluster: Cluster, running: Running
) -> None:
    """One loses its node, one is killed, one cannot renew its lease; all at once, so that we wait but once."""
    words = ["--runs-per-job", "1", "--cpus-per-task", str(CPUS)]  # a node for each
    run = duckrow.spawn_run(*words, commands=blocked_until("go") * 3)
    jobs = running(3)
    until(lambda: len(duckrow.lines("begun")) == 3, "all three to begin")
    of_dead_node, killed, cut_off = jobs
    folder = duckrow.batch() / "pilots" / f"{cut_off}.0"
    folder.rename(folder.parent / ".away")  # as if the file server were
    os.kill(pilot_of(duckrow, killed), signal.SIGKILL)  # its keeper must end what is nobody's run any more
    cluster.crash(jobs[of_dead_node])
    try:
        until(lambda: not {killed, cut_off} & cluster.jobs().keys(), "two SLURM jobs to end")
        until(lambda: not processes_of(duckrow, killed), "the end of the run of a killed pilot")
        until(lambda: not processes_of(duckrow, cut_off), "the end of the run of a pilot that is cut off")
        (folder.parent / ".away").rename(folder)
        until(lambda: len(duckrow.lines("begun")) >= 5, "others to begin where there is room")
        (duckrow.work / "go").touch()
        code, told = finish(run)
    finally:
        cluster.revive(jobs[of_dead_node])
    assert code == 0, told
    assert duckrow.states() == ["succeeded"] * 3
    assert len(duckrow.lines("ended")) == 3
    assert duckrow.sql("SELECT attempts FROM jobs") == [(2,)] * 3  # what nobody saw end counts too
    assert "could not be renewed" in (folder.parent / f"{cut_off}.log").read_text()


def processes_of(duckrow: SlurmDuckrow, job: str) -> list[int]:
    """Of the runs of a SLURM job."""
    array, index = job.split("_")
    wanted = {f"SLURM_ARRAY_JOB_ID={array}".encode(), f"SLURM_ARRAY_TASK_ID={index}".encode()}
    return [pid for pid in duckrow.job_processes() if wanted <= set(environment_of(pid))]


def pilot_of(duckrow: SlurmDuckrow, job: str) -> int:
    """The parent of its run."""
    leader = next(pid for pid in processes_of(duckrow, job) if os.getsid(pid) == pid)
    return int(Path(f"/proc/{leader}/stat").read_text().rsplit(")", 1)[1].split()[1])


def test_at_the_time_limit_runs_are_told_and_go_on_in_the_next_life_of_the_slurm_job(
    duckrow: SlurmDuckrow, cluster: Cluster, running: Running
) -> None:
    duckrow.settings('[engines.slurm]\nlease = "8s"\nsignal_delay = "4s"\n')
    careful = f"trap 'echo told >> told; exit 75' USR2; {blocked_until('go')}"
    words = ["--parallel-runs", "2", "--time", "10m", "--grace", "1s"]
    run = duckrow.spawn_run(*words, commands=careful + blocked_until("go"))
    job = next(iter(running(1)))
    until(lambda: len(duckrow.lines("begun")) == 2, "both to begin")
    cluster("scontrol", "update", f"JobId={job}", f"EndTime={in_seconds(8)}")
    cluster("scancel", "--signal=USR2", "--batch", job)  # what SLURM does itself, within half a minute
    until(lambda: "told" in duckrow.lines("told"), "the careful one to be told")
    cluster("scontrol", "update", f"JobId={job}", f"EndTime={in_seconds(600)}")  # however slow this machine is
    until(lambda: len(duckrow.lines("begun")) == 4, "both to begin again")
    (duckrow.work / "go").touch()
    code, told = finish(run)
    assert code == 0, told
    assert duckrow.states() == ["succeeded"] * 2
    assert len(duckrow.lines("ended")) == 2
    assert len(os.listdir(duckrow.batch() / "submitted")) == 1  # it was the same SLURM job again


def test_a_controller_that_restarts_in_the_middle_is_waited_for(
    duckrow: SlurmDuckrow, cluster: Cluster, running: Running
) -> None:
    run = duckrow.spawn_run("--runs-per-job", "2", "--parallel-runs", "2", commands=blocked_until("go") * 4)
    jobs = running(2)
    until(lambda: len(duckrow.lines("begun")) == 4, "all four to begin")
    began = time.time()
    cluster("scontrol", "update", f"JobId={next(iter(jobs))}", "Comment=saved")
    until(lambda: os.stat(f"{cluster.state}/ctld/job_state").st_mtime > began, "the controller to save its state")
    controller = cluster.pid_of("slurmctld")
    os.kill(controller, signal.SIGKILL)
    until(lambda: not is_running(controller), "the end of the controller")
    until(lambda: duckrow("ls").stdout.count("running") == 4, "what the pilots tell: that needs no controller")
    cluster.up()
    (duckrow.work / "go").touch()
    code, told = finish(run)
    assert code == 0, told
    assert duckrow.states() == ["succeeded"] * 4


def test_the_command_that_submitted_may_die_and_others_take_over(
    duckrow: SlurmDuckrow, cluster: Cluster, running: Running
) -> None:
    run = duckrow.spawn_run("--runs-per-job", "1", "--max-jobs", "1", commands="echo x >> ended\n" * 2)
    until(lambda: duckrow.lines("ended"), "the first to end")
    run.kill()
    finish(run)
    duckrow("wait", "1-2")  # which submits what is missing
    assert duckrow.states() == ["succeeded"] * 2
    assert len(duckrow.lines("ended")) == 2


def test_after_submit_nobody_has_to_come_by_although_pilots_are_killed_and_cancelled(
    duckrow: SlurmDuckrow, cluster: Cluster, running: Running
) -> None:
    """Two at a time, three runs each, and one array does not hold all: SLURM and the pilots themselves see to it."""
    duckrow.settings('[engines.slurm]\nlease = "4s"\n')
    words = ["--runs-per-job", "3", "--parallel-runs", "3", "--max-jobs", "2", "--file", "-"]
    first = "".join(f"test -e go || exec sleep 600; echo {n} >> well\n" for n in range(6))
    duckrow("submit", "--on", "slurm", *words, stdin=first + "".join(f"echo {n} >> well\n" for n in range(6, 20)))
    jobs = list(running(2))
    until(lambda: len(list((duckrow.batch() / "claims").iterdir())) == 6, "six to be taken")
    until(lambda: len(processes_of(duckrow, jobs[0])) >= 3, "the runs of one to begin")
    assert len(cluster.jobs()) == 2
    (duckrow.work / "go").touch()
    os.kill(pilot_of(duckrow, jobs[0]), signal.SIGKILL)
    cluster("scancel", jobs[1])
    until(lambda: len(duckrow.lines("well")) == 20, "all to be done")
    assert sorted(map(int, duckrow.lines("well"))) == list(range(20))
    until(lambda: not cluster("squeue", "--noheader"), "no SLURM job to be left")
    duckrow("ls")
    assert duckrow.states() == ["succeeded"] * 20


def test_the_daemon_submits_what_came_while_the_controller_was_down(duckrow: SlurmDuckrow, tmp_path: Path) -> None:
    down = tmp_path / "down"
    down.touch()
    sbatch = tmp_path / "bin" / "sbatch"
    sbatch.parent.mkdir()
    said = "sbatch: error: Unable to contact slurm controller (connect failure)"
    sbatch.write_text(
        f"#!/bin/sh\ntest -e {down} && echo '{said}' >&2 && exit 1\nexec {shutil.which('sbatch')} \"$@\"\n"
    )
    sbatch.chmod(0o755)
    duckrow.env["PATH"] = f"{sbatch.parent}:{os.environ['PATH']}"
    done = duckrow("submit", "--on", "slurm", "--", "echo there >> well")
    assert done.stdout == "1\n"
    assert "The daemon submits them as soon as SLURM answers." in done.stderr
    duckrow("down")
    down.unlink()
    duckrow.up("--slots", "1")  # which looks at once, and then every few seconds
    until(lambda: duckrow.lines("well") == ["there"], "it to run although nobody came by")


def test_a_run_that_is_interrupted_too_often_is_given_up(
    duckrow: SlurmDuckrow, cluster: Cluster, running: Running
) -> None:
    duckrow.settings('[engines.slurm]\nlease = "8s"\nmax_interruptions = 1\n')
    commands = blocked_until("never") + blocked_until("go")
    run = duckrow.spawn_run("--runs-per-job", "1", commands=commands)
    until(lambda: len(duckrow.lines("begun")) == 2, "both to begin")
    first = read_holder(duckrow, 0)
    cluster("scancel", first)
    until(lambda: len(duckrow.lines("begun")) == 3, "the first to begin again")
    until(lambda: read_holder(duckrow, 0) not in (first, ""), "its second claim")
    cluster("scancel", read_holder(duckrow, 0))
    given_up = ("timed-out", "lost")  # by the pilot; by us, if SLURM was so quick to kill it that it could not
    until(lambda: duckrow("ls") and duckrow.states()[0] in given_up, "the first to be given up")
    (duckrow.work / "go").touch()
    code, told = finish(run)
    assert code == 1
    assert "interrupted too often" in told


def read_holder(duckrow: SlurmDuckrow, run: int) -> str:
    """The SLURM job that has this run."""
    import json

    claims = sorted((duckrow.batch() / "claims").glob(f"{run}.*"), key=lambda path: int(path.suffix[1:]))
    return str(json.loads(claims[-1].read_text())["slurm_job"]) if claims else ""


def test_a_preempted_slurm_job_gives_its_runs_back_and_comes_again(
    duckrow: SlurmDuckrow, cluster: Cluster, running: Running
) -> None:
    words = ["--partition", "low", "--parallel-runs", "1", "--cpus-per-task", "4", "--max-jobs", "1"]
    run = duckrow.spawn_run(*words, commands=blocked_until("go"))
    running(1)
    until(lambda: len(duckrow.lines("begun")) == 1, "it to begin")
    cluster(
        "sbatch",
        "--partition=high",
        "--nodes=3",
        "--exclusive",
        "--output=/dev/null",
        "--wrap",
        f"touch {duckrow.work}/urgent",
    )
    until((duckrow.work / "urgent").exists, "the urgent one to run")
    until(lambda: len(duckrow.lines("begun")) == 2, "it to begin again")
    (duckrow.work / "go").touch()
    code, told = finish(run)
    assert code == 0, told
    assert duckrow.states() == ["succeeded"]


def test_of_a_hundred_runs_in_all_this_trouble_none_is_lost_and_none_succeeds_twice(
    duckrow: SlurmDuckrow, cluster: Cluster, running: Running
) -> None:
    duckrow.settings('[engines.slurm]\nlease = "8s"\nsignal_delay = "6s"\n')
    too_long = [f"test -e tried-{n} && echo {n} >> well && exit; touch tried-{n}; sleep 600" for n in range(5)]
    killed = ["kill -TERM $$"] * 10  # not KILL: the kernel does that too, and its count is that of the machine
    plain = [f"sleep 0.2; echo {n} >> well" for n in range(5, 90)]
    mixed = [*too_long, *plain[:40], *killed, *plain[40:]]
    words = ["--parallel-runs", "4", "--cpus-per-task", str(CPUS), "--max-jobs", "3", "--time", "10m", "--grace", "1s"]
    run = duckrow.spawn_run(*words, commands="\n".join(mixed) + "\n")
    jobs = running(3)
    until(lambda: len(duckrow.lines("well")) >= 15, "some to succeed")
    dead = next(iter(jobs.values()))
    cluster.crash(dead)
    try:
        until(lambda: len(duckrow.lines("well")) >= 80, "most to succeed")
        for job in cluster.jobs():
            cluster("scontrol", "update", f"JobId={job}", f"EndTime={in_seconds(10)}", ok=False)
            cluster("scancel", "--signal=USR2", "--batch", job, ok=False)
        code, told = finish(run)
    finally:
        cluster.revive(dead)
    assert code == 1
    assert "90 succeeded, 10 killed" in told, told
    assert sorted(duckrow.states()) == ["killed"] * 10 + ["succeeded"] * 90
    well = list(map(int, duckrow.lines("well")))
    assert set(well) == set(range(90))
    assert len(well) <= 90 + 4  # of the dead node some had done their work, but nobody had seen their end
    again = "SELECT count(*) FROM attempts a JOIN attempts b ON b.job_id = a.job_id AND b.number > a.number"
    assert duckrow.sql(f"{again} WHERE a.outcome = 'succeeded'") == [(0,)]
