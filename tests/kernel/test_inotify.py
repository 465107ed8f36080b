"""Being told by the kernel of what happens to files."""

from __future__ import annotations

import os
from pathlib import Path

from duckrow.kernel.inotify import NAMES, Inotify


def inotify_files() -> int:
    return [_target(name) for name in os.listdir("/proc/self/fd")].count("anon_inode:inotify")


def _target(name: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        return ""  # the listing itself


def test_what_nobody_uses_any_more_is_given_back() -> None:
    before = inotify_files()
    one, other = Inotify(), Inotify()
    assert inotify_files() == before + 2
    one.close()
    del other
    assert inotify_files() == before


def test_it_tells_the_names_of_what_was_made(tmp_path: Path) -> None:
    inotify = Inotify()
    inotify.add(str(tmp_path), NAMES)
    assert inotify.read() == set()
    (tmp_path / "a").touch()
    (tmp_path / "b").mkdir()
    assert inotify.read() == {"a", "b"}
    inotify.close()
