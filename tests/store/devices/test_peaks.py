"""What recipes have taken: as a tick reads it, and as people do."""

from __future__ import annotations

import os

from duckrow.store.devices.peaks import PeakStore
from tests.store.shelf import Shelf

NOT_UTF8 = os.fsdecode(b"train --data d\xe9j\xe0")


def test_a_recipe_that_is_not_utf8_is_found_again(shelf: Shelf) -> None:
    peaks = PeakStore(shelf.database)
    with shelf.database.transaction():
        peaks.learn(NOT_UTF8, "A100", 1000)
        peaks.learn(NOT_UTF8, "A100", 3000)
    assert peaks.known() == {(NOT_UTF8, "A100"): 3000}
    assert [(peak.recipe, peak.peak_mb, peak.runs) for peak in peaks.all()] == [(NOT_UTF8, 3000, 2)]


def test_what_a_person_has_said_stays_whatever_is_learned(shelf: Shelf) -> None:
    peaks = PeakStore(shelf.database)
    peaks.correct([("train", "A100")], 500)
    with shelf.database.transaction():
        peaks.learn("train", "A100", 3000)
        peaks.hear("train", "A100", 4000, runs=7)
    assert peaks.known() == {("train", "A100"): 500}
    peaks.forget([("train", "A100")])
    assert peaks.known() == {}
