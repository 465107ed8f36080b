"""What takes long on a real SLURM, such as 2,000 runs while a third of their jobs is killed: `make soak`."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter

import pytest

from tests.conftest import until
from tests.slurm.conftest import Cluster, SlurmDuckrow
from tests.slurm.test_faults import pilot_of

RUNS, EACH = 2000, 84
KILLED = -(-RUNS // EACH) // 3
pytestmark = pytest.mark.skipif(not os.environ.get("DUCKROW_SOAK"), reason="takes minutes: make soak")


def test_two_thousand_runs_are_done_once_each_while_a_third_of_their_slurm_jobs_is_killed(
    duckrow: SlurmDuckrow, cluster: Cluster
) -> None:
    duckrow.settings('[engines.slurm]\nlease = "8s"\n')
    words = ["--runs-per-job", str(EACH), "--parallel-runs", "4", "--max-jobs", "6", "--file", "-"]
    commands = "".join(f"sleep 0.2; echo {number} >> well\n" for number in range(RUNS))
    duckrow("submit", "--on", "slurm", *words, stdin=commands)
    chance, killed = random.Random(17), set[str]()
    while len(killed) < KILLED and len(duckrow.lines("well")) < RUNS:
        victim = chance.choice([*cluster.jobs(), ""])
        if victim and victim not in killed and kill(duckrow, cluster, victim, gently=chance.random() < 0.5):
            killed.add(victim)
        time.sleep(chance.uniform(0.5, 3.0))  # in time: the moment is left to chance
    until(lambda: not cluster("squeue", "--noheader"), "all SLURM jobs to end", 600.0)
    done = Counter(map(int, duckrow.lines("well")))
    assert set(done) == set(range(RUNS)), "nothing is lost, and nobody typed anything"
    assert sum(done.values()) <= RUNS + 4 * len(killed)  # those that ran when their pilot was killed
    duckrow("ls")
    assert Counter(duckrow.states()) == {"succeeded": RUNS}
    again = "SELECT count(*) FROM attempts a JOIN attempts b ON b.job_id = a.job_id AND b.number > a.number"
    assert duckrow.sql(f"{again} WHERE a.outcome = 'succeeded'") == [(0,)]


def test_a_run_that_does_not_fit_into_the_time_that_is_left_is_begun_by_the_next_life_of_the_slurm_job(
    duckrow: SlurmDuckrow,
) -> None:
    """Its limit is longer than what is left once the first has ended: the SLURM job ends early instead of trying."""
    words = ["--on", "slurm", "--parallel-runs", "1", "--max-jobs", "1", "--time", "1m", "--timeout", "56s"]
    duckrow("submit", *words, "--file", "-", stdin="sleep 6; exit 1\necho x >> ended\n")
    duckrow("wait", "1-2", ok=False)
    assert duckrow.states() == ["failed", "succeeded"]
    assert duckrow.sql("SELECT count(*) FROM attempts") == [(2,)]  # nothing was begun in vain
    first = min(duckrow.batch().glob("pilots/*.0/end.json"))
    assert "does not fit into its time" in first.read_text()


def kill(duckrow: SlurmDuckrow, cluster: Cluster, job: str, gently: bool) -> bool:
    """Stop it with scancel, or kill its host without warning. False: it had nothing to do at that moment."""
    if gently:
        cluster("scancel", job)
        return True
    try:
        os.kill(pilot_of(duckrow, job), signal.SIGKILL)
    except (StopIteration, OSError):
        return False
    return True
