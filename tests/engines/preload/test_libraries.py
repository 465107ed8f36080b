"""Which libraries are imported before runs are forked: those that the project's modules certainly import."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from duckrow.engines.local.preload.libraries import OnlyLibraries, OwnModule, is_library, libraries_of


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which a module is written, below it a place for libraries."""
    installed = tmp_path / "lib" / "site-packages"
    (installed / "heavy").mkdir(parents=True)
    for name in ("heavy/__init__", "heavy/nn", "light"):
        (installed / f"{name}.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(installed), *sys.path])
    importlib.invalidate_caches()
    return tmp_path


def told(*entries: str) -> list[str | tuple[str, ...]]:
    return [(name, *taken) if taken else name for name, taken in libraries_of(entries)]


def write(project: Path, **sources: str) -> None:
    """`a_of_b` stands for b/a.py."""
    for name, source in sources.items():
        path = project / f"{'/'.join(reversed(name.split('_of_')))}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
    importlib.invalidate_caches()


@pytest.mark.parametrize(
    ("source", "libraries"),
    [
        ("import heavy, light", ["heavy", "light"]),
        ("import heavy.nn as n", ["heavy.nn"]),
        ("from heavy import nn, Tensor", [("heavy", "nn", "Tensor")]),
        ("from heavy import *", ["heavy"]),
        ("from __future__ import annotations\nimport json", ["json"]),
        ("try:\n    import heavy\nexcept ImportError:\n    import light", ["heavy"]),
        ("import sys\nif sys.platform == 'x':\n    import heavy", ["sys"]),
        ("def f():\n    import heavy", []),
        ("import no_such_module\nimport light", ["light"]),
        ("this is no Python", []),
    ],
)
def test_what_a_module_certainly_imports_is_imported_ahead(project: Path, source: str, libraries: list[Any]) -> None:
    write(project, mine_alone=source)
    assert told("mine_alone") == libraries


def test_modules_of_the_project_are_followed_in_their_order_and_not_executed(project: Path) -> None:
    write(
        project,
        __init___of_pack_age="import light\nraise SystemExit('it was executed')",
        model_of_pack_age="from . import parts\nfrom .parts import layer\nimport pack_age.model",
        parts_of_pack_age="import heavy",
    )
    assert told("pack_age.model") == ["light", "heavy"]
    assert "pack_age" not in sys.modules


def test_a_script_is_named_by_its_path(project: Path) -> None:
    write(project, script="import its_helpers\nimport light", its_helpers="import heavy")
    assert told(str(project / "script.py")) == ["heavy", "light"]


@pytest.mark.parametrize(
    "change",
    [
        "os.environ['KERAS_BACKEND'] = 'jax'",
        "os.environ.setdefault('A', 'b')",
        "if True:\n    os.environ.update(A='b')",
        "def f():\n    os.putenv('A', 'b')",
        "del os.environ['A']",
    ],
)
def test_what_is_imported_after_the_project_has_set_a_variable_is_left_to_the_runs(project: Path, change: str) -> None:
    write(project, setting=f"import os, light\n{change}", mine_after="import setting\nimport heavy")
    assert told("mine_after") == ["os", "light"]


@pytest.mark.parametrize(
    "look", ["os.environ['A']", "os.environ.get('A')", "os.getenv('A')", "'A' in os.environ", "{**os.environ}"]
)
def test_to_read_a_variable_changes_nothing(project: Path, look: str) -> None:
    write(project, looking=f"import os\nA = {look}\nimport heavy")
    assert told("looking") == ["os", "heavy"]


def test_the_package_of_a_task_is_the_projects_even_if_it_is_installed(project: Path) -> None:
    write(project / "lib" / "site-packages", task_of_heavy="import heavy.nn\nimport light")
    assert told("heavy.task") == ["light"]
    assert told("heavy") == []


def test_a_library_is_what_is_installed_or_python_itself_or_duckrow(project: Path) -> None:
    write(project, mine_alone="")
    target = project / "target"
    (target / "thing-1.0.dist-info").mkdir(parents=True)
    (target / "thing.py").touch()
    sys.path.append(str(target))  # of the fixture
    for name in ("heavy.nn", "json", "sys", "pytest", "thing", "duckrow.api.call", "no_such_module"):
        assert is_library(name), name
    assert not is_library("mine_alone")


def test_nobody_imports_a_module_of_the_project_where_only_libraries_may_be(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, mine_refused="raise AssertionError('it was executed')")
    tries = "try:\n    import mine_refused\nexcept Exception:\n    pass"
    write(project / "lib" / "site-packages", tries_it=tries, tries_not="")
    monkeypatch.setattr(sys, "meta_path", [OnlyLibraries(lambda spec: None), *sys.meta_path])
    importlib.import_module("tries_not")
    with pytest.raises(OwnModule, match="it needs mine_refused, a module of the project"):
        importlib.import_module("tries_it")
