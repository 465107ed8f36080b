"""What to type for an extra, by how duckrow was installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from duckrow.api.machine import installation
from duckrow.api.machine.installation import install_command


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/venv/bin/python")
    monkeypatch.setattr(installation, "find_spec", lambda _: object())  # there is pip
    came_from(monkeypatch, None)
    return tmp_path


def came_from(monkeypatch: pytest.MonkeyPatch, origin: dict[str, Any] | None) -> None:
    noted = SimpleNamespace(read_text=lambda _: None if origin is None else json.dumps(origin))
    monkeypatch.setattr(installation, "distribution", lambda _: noted)


def test_a_tool_of_uv_is_installed_by_uv(prefix: Path) -> None:
    (prefix / "uv-receipt.toml").touch()
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.5.1\n")
    assert install_command("web") == "uv tool install --force 'duckrow[web]'"


def test_what_pipx_has_installed_is_installed_by_pipx(prefix: Path) -> None:
    (prefix / "pipx_metadata.json").touch()
    assert install_command("web") == "pipx install --force 'duckrow[web]'"


def test_an_environment_of_uv_has_uv_pip(prefix: Path) -> None:
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.5.1\n")
    assert install_command("web") == "uv pip install --python /venv/bin/python 'duckrow[web]'"


def test_an_environment_without_pip_has_uv_pip(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "find_spec", lambda _: None)
    assert install_command("web") == "uv pip install --python /venv/bin/python 'duckrow[web]'"


def test_else_the_pip_of_this_very_python(prefix: Path) -> None:
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\nprompt = uv\n")
    assert install_command("web") == "/venv/bin/python -m pip install 'duckrow[web]'"
    assert install_command() == "/venv/bin/python -m pip install 'duckrow'"


@pytest.mark.parametrize(
    ("origin", "what"),
    [
        ({"url": "file:///home/me/duck%20row", "dir_info": {}}, "'/home/me/duck row[web]'"),
        ({"url": "file:///home/me/duckrow", "dir_info": {"editable": True}}, "-e '/home/me/duckrow[web]'"),
        (
            {"url": "https://example.org/duckrow.git", "vcs_info": {"vcs": "git", "commit_id": "1"}},
            "'duckrow[web] @ git+https://example.org/duckrow.git'",
        ),
    ],
)
def test_it_comes_from_where_it_came_from(
    prefix: Path, monkeypatch: pytest.MonkeyPatch, origin: dict[str, Any], what: str
) -> None:
    came_from(monkeypatch, origin)
    assert install_command("web") == f"/venv/bin/python -m pip install {what}"


def test_a_clone_that_is_edited_stays_one(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    came_from(monkeypatch, {"url": "file:///home/me/duckrow", "dir_info": {"editable": True}})
    (prefix / "uv-receipt.toml").touch()
    assert install_command("web") == "uv tool install --force --editable '/home/me/duckrow[web]'"
