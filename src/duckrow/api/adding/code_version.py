"""Records which code a run was started with: the commit, the diff, and on request a snapshot."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass

from duckrow.core.errors import UsageError

_LARGEST_DIFF = 50 << 20
_LARGEST_SNAPSHOT = 1 << 30
_NOT_CODE = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__", "duckrow-runs"})


@dataclass(slots=True)
class CodeVersion:
    """Files that record the code version. They are written once and linked into the folder of each run."""

    folder: str
    cwd: str  # where the runs start: the user's folder, or its copy in the snapshot

    def link_into(self, run_folder: str) -> None:
        for name in ("code.json", "code.diff"):
            source, target = f"{self.folder}/{name}", f"{run_folder}/{name}"
            if os.path.exists(target):
                os.unlink(target)
            if os.path.exists(source):
                _link(source, target)


def note_code(folder: str, cwd: str, root: str, snapshot: bool) -> CodeVersion:
    """Record below `folder` which code is in `cwd` now. Everything below `root` is results, not code."""
    top = _git(cwd, "rev-parse", "--show-toplevel").strip()
    place = _new_place(folder)
    facts: dict[str, object] = {"cwd": cwd, "noted_at": time.time()}
    if top:
        diff = _git(top, "diff", "--binary", "HEAD")
        facts["commit"] = _git(top, "rev-parse", "HEAD").strip() or None
        facts["branch"] = _git(top, "rev-parse", "--abbrev-ref", "HEAD").strip() or None
        facts["changed"] = bool(diff)
        facts["untracked"] = _git(top, "ls-files", "--others", "--exclude-standard", "-z").split("\0")[:-1][:1000]
        if 0 < len(diff) <= _LARGEST_DIFF:
            with open(f"{place}/code.diff", "w", errors="surrogateescape") as file:
                file.write(diff)
    version = CodeVersion(place, cwd)
    if snapshot:
        copy = f"{place}/snapshot"
        _copy_code(top or cwd, copy, root, tracked=bool(top))
        version.cwd = os.path.normpath(os.path.join(copy, os.path.relpath(cwd, top or cwd)))
        facts["snapshot"] = copy
    with open(f"{place}/code.json", "w") as file:
        json.dump(facts, file, indent=2)
    return version


def _new_place(folder: str) -> str:
    """`.code/1`, `.code/2`, ...: a new one each time runs are added."""
    os.makedirs(f"{folder}/.code", exist_ok=True)
    number = 1
    while True:
        try:
            os.mkdir(f"{folder}/.code/{number}")
            return f"{folder}/.code/{number}"
        except FileExistsError:
            number += 1


def _git(folder: str, *words: str) -> str:
    """The output of git; empty without git, a repository or a commit."""
    try:
        done = subprocess.run(["git", "-C", folder, *words], capture_output=True, check=False)
    except OSError:
        return ""
    return os.fsdecode(done.stdout) if done.returncode == 0 else ""


def _copy_code(source: str, target: str, root: str, tracked: bool) -> None:
    """Copy what git tracks or would track. Link what it ignores (data, results), so that the paths still work."""
    os.mkdir(target)
    if tracked:
        files = _git(source, "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
        ignored = _git(source, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
        links = [path.rstrip("/") for path in ignored.split("\0") if path]
    else:
        files, links = _plain_files(source)
    size = 0
    results = os.path.join(os.path.relpath(root, source), "")
    for path in filter(None, files):
        if path.startswith(results) or not os.path.lexists(f"{source}/{path}") or os.path.isdir(f"{source}/{path}"):
            continue  # deleted but not committed, or a submodule
        size += os.lstat(f"{source}/{path}").st_size
        if size > _LARGEST_SNAPSHOT:
            raise UsageError(
                f"The code in {source} is over 1 GB: too much for --snapshot. Let git ignore the data (.gitignore)."
            )
        os.makedirs(os.path.dirname(f"{target}/{path}"), exist_ok=True)
        shutil.copy2(f"{source}/{path}", f"{target}/{path}", follow_symlinks=False)
    for path in links:
        _link_ignored(source, target, path)


def _plain_files(source: str) -> tuple[list[str], list[str]]:
    """(files to copy, folders to link) where there is no git."""
    files, links = [], []
    for folder, folders, names in os.walk(source):
        inside = os.path.relpath(folder, source)
        links += [os.path.join(inside, name) for name in folders if name in _NOT_CODE]
        folders[:] = [name for name in folders if name not in _NOT_CODE]
        files += [os.path.normpath(os.path.join(inside, name)) for name in names]
    return files, links


def _link_ignored(source: str, target: str, path: str) -> None:
    if os.path.basename(path) == "__pycache__" or os.path.lexists(f"{target}/{path}"):
        return
    os.makedirs(os.path.dirname(f"{target}/{path}"), exist_ok=True)
    os.symlink(f"{source}/{path}", f"{target}/{path}")


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        shutil.copyfile(source, target)
