"""The GPUs over time are kept at a bounded size."""

from __future__ import annotations

from duckrow.core.ports import Reading
from duckrow.store.devices.history import HistoryWriter, moments_since
from duckrow.store.folder.state_folder import Folder
from duckrow.store.sqlite.database import Database

HOUR_S = 3600
NOON = 1_800_000_000.0


def reading(at: float, used_mb: int | None = 500, device: str = "0") -> Reading:
    free_mb = None if used_mb is None else 20_000 - used_mb
    return Reading(device, at, at - NOON, 20_000, free_mb, 50, 40, ())


def note(database: Database, *readings: Reading) -> None:
    writer = HistoryWriter(database)
    with database.transaction():
        for each in readings:
            writer.note(each)


def test_a_gpu_that_is_read_often_is_noted_every_ten_seconds(folder: Folder) -> None:
    database = Database(folder)
    note(database, *(reading(NOON + tenth / 10, device=gpu) for tenth in range(300) for gpu in ("0", "1")))
    noted = moments_since(database, NOON)
    assert [(moment.device, moment.at - NOON) for moment in noted] == [
        (gpu, at) for at in (0.0, 10.0, 20.0) for gpu in ("0", "1")
    ]
    assert noted[0] == ("0", NOON, 500, 50, 40)
    database.close()


def test_two_hosts_that_read_at_the_same_time_note_it_once(folder: Folder) -> None:
    database = Database(folder)
    note(database, reading(NOON, 500))
    note(database, reading(NOON + 1, 600))
    assert [moment.used_mb for moment in moments_since(database, NOON)] == [500]
    database.close()


def test_a_gpu_that_does_not_tell_its_memory_leaves_a_gap(folder: Folder) -> None:
    database = Database(folder)
    note(database, reading(NOON), reading(NOON + 10, None), reading(NOON + 20))
    assert [moment.at - NOON for moment in moments_since(database, NOON)] == [0, 20]
    database.close()


def test_what_is_old_is_thinned_out_and_at_last_forgotten(folder: Folder) -> None:
    database = Database(folder)
    days = 3
    note(database, *(reading(NOON + slot * 10.0) for slot in range(days * 24 * 360)))
    end = NOON + days * 24 * HOUR_S
    ages_h = [(end - moment.at) / HOUR_S for moment in moments_since(database, 0)]
    last_hour = [age for age in ages_h if age <= 1]
    before = [age for age in ages_h if 1.2 < age <= 47]
    assert len(last_hour) == 360
    assert len(before) == (47 - 1.2) * 30
    assert max(ages_h) < 48.3
    assert len(ages_h) < 2000
    database.close()
