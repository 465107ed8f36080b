"""The unit of systemd: what stands in it, where it is, and what systemd says."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from duckrow.api.machine.service import (
    has_systemd,
    lingers,
    remove_unit,
    systemctl,
    tell_ready,
    unit_path,
    unit_text,
    write_unit,
)
from duckrow.core.errors import DuckrowError


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("/usr/bin/duckrow", "/usr/bin/duckrow"),
        ("a b", '"a b"'),
        ("100%", "100%%"),
        ("$HOME", "$$HOME"),
        ('say "hi"\\', '"say \\"hi\\"\\\\"'),
        ("", '""'),
    ],
)
def test_words_of_the_command_are_written_as_systemd_reads_them(word: str, written: str) -> None:
    assert f"ExecStart=duckrow {written}\n" in unit_text(["duckrow", word])


def test_the_unit_keeps_where_state_and_settings_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DUCKROW_HOME", f"{tmp_path}/100% mine")
    text = unit_text(["duckrow", "up"])
    assert f'Environment="DUCKROW_HOME={tmp_path}/100%% mine"' in text
    assert "DUCKROW_CONFIG" not in text
    assert "KillMode=process" in text


def test_a_unit_is_written_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert write_unit("text") == unit_path() == f"{tmp_path}/systemd/user/duckrow.service"
    assert Path(unit_path()).read_text() == "text"
    assert remove_unit() is True
    assert remove_unit() is False


def test_a_unit_that_cannot_be_written_or_removed_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    with pytest.raises(DuckrowError, match="cannot be written: Not a directory"):
        write_unit("text")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    os.makedirs(unit_path())
    with pytest.raises(DuckrowError, match="cannot be removed: Is a directory"):
        remove_unit()


def test_what_systemctl_says_against_it_is_told(programs: Path) -> None:
    assert not has_systemd(), "there is none"
    program(programs, "systemctl", 'echo "no bus for $1 $2" >&2; exit 1')
    assert systemctl("start", "x") == "no bus for --user start"
    program(programs, "systemctl", "exit 3")
    assert systemctl("start") == "exit code 3"
    program(programs, "systemctl", "exit 0")
    assert systemctl("start") is None
    assert has_systemd()


@pytest.mark.parametrize("is_abstract", [False, True])
def test_systemd_hears_that_the_daemon_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_abstract: bool
) -> None:
    tell_ready()  # nobody has asked
    name = f"@duckrow-test-{os.getpid()}" if is_abstract else str(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", name)
    tell_ready()  # nobody listens any more
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notes:
        notes.bind(name.replace("@", "\0"))
        tell_ready()
        assert notes.recv(100) == b"READY=1"


def test_whether_services_outlive_the_login_is_read_from_systemds_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "exists", lambda path: path.startswith("/var/lib/systemd/linger/"))
    assert lingers()
