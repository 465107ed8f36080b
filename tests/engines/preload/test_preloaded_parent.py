"""What a preloaded parent imports, and what it notices meanwhile. `tests/system/test_warm.py` has real ones."""

from __future__ import annotations

import importlib
import os
import py_compile
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.engines.local.preload import preloaded_parent


@pytest.fixture
def torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a library of that name."""
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "torch"}
    for name in before:
        del sys.modules[name]
    folder = tmp_path / "site-packages" / "torch"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(folder.parent))
    importlib.invalidate_caches()
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        del sys.modules[name]
    sys.modules.update(before)


def test_what_a_library_loads_later_is_imported_only_with_that_library(torch: Path) -> None:
    (torch / "_dynamo.py").touch()
    preloaded_parent._import_later()
    assert not preloaded_parent._loaded_later()
    assert preloaded_parent._import(["torch"], []) == ""
    preloaded_parent._import_later()
    assert preloaded_parent._loaded_later()


@pytest.mark.parametrize("source", [None, "raise RuntimeError('no compiler')", "import sys; sys.exit(3)"])
def test_a_library_that_has_nothing_to_load_later_is_preloaded_all_the_same(torch: Path, source: str | None) -> None:
    if source is not None:
        (torch / "_dynamo.py").write_text(source)
    assert preloaded_parent._import(["torch"], []) == ""
    preloaded_parent._import_later()
    assert "torch" in sys.modules
    assert not preloaded_parent._loaded_later()


def test_an_import_that_fails_is_told_with_its_error(torch: Path) -> None:
    (torch / "__init__.py").write_text("raise ValueError('broken')")
    assert preloaded_parent._import(["torch"], []) == "the import of torch failed: ValueError: broken"


@pytest.fixture
def without_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that sets PYTHONDONTWRITEBYTECODE."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "pycache_prefix", None)


def compiled_in(folder: Path) -> list[str]:
    return sorted(path.name.partition(".")[0] for path in folder.rglob("*.pyc"))


@pytest.mark.usefixtures("without_bytecode")
def test_what_must_not_be_compiled_beside_its_source_is_compiled_into_a_folder_of_ours(
    torch: Path, tmp_path: Path
) -> None:
    (torch / "__init__.py").write_text("from torch import nn")
    (torch / "nn.py").touch()
    with preloaded_parent._only_libraries(str(tmp_path / "ours")):
        assert preloaded_parent._import(["torch"], []) == ""
    assert compiled_in(tmp_path / "ours") == ["__init__", "nn"]
    assert compiled_in(torch) == []
    assert (sys.dont_write_bytecode, sys.pycache_prefix) == (True, None), "runs do as they are told"


@pytest.mark.usefixtures("without_bytecode")
def test_what_is_compiled_beside_its_source_is_used_and_not_written_even_if_it_is_old(
    torch: Path, tmp_path: Path
) -> None:
    (torch / "__init__.py").write_text("import torch.new, torch.changed")
    for name in ("new", "changed"):
        (torch / f"{name}.py").touch()
    for name in ("__init__", "changed"):
        py_compile.compile(str(torch / f"{name}.py"), doraise=True)
    (torch / "changed.py").write_text("value = 1")
    before = {path: path.stat().st_mtime_ns for path in torch.rglob("*.pyc")}
    with preloaded_parent._only_libraries(str(tmp_path / "ours")):
        assert preloaded_parent._import(["torch"], []) == ""
    assert compiled_in(tmp_path / "ours") == ["new"]
    assert {path: path.stat().st_mtime_ns for path in torch.rglob("*.pyc")} == before
    assert sys.modules["torch.changed"].value == 1


def test_who_reads_what_differs_from_run_to_run_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    with preloaded_parent._reads_of_own_variables() as read:
        os.environ.get("HOME")
        assert read == []
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "3"
        assert read == ["CUDA_VISIBLE_DEVICES"]
    os.environ.get("CUDA_VISIBLE_DEVICES")
    assert len(read) == 1
