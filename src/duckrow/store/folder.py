"""Where the state lives: one private folder, and what lies where in it."""

from __future__ import annotations

import functools
import os

from duckrow.core.errors import StateError

NETWORK_FILE_SYSTEMS = frozenset(
    "nfs nfs4 cifs smb3 smbfs lustre gpfs beegfs ceph glusterfs afs 9p fuse.sshfs fuse.glusterfs fuse.ceph "
    "fuse.s3fs panfs orangefs pvfs2 wekafs".split()
)


class Folder:
    """The state folder. Private to its user; made on first use."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.fspath(root)
        self.database = f"{self.root}/duckrow.db"
        self.runs = f"{self.root}/runs"
        self.keepers = f"{self.root}/keepers"
        self.hosts = f"{self.root}/hosts"
        self.daemon_log = f"{self.root}/daemon.log"

    def make(self) -> Folder:
        try:
            for folder in (self.root, self.runs, self.keepers, self.hosts):
                os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise StateError(
                f"The state folder {self.root} cannot be made: {error.strerror}. "
                "Choose another one with DUCKROW_HOME=/some/folder."
            ) from None
        return self

    def run_folder(self, project: str, name: str, job_id: int) -> str:
        return f"{self.runs}/{project}/{name}/{job_id}"

    def host_lock(self, host_id: int) -> str:
        return f"{self.hosts}/{host_id}.lock"

    def host_fifo(self, host_id: int) -> str:
        return f"{self.hosts}/{host_id}.wake"


def state_folder(warn: bool = True) -> Folder:
    """DUCKROW_HOME, else the XDG state folder; a local one instead where that is on a network file system."""
    home = os.environ.get("DUCKROW_HOME")
    if home:
        return Folder(os.path.abspath(home)).make()
    wanted = _xdg_folder()
    kind = file_system_of(wanted)
    if kind not in NETWORK_FILE_SYSTEMS:
        return Folder(wanted).make()
    return _local_instead(wanted, kind, warn)


def existing_folder() -> Folder:
    """The same folder, as it is or would be: for those who only look, and make nothing."""
    home = os.environ.get("DUCKROW_HOME")
    wanted = os.path.abspath(home) if home else _xdg_folder()
    return Folder(wanted if home or file_system_of(wanted) not in NETWORK_FILE_SYSTEMS else _local_folder())


def _xdg_folder() -> str:
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.abspath(f"{base}/duckrow")


def _local_folder() -> str:
    return f"/var/tmp/duckrow-{os.getuid()}"


def _local_instead(wanted: str, kind: str, warn: bool) -> Folder:
    """SQLite and locks do not work over a network. Said once: when the folder is made."""
    local = _local_folder()
    is_new = not os.path.exists(local)
    folder = Folder(local).make()
    if os.path.islink(local) or os.stat(local).st_uid != os.getuid():
        raise StateError(f"{local} belongs to somebody else. Choose a local folder with DUCKROW_HOME=/some/folder.")
    os.chmod(local, 0o700)
    if is_new and warn:
        os.write(2, f"duckrow: {wanted} is on {kind}; its state is kept in {local} instead.\n".encode())
    return folder


def file_system_of(path: str, mounts: str = "/proc/self/mounts") -> str:
    """The kind of file system that a path is or would be on."""
    target = os.path.realpath(path)
    best, kind = "", ""
    try:
        with open(mounts) as file:
            for line in file:
                _, mount_point, fs_type, *_ = line.split()
                mount_point = mount_point.replace("\\040", " ")
                inside = target == mount_point or target.startswith(mount_point.rstrip("/") + "/")
                if inside and len(mount_point) >= len(best):
                    best, kind = mount_point, fs_type
    except OSError:
        pass
    return kind


@functools.cache
def boot_id() -> str:
    """Names this boot of the machine: processes of an earlier one are all gone."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""
