"""Where the state lives."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.core.errors import StateError
from duckrow.store.folder import state_folder as folder_module
from duckrow.store.folder.state_folder import NETWORK_FILE_SYSTEMS, Folder, file_system_of, state_folder


def mode_of(path: str | Path) -> int:
    return os.stat(path).st_mode & 0o777


def test_duckrow_home_says_where_the_state_lives(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path / "deep" / "home"))
    folder = state_folder()
    assert folder.root == f"{tmp_path}/deep/home"
    assert folder.database == f"{tmp_path}/deep/home/duckrow.db"
    assert all(os.path.isdir(path) for path in (folder.runs, folder.keepers, folder.hosts))


def test_a_relative_duckrow_home_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DUCKROW_HOME", "here")
    assert state_folder().root == f"{tmp_path}/here"


def test_without_duckrow_home_the_xdg_folder_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DUCKROW_HOME", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert state_folder().root == f"{tmp_path}/xdg/duckrow"


@pytest.mark.parametrize("empty", ["DUCKROW_HOME", "XDG_STATE_HOME"])
def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, empty: str) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("DUCKROW_HOME", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv(empty, "")
    assert state_folder().root == f"{tmp_path}/.local/state/duckrow"


def test_the_folder_is_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = Folder(tmp_path / "state").make()
    finally:
        os.umask(before)
    assert {mode_of(path) for path in (folder.root, folder.runs, folder.keepers, folder.hosts)} == {0o700}


def test_a_folder_that_cannot_be_made_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(StateError, match=r"cannot be created: Not a directory\. Choose another one with DUCKROW_HOME="):
        state_folder()


def test_making_a_folder_twice_keeps_what_is_in_it(tmp_path: Path) -> None:
    folder = Folder(tmp_path).make()
    kept = Path(folder.runs, "kept")
    kept.write_text("x")
    folder.make()
    assert kept.read_text() == "x"


def test_each_job_and_each_host_has_a_place_of_its_own(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    assert folder.run_folder("thesis", "train", 7) == f"{tmp_path}/runs/thesis/train/7"
    assert folder.host_lock(1) != folder.host_lock(2)
    assert folder.host_lock(1) != folder.host_fifo(1)


# -- file systems ---------------------------------------------------------------------------------------------------

MOUNTS = """\
/dev/sda1 / ext4 rw,relatime 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/local xfs rw 0 0
//box/share /mnt/my\\040share cifs rw 0 0
tmpfs /home/local tmpfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/var/lib/x", "ext4"),
        ("/home", "nfs4"),
        ("/home/me/.local/state", "nfs4"),
        ("/homework", "ext4"),
        ("/home/local/me", "tmpfs"),
        ("/home/locality", "nfs4"),
        ("/mnt/my share/x", "cifs"),
    ],
)
def test_the_innermost_and_latest_mount_says_the_file_system(tmp_path: Path, path: str, kind: str) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    assert file_system_of(path, str(mounts)) == kind


def test_a_symbolic_link_is_followed_to_its_file_system(tmp_path: Path) -> None:
    target, link = tmp_path / "far", tmp_path / "link"
    target.mkdir()
    link.symlink_to(target)
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/a / ext4 rw 0 0\nserver:/x {target} nfs rw 0 0\n")
    assert file_system_of(f"{link}/state", str(mounts)) == "nfs"


def test_without_a_list_of_mounts_the_file_system_is_not_known(tmp_path: Path) -> None:
    assert file_system_of(str(tmp_path), str(tmp_path / "nothing")) == ""


def test_the_real_list_of_mounts_knows_where_we_are() -> None:
    assert file_system_of("/proc/self") == "proc"


class User(int):
    """A user's number; written out it is one that nobody else has, so that no real folder is touched."""

    def __format__(self, _: str) -> str:
        return f"{int(self)}-tests-{os.getpid()}"


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The XDG folder is on NFS; this is the local one that is used instead."""
    user = User(os.getuid())
    monkeypatch.delenv("DUCKROW_HOME", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(folder_module, "file_system_of", lambda _: "nfs4")
    monkeypatch.setattr(os, "getuid", lambda: user)
    place = Path(f"/var/tmp/duckrow-{user}")
    assert not place.exists()
    yield place
    if place.is_symlink():
        place.unlink()
    shutil.rmtree(place, ignore_errors=True)


def test_a_network_file_system_leads_to_a_local_folder_and_this_is_said_once(
    local: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert state_folder().root == str(local)
    assert mode_of(local) == 0o700
    assert not (tmp_path / "xdg").exists()
    said = capfd.readouterr().err
    assert said == f"duckrow: {tmp_path}/xdg/duckrow is on nfs4; duckrow keeps its state in {local} instead.\n"
    assert state_folder().root == str(local)
    assert capfd.readouterr().err == ""


def test_a_local_folder_that_others_could_read_is_made_private(local: Path) -> None:
    local.mkdir()
    local.chmod(0o755)
    state_folder()
    assert mode_of(local) == 0o700


def test_a_local_folder_that_is_a_link_is_not_trusted(local: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    local.symlink_to(tmp_path / "theirs")
    with pytest.raises(StateError, match=r"belongs to somebody else\. Choose a local folder with DUCKROW_HOME"):
        state_folder()


def test_a_local_folder_of_another_user_is_not_trusted(local: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = User(os.getuid() + 1)
    theirs = local.with_name(f"duckrow-{stranger}")
    theirs.mkdir()
    monkeypatch.setattr(os, "getuid", lambda: stranger)
    try:
        with pytest.raises(StateError, match="belongs to somebody else"):
            state_folder()
    finally:
        shutil.rmtree(theirs)


def test_a_home_that_was_chosen_is_taken_wherever_it_is(
    local: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path / "mine"))
    assert state_folder().root == f"{tmp_path}/mine"
    assert not local.exists()


def test_common_network_file_systems_are_known() -> None:
    assert {"nfs", "nfs4", "lustre", "gpfs", "beegfs", "cifs", "fuse.sshfs", "ceph"} <= NETWORK_FILE_SYSTEMS
    assert not {"ext4", "xfs", "tmpfs", "btrfs", "overlay", "zfs"} & NETWORK_FILE_SYSTEMS
