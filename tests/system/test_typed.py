"""What a person typed is done, or refused with the right command: never half done, never ignored."""

from __future__ import annotations

import signal

from tests.conftest import Duckrow, until
from tests.system.test_run import said, start_interruptible


def test_a_list_of_commands_may_be_called_as_it_likes(duckrow: Duckrow) -> None:
    (duckrow.work / "commands.sh").write_text("# my runs\nfor i in 1 2; do echo $i; done\nif true; then echo x; fi\n")
    assert "2 succeeded" in duckrow("run", "commands.sh").stderr


# -- all of them ----------------------------------------------------------------------------------------------------


def test_all_jobs_are_those_of_runs_too(duckrow: Duckrow) -> None:
    run, _ = start_interruptible(duckrow)
    assert duckrow("wait", "--all", "--timeout", "0.1", ok=False).returncode == 124
    assert "stopping 10 jobs" in duckrow("kill", "--all").stderr
    run.communicate()
    assert run.returncode == 1
    assert duckrow.sql("SELECT DISTINCT outcome FROM jobs") == [("killed",)]


def test_what_an_interrupted_run_has_left_is_not_waited_for_and_can_be_ended(duckrow: Duckrow) -> None:
    run, gate = start_interruptible(duckrow)
    run.send_signal(signal.SIGINT)
    said(run, "starting nothing more")
    gate.touch()
    run.communicate()
    assert run.returncode == 130
    assert "not waiting for 8 jobs of a run that has ended" in duckrow("wait", "--all").stderr
    assert "the daemon is not running" not in duckrow("ls").stderr
    duckrow("kill", "--all")
    until(lambda: not duckrow.sql("SELECT 1 FROM jobs WHERE state <> 'done'"), "the end of what was left")


# -- signals --------------------------------------------------------------------------------------------------------


def test_a_signal_goes_to_those_that_listen_and_the_job_goes_on(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    program = "trap 'echo heard >> heard' USR1; touch ready; until test -e gate; do sleep 0.05; done"
    (duckrow.work / "listens.sh").write_text(f"{program}\n")
    job = duckrow.submit("sh listens.sh; true")  # the shell around it does not listen
    until(lambda: (duckrow.work / "ready").exists(), "the program to listen")
    assert duckrow("kill", "--signal", "USR1", str(job)).stderr == f"duckrow: USR1 sent to job {job}.\n"
    until(lambda: (duckrow.work / "heard").exists(), "the signal to be heard")
    (duckrow.work / "gate").touch()
    duckrow.wait_for(job, "succeeded")
    waiting = duckrow.submit("--hold", "true")
    in_vain = duckrow("kill", "--signal", "10", str(waiting), ok=False)
    assert in_vain.returncode == 1
    assert f"job {waiting} is queued: it has no process to signal." in in_vain.stderr
    refused = duckrow("kill", "--signal", "WHAT", str(waiting), ok=False)
    assert (refused.returncode, "'WHAT' is not a signal. Write USR1, INT" in refused.stderr) == (2, True)


# -- several GPUs ---------------------------------------------------------------------------------------------------


def test_a_job_of_several_gpus_tells_torchrun_how_many_and_never_over_what_the_user_said(duckrow: Duckrow) -> None:
    shows = "echo $PET_NPROC_PER_NODE $PET_MASTER_PORT $MASTER_PORT > {}"
    jobs = "\n".join(shows.format(name) for name in ("first", "second"))
    duckrow("run", "--devices", "0-3", "--gpus", "2", stdin=jobs)
    told = [(duckrow.work / name).read_text().split() for name in ("first", "second")]
    assert [processes for processes, _, _ in told] == ["2", "2"]
    assert all(port == other for _, port, other in told)
    assert told[0][1] != told[1][1]
    own = {"PET_NPROC_PER_NODE": "7", "MASTER_PORT": "1234"}
    duckrow("run", "--devices", "0,1", "--gpus", "2", stdin=shows.format("own"), env=own)
    processes, _, port = (duckrow.work / "own").read_text().split()
    assert (processes, port) == ("7", "1234")
    duckrow("run", "--devices", "0", stdin=shows.format("one"))
    assert (duckrow.work / "one").read_text() == "\n"
