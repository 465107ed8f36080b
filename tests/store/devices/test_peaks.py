"""What recipes have taken: as a tick reads it, and as people do."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from duckrow.core.memory.knowledge import MOST_RUNS, Basis
from duckrow.core.memory.parameters import text_of
from duckrow.store.devices.peaks import PeakStore
from duckrow.store.devices.recipe_runs import RecipeRun
from duckrow.store.folder.state_folder import Folder
from duckrow.store.sqlite.connection import migrations
from duckrow.store.sqlite.database import Database
from tests.store.shelf import Shelf

NOT_UTF8 = os.fsdecode(b"train --data d\xe9j\xe0")


def largest(peaks: PeakStore) -> dict[tuple[str, str], int]:
    return {key: peak.peak_mb for key, peak in peaks.known().peaks.items()}


def test_a_recipe_that_is_not_utf8_is_found_again(shelf: Shelf) -> None:
    peaks = PeakStore(shelf.database)
    with shelf.database.transaction():
        peaks.learn(NOT_UTF8, "A100", 1000)
        peaks.learn(NOT_UTF8, "A100", 3000)
    assert largest(peaks) == {(NOT_UTF8, "A100"): 3000}
    assert [(peak.recipe, peak.peak_mb, peak.runs) for peak in peaks.all()] == [(NOT_UTF8, 3000, 2)]


def test_what_a_person_has_said_stays_whatever_is_learned(shelf: Shelf) -> None:
    peaks = PeakStore(shelf.database)
    peaks.correct([("train", "A100")], 500)
    with shelf.database.transaction():
        peaks.learn("train", "A100", 3000)
        peaks.hear("train", "A100", 4000, runs=7)
    assert largest(peaks) == {("train", "A100"): 500}
    peaks.forget([("train", "A100")])
    assert largest(peaks) == {}


def test_runs_are_known_by_what_they_were_called_with(shelf: Shelf) -> None:
    peaks = PeakStore(shelf.database)
    with shelf.database.transaction():
        for size, mb in ((8, 1000), (16, 2000), (8, 1100)):
            peaks.learn("/train.py", "A100", mb, text_of({"size": str(size)}))
        peaks.learn("/train.py", "A100", 9000, parameters=None)  # it may take more yet
    known = peaks.known()
    told = [known.expected("/train.py", "A100", text_of({"size": size})) for size in ("8", "16", "12")]
    assert [expected and expected.mb for expected in told] == [1100, 2000, 2000]
    assert known.peaks["/train.py", "A100"].peak_mb == 9000
    with shelf.database.transaction():
        peaks.learn("/train.py", "A100", 1500, text_of({"size": "8"}))
    renewed = peaks.renewed(known, "/train.py", "A100").expected("/train.py", "A100", text_of({"size": "8"}))
    assert renewed is not None
    assert renewed.mb == 1500
    peaks.forget([("/train.py", "A100")])
    assert peaks.runs.latest("/train.py", "A100") == []


def test_only_the_latest_runs_of_a_recipe_are_kept(shelf: Shelf) -> None:
    peaks = PeakStore(shelf.database)
    with shelf.database.transaction():
        for number in range(MOST_RUNS + 20):
            peaks.learn("/train.py", "A100", 1000 + number, text_of({"seed": str(number)}))
    kept = peaks.runs.latest("/train.py", "A100")
    assert {run.peak_mb for run in kept} == set(range(1020, 1020 + MOST_RUNS))
    assert largest(peaks) == {("/train.py", "A100"): 1000 + MOST_RUNS + 19}


def test_what_others_tell_of_runs_is_not_counted_as_seen_here(shelf: Shelf) -> None:
    peaks = PeakStore(shelf.database)
    with shelf.database.transaction():
        peaks.hear("/train.py", "A100", 3000)
        peaks.runs.hear("/train.py", "A100", [RecipeRun(text_of({"size": "8"}), 3000, 0)])
    assert [run.runs for run in peaks.runs.latest("/train.py", "A100")] == [0]
    expected = peaks.known().expected("/train.py", "A100", text_of({"size": "8"}))
    assert expected is not None
    assert expected.basis is Basis.SAME


def test_a_database_of_before_keeps_what_it_knows_of_scripts(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "old").make()
    raw = sqlite3.connect(folder.database, isolation_level=None)
    for script in migrations()[:13]:
        raw.executescript(Path(script).read_text())
    raw.execute("PRAGMA user_version = 13")
    rows = [
        ("/w: python train.py", 5000, 3, 0),
        ("/w: python train.py batch_size=32", 8000, 2, 0),
        ("/w: python3 ./train.py --lr {lr}", 1000, 1, 0),
        ("/w: python set.py", 100, 4, 1),
        ("/w: python /w/set.py", 900, 1, 0),
        ("/w: python -m pkg.train", 700, 1, 0),
        ("/w: call train:fit", 600, 1, 0),
        (os.fsencode("/w: python d\udce9.py"), 500, 1, 0),
    ]
    for recipe, peak_mb, runs, corrected in rows:
        raw.execute("INSERT INTO peaks VALUES (?, 'A100', ?, ?, ?, 1.0)", (recipe, peak_mb, runs, corrected))
    raw.close()
    database = Database(folder)
    known = {peak.recipe: (peak.peak_mb, peak.runs, peak.corrected) for peak in PeakStore(database).all()}
    database.close()
    assert known == {
        "/w/train.py": (8000, 6, False),
        "/w/set.py": (100, 5, True),
        "/w: python -m pkg.train": (700, 1, False),
        "/w: call train:fit": (600, 1, False),
        "/w: python d\udce9.py": (500, 1, False),
    }
