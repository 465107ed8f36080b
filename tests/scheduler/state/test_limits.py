"""How many more jobs of a project or an array may run, and what is left of cores and memory."""

from __future__ import annotations

from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Needs
from duckrow.core.schedule.decide import CORES, MEMORY
from duckrow.scheduler.state.limits import Limits
from tests.core.language import attempt, job

HERE, ELSEWHERE = 1, 2


def test_only_jobs_of_this_host_count_for_its_limits() -> None:
    """It also watches attempts of hosts that have died, whose jobs have limits of their own."""
    limits = Limits()
    assert limits.room([], HERE) == {}, "where there is no limit, nothing is counted"
    limits.look({"project:vision": 3, "array:7": 1}, [])
    live = [
        attempt(job(project="vision", array_id=7), job_host_id=HERE),
        attempt(job(project="vision"), job_host_id=ELSEWHERE),
        attempt(job(project="speech"), job_host_id=HERE),
    ]
    assert limits.room(live, HERE) == {"project:vision": 2, "array:7": 0}


def test_cores_and_memory_are_promised_to_live_attempts_and_to_other_hosts() -> None:
    limits = Limits()
    limits.look({}, [Needs(cpus=1, mem_mb=100)])
    live = [attempt(job(needs=Needs(cpus=2, mem_mb=200).as_text())), attempt(job())]
    assert limits.of_machine(Machine(cpus=8, mem_mb=1000), live) == {CORES: 5, MEMORY: 700}
    assert limits.of_machine(Machine(), live) == {}, "what is not known is not limited"
