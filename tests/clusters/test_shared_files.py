"""What batches write into folders that other machines read."""

from __future__ import annotations

from pathlib import Path

from duckrow.clusters.shared_files import names


def test_names_come_in_the_same_order_from_every_file_system(tmp_path: Path) -> None:
    written = [f"run-{number:02}" for number in range(40)]
    for name in reversed(written):
        (tmp_path / name).touch()
    (tmp_path / ".draft").touch()
    assert names(str(tmp_path)) == written
