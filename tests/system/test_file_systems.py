"""File systems that become read-only, and those that a database must not live on."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Duckrow, until
from tests.system.mount_namespace import Namespace, NamespacedDuckrow, mount_namespace

GATED = "while [ ! -e gate ]; do sleep 0.01; done; exit 3"

# A file system whose server is gone, of a kind that counts as a network's: what the kernel says of it is what we read.
MOUNT_SSHFS = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
if libc.mount(b"elsewhere:", os.fsencode(sys.argv[1]), b"fuse.sshfs", 0, options.encode()):
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
"""


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    with mount_namespace() as made:
        yield made


@pytest.fixture
def on_own_disk(namespace: Namespace, tmp_path: Path) -> NamespacedDuckrow:
    """A state folder on a file system of its own."""
    home, work = tmp_path / "state", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    namespace.sh(f"mount -t tmpfs -o mode=700 duckrow-test {home}")
    return NamespacedDuckrow(namespace, home, work)


def problems(duckrow: Duckrow) -> str:
    findings = json.loads(duckrow("doctor", "--json", ok=False).stdout)
    return "\n".join(each["found"] for each in findings if each["level"] == "problem")


def test_a_file_system_that_becomes_read_only_loses_no_job_and_all_goes_on_when_it_is_writable(
    on_own_disk: NamespacedDuckrow,
) -> None:
    duckrow, home = on_own_disk, on_own_disk.inner_home
    duckrow.up("--slots", "1")
    running, waiting = duckrow.submit("--", GATED), duckrow.submit("--", "echo ran >> out")
    duckrow.wait_for(running, "running")
    duckrow.namespace.sh(f"mount --bind {home} {home}; mount -o remount,bind,ro {home}")
    refused = duckrow("submit", "--", "true", ok=False)
    assert refused.returncode == 1
    assert f"The file system of {home} is read-only now" in refused.stderr
    assert "1 queued, 1 running" in duckrow("ls").stderr
    assert "is on a file system that is read-only now" in problems(duckrow)
    (duckrow.work / "gate").touch()
    until(lambda: "could not be started: Read-only file system" in (duckrow.home / "daemon.log").read_text(), "trouble")
    assert duckrow.state(waiting) in ("queued", "starting")
    duckrow.namespace.sh(f"umount {home}")
    duckrow.wait_for(waiting, "succeeded")
    assert (duckrow.work / "out").read_text() == "ran\n"
    assert duckrow.job(running)["exit_code"] == 3
    assert problems(duckrow) == ""


def test_every_command_says_that_the_file_system_is_read_only(on_own_disk: NamespacedDuckrow) -> None:
    duckrow, home = on_own_disk, on_own_disk.inner_home
    duckrow.up("--slots", "1")
    job = duckrow.submit("--", "true")
    duckrow.wait_for(job, "succeeded")
    duckrow.namespace.sh(f"mount --bind {home} {home}; mount -o remount,bind,ro {home}")
    duckrow("down")
    assert "Traceback" not in (duckrow.home / "daemon.log").read_text()
    (duckrow.work / "jobs").write_text("true\n")
    for words in (["up"], ["up", "--foreground"], ["submit", "--", "true"], ["run", "--slots", "1", "jobs"], ["pause"]):
        refused = duckrow(*words, ok=False)
        assert refused.returncode == 1, words
        assert "read-only" in refused.stderr.lower()
    assert duckrow.job(job)["outcome"] == "succeeded"
    duckrow.namespace.sh(f"umount {home}")
    duckrow.wait_for(duckrow.submit("--", "true"), "succeeded")


def test_a_disk_that_fails_under_a_living_daemon_is_told_and_jobs_go_on(namespace: Namespace, tmp_path: Path) -> None:
    """As a kernel does after an error of the disk: everything that is open becomes read-only too."""
    home, work, image = tmp_path / "state", tmp_path / "work", tmp_path / "disk"
    home.mkdir()
    work.mkdir()
    try:
        namespace.sh(f"truncate -s 16M {image}; mkfs.ext4 -qF {image}; mount -o loop {image} {home}; chmod 700 {home}")
    except subprocess.CalledProcessError:
        pytest.skip("mounting a disk of one's own needs root, loop devices and mkfs.ext4")
    duckrow = NamespacedDuckrow(namespace, home, work)
    duckrow.up("--slots", "1")
    running = duckrow.submit("--", "while [ ! -e gate ]; do sleep 0.01; done; touch went-on")
    waiting = duckrow.submit("--", "echo ran >> out")
    duckrow.wait_for(running, "running")
    namespace.sh(f"mount -o remount,abort {home} || :; ! touch {home}/x")
    refused = duckrow("submit", "--", "true", ok=False)
    assert refused.returncode == 1
    assert "read-only" in refused.stderr
    (work / "gate").touch()
    until((work / "went-on").exists, "the job to go on")
    listed = json.loads(duckrow("ls", "--json").stdout)
    assert {job["id"] for job in listed} == {running, waiting}
    assert not (work / "out").exists()
    assert "is on a file system that is read-only now" in problems(duckrow)


# -- network file systems ---------------------------------------------------------------------------------------------


@pytest.fixture
def on_network(namespace: Namespace, tmp_path: Path) -> NamespacedDuckrow:
    """Its state would be on sshfs; /var/tmp is an empty folder."""
    far, work = tmp_path / "far", tmp_path / "work"
    far.mkdir()
    work.mkdir()
    namespace.sh("mount -t tmpfs -o mode=1777 duckrow-test /var/tmp")
    script = tmp_path / "mount.py"
    script.write_text(MOUNT_SSHFS)
    mounted = subprocess.run(namespace.enter(work, "python3", str(script), str(far)), capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"a file system of that kind needs /dev/fuse: {mounted.stderr.splitlines()[-1]}")
    duckrow = NamespacedDuckrow(namespace, Path(f"/var/tmp/duckrow-{os.getuid()}"), work)
    del duckrow.env["DUCKROW_HOME"]
    duckrow.env["XDG_STATE_HOME"] = str(far)
    return duckrow


def test_on_a_network_a_private_local_folder_is_used_and_this_is_said_once(on_network: NamespacedDuckrow) -> None:
    duckrow, local = on_network, on_network.inner_home
    said = f"{duckrow.env['XDG_STATE_HOME']}/duckrow is on fuse.sshfs; duckrow keeps its state in {local} instead."
    assert said in duckrow("ls").stderr
    job = duckrow.submit("--", "echo here")
    duckrow.wait_for(job, "succeeded")
    assert "fuse.sshfs" not in duckrow("ls").stderr
    assert duckrow("logs", str(job)).stdout == "here\n"
    assert duckrow.home.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o077 for path in duckrow.home.iterdir()} == {0}
    assert "fuse.sshfs" not in problems(duckrow)


def test_a_local_folder_that_others_can_read_is_closed(on_network: NamespacedDuckrow) -> None:
    duckrow = on_network
    duckrow.namespace.sh(f"mkdir -m 755 {duckrow.inner_home}")
    duckrow("ls")
    assert duckrow.home.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("trap", ["ln -s /elsewhere {}", "mkdir -m 777 {0}; chown 12345 {0}", "touch {}"])
def test_a_local_folder_of_somebody_else_is_refused_and_nothing_is_written_there(
    on_network: NamespacedDuckrow, trap: str
) -> None:
    duckrow, local = on_network, on_network.inner_home
    try:
        duckrow.namespace.sh(trap.format(local).replace("/elsewhere", str(duckrow.work)))
    except subprocess.CalledProcessError:
        pytest.skip("giving a folder away needs root")
    for words in (["ls"], ["submit", "--", "true"]):
        refused = duckrow(*words, ok=False)
        assert refused.returncode == 1
        assert f"{local} belongs to somebody else" in refused.stderr
    assert list(duckrow.work.iterdir()) == []
    assert not duckrow.home.is_dir() or list(duckrow.home.iterdir()) == []
