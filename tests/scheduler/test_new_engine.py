"""An engine that somebody brings along is given to the loop, and all else is as always (see CONTRIBUTING)."""

from __future__ import annotations

from pathlib import Path

from duckrow.core.devices.inventory import cpu_seats
from duckrow.core.jobs.job import JobSpec
from duckrow.core.ports import Engine
from duckrow.engines.dry.gpus import dry_reader
from duckrow.engines.dry.machine import DryMachine
from duckrow.scheduler.hosts.host import Host
from duckrow.scheduler.loop import Loop
from duckrow.scheduler.reactor import EpollReactor
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.store.jobs.history import JobStoryStore
from duckrow.store.sqlite.database import Database
from tests.conftest import DEADLINE_S
from tests.engines import thread_engine
from tests.engines.harness import HARNESSES, ThreadHarness
from tests.engines.thread_engine import ThreadEngine
from tests.test_architecture import complaint, imports_in


def test_the_engine_could_stand_where_contributing_has_it_stand() -> None:
    """Step 1: it has the methods of `Engine`, and imports what an engine may."""
    source = Path(thread_engine.__file__).read_text()
    imports = imports_in("duckrow.engines.threads.engine", source)
    assert [sentence for found in imports if (sentence := complaint(found))] == []
    promised = {name for name in vars(Engine) if not name.startswith("_")}
    assert {name for name in vars(ThreadEngine) if not name.startswith("_")} == promised


def test_the_contract_is_asked_of_it() -> None:
    """Step 2."""
    assert HARNESSES["threads"] is ThreadHarness


def test_a_loop_that_is_given_another_engine_runs_jobs_by_it(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path / "home")).make()
    database = Database(folder, durable=False)
    reactor = EpollReactor()
    without_gpus = DryMachine(lambda attempt: NotImplemented)
    loop = Loop(
        database,
        Host(folder, database, DAEMON),
        cpu_seats(2),
        ThreadEngine(reactor),
        reactor,
        lambda reactor: dry_reader(without_gpus, reactor),
    )
    loop.begin()
    for command in ("echo hello", "exit 3"):
        loop.state.take_in(JobSpec(command, str(tmp_path)))
    while not loop.idle():
        loop.turn(DEADLINE_S)
    loop.close()
    said, failed = (JobStoryStore(database).attempts(job_id)[0] for job_id in (1, 2))
    database.close()
    assert (said.exit_code, failed.exit_code) == (0, 3)
    assert Path(said.log).read_text() == "hello\n"
