"""Which code a run was started with: the commit, the changes, and a copy on request."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from duckrow.api.adding import code_version
from duckrow.api.adding.code_version import note_code
from duckrow.api.adding.run_folders import give_folders
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import JobSpec

NOBODY = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"]
    command = ["git", "-C", str(folder), *identity, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **NOBODY}).stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository: a file that is committed, one that is changed, one that is new, and data that git ignores."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "data").mkdir()
    for name, text in {"src/train.py": "old", "gone.py": "", ".gitignore": "data/\n__pycache__/\n"}.items():
        (folder / name).write_text(text)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    (folder / "src" / "train.py").write_text("new")
    (folder / "new.py").write_text("new")
    (folder / "gone.py").unlink()
    (folder / "data" / "weights").write_text("large")
    (folder / "__pycache__").mkdir()
    return folder


def noted(place: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(Path(place, "code.json").read_text())
    return facts


def test_the_commit_and_what_was_changed_since_are_noted(project: Path, tmp_path: Path) -> None:
    version = note_code(str(tmp_path / "runs"), str(project / "src"), str(tmp_path / "runs"), snapshot=False)
    facts = noted(version.folder)
    assert (facts["commit"], facts["branch"]) == (git(project, "rev-parse", "HEAD").strip(), "main")
    assert (facts["changed"], facts["untracked"]) == (True, ["new.py"])
    assert "+new" in Path(version.folder, "code.diff").read_text()
    assert version.cwd == str(project / "src")


def test_each_time_runs_are_added_it_is_noted_anew(project: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        version = note_code(str(tmp_path / "runs"), str(project), str(tmp_path / "runs"), snapshot=False)
        assert version.folder == f"{tmp_path}/runs/.code/{number}"


def test_it_is_linked_into_the_folder_of_a_run_and_replaces_what_was_there(project: Path, tmp_path: Path) -> None:
    first = note_code(str(tmp_path / "runs"), str(project), str(tmp_path / "runs"), snapshot=False)
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "second")
    second = note_code(str(tmp_path / "runs"), str(project), str(tmp_path / "runs"), snapshot=False)
    for version, has_diff in ((first, True), (second, False)):
        version.link_into(str(tmp_path))
        assert noted(str(tmp_path)) == noted(version.folder)
        assert (tmp_path / "code.diff").exists() is has_diff


def test_without_git_the_folder_alone_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    version = note_code(str(tmp_path / "runs"), str(tmp_path), str(tmp_path / "runs"), snapshot=False)
    assert noted(version.folder).keys() == {"cwd", "noted_at"}


def test_a_snapshot_has_the_code_as_it_is_and_the_data_behind_a_link(project: Path) -> None:
    (project / "runs").mkdir()
    (project / "runs" / "result").touch()
    version = note_code(str(project / "runs"), str(project / "src"), str(project / "runs"), snapshot=True)
    copy = Path(noted(version.folder)["snapshot"])
    assert version.cwd == str(copy / "src")
    assert (copy / "src" / "train.py").read_text() == "new"
    assert sorted(path.name for path in copy.iterdir()) == [".gitignore", "data", "new.py", "src"]
    assert (copy / "data").readlink() == project / "data"


def test_a_snapshot_without_git_leaves_out_what_is_not_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    source = tmp_path / "project"
    for folder in ("src", ".venv", "__pycache__"):
        (source / folder).mkdir(parents=True)
        (source / folder / "file").touch()
    version = note_code(str(tmp_path / "runs"), str(source), str(tmp_path / "runs"), snapshot=True)
    copy = Path(version.cwd)
    assert sorted(path.name for path in copy.iterdir()) == [".venv", "src"]
    assert (copy / ".venv").is_symlink()
    assert (copy / "src" / "file").is_file()


def test_too_much_for_a_snapshot_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_version, "_LARGEST_SNAPSHOT", 3)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "large").write_text("four")
    with pytest.raises(UsageError, match=r"too much for --snapshot"):
        note_code(str(tmp_path / "runs"), str(tmp_path / "project"), str(tmp_path / "runs"), snapshot=True)


def test_a_file_system_without_hard_links_gets_a_copy(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = note_code(str(tmp_path / "runs"), str(project), str(tmp_path / "runs"), snapshot=False)

    def refuse(*_paths: str) -> None:
        raise OSError

    monkeypatch.setattr(os, "link", refuse)
    version.link_into(str(tmp_path))
    assert noted(str(tmp_path)) == noted(version.folder)


def test_each_job_gets_a_numbered_folder_with_its_code(tmp_path: Path) -> None:
    cwd = str(tmp_path / "work")
    os.mkdir(cwd)
    specs = [JobSpec("true", cwd, name=name, project="thesis") for name in ("fit", "fit", "eval")]
    give_folders(specs, str(tmp_path / "runs"), snapshot=False)
    assert [spec.folder for spec in specs] == [
        f"{tmp_path}/runs/thesis/{place}" for place in ("fit/1", "fit/2", "eval/1")
    ]
    assert all(noted(spec.folder or "")["cwd"] == cwd for spec in specs)


def test_folders_that_cannot_be_made_are_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"cannot be created below .*/file: Not a directory\."):
        give_folders([JobSpec("true", str(tmp_path))], str(tmp_path / "file"), snapshot=False)
