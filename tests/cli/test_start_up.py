"""What a verb loads before it answers: most of the time that a short command takes goes there.

`loaded_modules.txt` has our modules that each verb needs. A new one fails here, by its name: is it really needed for
that? Then `python -m tests.cli.test_start_up --write` notes it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from duckrow.api.client import Client
from duckrow.core.devices.inventory import cpu_seats
from duckrow.core.devices.machine import BARE
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON, try_lock, unlock
from duckrow.store.jobs.requests import MANY

RECORD = Path(__file__).with_name("loaded_modules.txt")
COMMANDS = {
    "--help": ["--help"],
    "ls": ["ls"],
    "submit": ["submit", "true"],
    "wait": ["wait", "--all"],
    "kill": ["kill", "1"],
}
RUN = ["run", "--slots", "1", "--", "true"]
# Each takes milliseconds, and none of these verbs has a use for it.
NEVER = frozenset(
    "asyncio bz2 concurrent.futures ctypes importlib.metadata logging lzma multiprocessing pynvml random rich shutil"
    " statistics subprocess tempfile unittest urllib.parse yaml".split()
)

_PROGRAM = """
import sys
before = set(sys.modules)
from duckrow.cli.main import run_cli
code = run_cli(sys.argv[1:])
print("loaded:", *sorted(set(sys.modules) - before), file=sys.stderr)
sys.exit(code)
"""


@contextmanager
def daemon_of(home: Path) -> Iterator[None]:
    """A state folder whose daemon seems to be there."""
    folder = Folder(home).make()
    client = Client(folder)
    client.hosts.open(DAEMON, cpu_seats(1), BARE)
    lock = try_lock(folder, DAEMON)
    assert lock is not None
    yield
    unlock(folder, DAEMON, lock)
    client.close()


def loaded_by(verb: str, home: Path) -> set[str]:
    with daemon_of(home):
        return loaded_for(COMMANDS[verb], home)


def loaded_for(words: list[str], home: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *words],
        env={**os.environ, "DUCKROW_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    told = [line for line in done.stderr.splitlines() if line.startswith("loaded:")]
    assert told, done.stderr
    return set(told[0].split()[1:])


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.split(".")[0] == "duckrow"}


def recorded() -> dict[str, set[str]]:
    blocks = RECORD.read_text().split("\n\n")
    return {verb.rstrip(":"): set(names) for verb, *names in (block.split() for block in blocks)}


def test_what_only_the_host_of_a_run_needs_is_loaded_after_the_fork_so_that_its_keeper_stays_small() -> None:
    code = "import sys, duckrow.cli.runs.local; print('duckrow.scheduler.loop' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_verb_loads_no_more_than_it_needs(verb: str, tmp_path: Path) -> None:
    loaded, known = loaded_by(verb, tmp_path / "state"), recorded()[verb]
    new, heavy = sorted(ours(loaded) - known), sorted(loaded & NEVER)
    assert not heavy, f"`duckrow {verb}` loads {', '.join(heavy)}."
    assert not new, f"`duckrow {verb}` loads {', '.join(new)} too: see the first lines of this file."
    gone = sorted(known - ours(loaded))
    assert not gone, f"`duckrow {verb}` no longer loads {', '.join(gone)}: note it, so that it stays so."


def test_the_help_needs_neither_click_nor_typing(tmp_path: Path) -> None:
    assert loaded_by("--help", tmp_path / "state").isdisjoint({"click", "typing", "inspect", "sqlite3", "json"})


def test_a_verb_without_options_needs_neither_click_nor_typing(tmp_path: Path) -> None:
    """Each of these takes milliseconds, and both verbs shall take little longer than the start of Python itself."""
    heavy = {"click", "dataclasses", "inspect", "typing", "signal", "duckrow.cli.group"}
    with daemon_of(tmp_path / "state"):
        loaded = {verb: loaded_for(COMMANDS[verb], tmp_path / "state") for verb in ("submit", "ls")}
    assert {verb: sorted(modules & heavy) for verb, modules in loaded.items()} == {"submit": [], "ls": []}


def test_a_run_of_plain_commands_loads_nothing_of_preloading_and_of_keys(tmp_path: Path) -> None:
    """A list of a few hundred short commands is over in less time than it takes to load what other runs need."""
    heavy = {"hashlib", "random", "secrets", "urllib.parse", "duckrow.engines.local.preload.preloaded_parent"}
    assert sorted(loaded_for(RUN, tmp_path / "state") & heavy) == []


def test_a_run_of_a_short_list_needs_neither_click_nor_typing_nor_threads(tmp_path: Path) -> None:
    commands = tmp_path / "commands"
    commands.write_text("true\n" * MANY)
    loaded = loaded_for(["run", "--slots", "1", str(commands)], tmp_path / "state")
    heavy = {"click", "dataclasses", "inspect", "typing", "duckrow.cli.group", "threading"}
    assert sorted(loaded & heavy) == []


def test_what_a_run_loads_at_its_start_needs_no_weak_references() -> None:
    """A host that lives for over a second has an inotify, which does."""
    loads = "import duckrow.cli.runs.local, duckrow.scheduler.hosts.run_host"
    program = f"import sys; before = {{*sys.modules}}; {loads}; print(*{{*sys.modules}} - before)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert "duckrow.engines.local.engine" in done.stdout.split()
    assert "weakref" not in done.stdout.split()


def test_a_run_on_a_cluster_loads_nothing_that_runs_jobs_here(tmp_path: Path) -> None:
    commands = tmp_path / "commands"
    commands.write_text("true\n")
    loaded = loaded_for(["run", "--on", "slurm", "--dry-run", str(commands)], tmp_path / "state")
    parts = {".".join(name.split(".")[:2]) for name in ours(loaded)}
    assert parts.isdisjoint({"duckrow.scheduler", "duckrow.engines", "duckrow.devices"})


def test_a_pilot_loads_nothing_that_it_needs_only_at_its_end(tmp_path: Path) -> None:
    """Many start at once, and their runs wait."""
    program = "import sys, duckrow.scheduler.pilot; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert set(done.stdout.split()).isdisjoint({"shutil", "tempfile", "random", "bz2", "lzma", "_strptime"})


def write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = {verb: ours(loaded_by(verb, Path(folder) / verb)) for verb in COMMANDS}
    blocks = ["\n".join([f"{verb}:", *(f"  {name}" for name in sorted(names))]) for verb, names in found.items()]
    RECORD.write_text("\n\n".join(blocks) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("Say --write: the modules that each verb loads are noted.")
    write()
