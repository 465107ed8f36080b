"""The folder for compiled modules: local, private, or none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from duckrow.store.folder import bytecode_folder as module
from duckrow.store.folder.bytecode_folder import bytecode_folder


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "duckrow"


def test_it_is_in_the_cache_of_the_user_and_private(cache: Path) -> None:
    assert bytecode_folder() == str(cache / "bytecode")
    assert (cache / "bytecode").stat().st_mode & 0o777 == 0o700
    assert bytecode_folder() == str(cache / "bytecode"), "it exists now"


@pytest.mark.parametrize("named", ["", "relative"])
def test_without_an_absolute_path_it_is_in_the_home_folder(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert bytecode_folder() == str(tmp_path / ".cache/duckrow/bytecode")


def test_there_is_none_where_others_could_put_code(cache: Path) -> None:
    (cache / "bytecode").mkdir(parents=True)
    cache.chmod(0o777)
    assert bytecode_folder() is None


def test_there_is_none_in_the_folder_of_somebody_else(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.mkdir(parents=True)
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    assert bytecode_folder() is None


def test_there_is_none_behind_a_link(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    cache.parent.mkdir()
    cache.symlink_to(tmp_path / "elsewhere")
    assert bytecode_folder() is None


def test_there_is_none_on_a_network_file_system(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "file_system_of", lambda path: "nfs4")
    assert bytecode_folder() is None
    assert not cache.exists()


def test_there_is_none_where_none_can_be_made(cache: Path) -> None:
    cache.parent.touch()
    assert bytecode_folder() is None
