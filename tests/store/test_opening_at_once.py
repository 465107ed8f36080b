"""Several processes at a database that is not there yet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from duckrow.store.sqlite.connection import migrations
from tests.conftest import DEADLINE_S

OPEN_MANY = """
import sys
from pathlib import Path
from duckrow.store.sqlite.database import Database
from duckrow.store.folder.state_folder import Folder
print("here", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    database = Database(Folder(Path(sys.argv[1]) / str(number)).make())
    assert database.one("SELECT count(*) FROM hosts") == 1
    print(database.one("PRAGMA user_version"), flush=True)
"""


def test_several_processes_may_open_a_fresh_database_at_once(tmp_path: Path) -> None:
    folders = 15
    command = [sys.executable, "-c", OPEN_MANY, str(tmp_path), str(folders)]
    pipe = subprocess.PIPE
    openers = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(4)]
    for opener in openers:
        assert opener.stdout is not None
        assert opener.stdout.readline() == "here\n"
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("go\n")
        opener.stdin.flush()
    said = [opener.communicate(timeout=DEADLINE_S) for opener in openers]
    assert [opener.returncode for opener in openers] == [0] * len(openers), said
    assert {out for out, _ in said} == {f"{len(migrations())}\n" * folders}
