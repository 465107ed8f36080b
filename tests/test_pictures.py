"""The terminal pictures of the docs show what the program prints today, and ask no web server for anything."""

from __future__ import annotations

import pytest

from tests.fake_nvml.library import library_or_skip
from tests.pictures import FOLDER, SCENES, take, text_of
from tests.shown import differences


@pytest.mark.parametrize("name", SCENES)
def test_a_picture_is_not_old(name: str) -> None:
    library_or_skip()
    kept = text_of((FOLDER / f"{name}.svg").read_text())
    old = list(differences(kept, text_of(take(name))))
    assert not old, "\n".join([*old, "Take them again: python -m tests.pictures"])


@pytest.mark.parametrize("name", SCENES)
def test_a_picture_needs_nothing_from_elsewhere(name: str) -> None:
    svg = (FOLDER / f"{name}.svg").read_text()
    assert svg.count("://") == 1  # the name of SVG itself
    assert "$ duckrow" in text_of(svg).replace("  ", " ")
