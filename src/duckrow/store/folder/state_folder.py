"""The state folder: one private folder, and its layout."""

from __future__ import annotations

import errno
import os
import stat

from duckrow.core.errors import StateError
from duckrow.core.late_pattern import late_pattern
from duckrow.store.folder.owner import owned_by_another

NETWORK_FILE_SYSTEMS = frozenset(
    "nfs nfs4 cifs smb3 smbfs lustre gpfs beegfs ceph glusterfs afs 9p fuse.sshfs fuse.glusterfs fuse.ceph "
    "fuse.s3fs panfs orangefs pvfs2 wekafs".split()
)
_ESCAPED = late_pattern(r"\\([0-7]{3})")  # a space, a tab, a newline or a backslash in the name of a mount


class Folder:
    """The state folder. Private to its user; created on first use."""

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
            owned = owned_by_another(self.root) if error.errno in (errno.EACCES, errno.EPERM) else None
            raise StateError(
                owned.in_words()
                if owned
                else f"The state folder {self.root} cannot be created: {error.strerror}. "
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
    """DUCKROW_HOME, otherwise the XDG state folder; a local one instead if that is on a network file system."""
    home = os.environ.get("DUCKROW_HOME")
    if home:
        return Folder(os.path.abspath(home)).make()
    wanted = _xdg_folder()
    kind = file_system_of(wanted)
    if kind not in NETWORK_FILE_SYSTEMS:
        return Folder(wanted).make()
    return _local_instead(wanted, kind, warn)


def existing_folder() -> Folder:
    """The same folder, whether it exists or not: for callers that only look, and create nothing."""
    home = os.environ.get("DUCKROW_HOME")
    wanted = os.path.abspath(home) if home else _xdg_folder()
    return Folder(wanted if home or file_system_of(wanted) not in NETWORK_FILE_SYSTEMS else _local_folder())


def _xdg_folder() -> str:
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.abspath(f"{base}/duckrow")


def _local_folder() -> str:
    return f"/var/tmp/duckrow-{os.getuid()}"


def _local_instead(wanted: str, kind: str, warn: bool) -> Folder:
    """SQLite and locks do not work over a network. The message appears once: when the folder is created."""
    local = _local_folder()
    is_new = _make_private(local)
    folder = Folder(local).make()
    if is_new and warn:
        os.write(2, os.fsencode(f"duckrow: {wanted} is on {kind}; duckrow keeps its state in {local} instead.\n"))
    return folder


def _make_private(local: str) -> bool:
    """Create the folder, in a place where everybody may write, or check that it is ours; returns whether it is new."""
    try:
        os.mkdir(local, 0o700)
        return True
    except FileExistsError:
        pass
    except OSError as error:
        raise StateError(
            f"The state folder {local} cannot be created: {error.strerror}. Choose a local folder with "
            "DUCKROW_HOME=/some/folder."
        ) from None
    found = os.lstat(local)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise StateError(f"{local} belongs to somebody else. Choose a local folder with DUCKROW_HOME=/some/folder.")
    os.chmod(local, 0o700)
    return False


def file_system_of(path: str, mounts: str = "/proc/self/mounts") -> str:
    """The kind of file system that a path is or would be on."""
    target = os.path.realpath(path)
    best, kind = "", ""
    try:
        with open(mounts, errors="surrogateescape") as file:
            for line in file:
                _, mount_point, fs_type, *_ = line.split()
                mount_point = _ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), mount_point)
                inside = target == mount_point or target.startswith(mount_point.rstrip("/") + "/")
                if inside and len(mount_point) >= len(best):
                    best, kind = mount_point, fs_type
    except OSError:
        pass
    return kind


def is_read_only(path: str) -> bool:
    """Whether its file system is read-only. After a disk error only a trial tells, which leaves nothing behind."""
    try:
        if os.statvfs(path).f_flag & os.ST_RDONLY:
            return True
        os.close(os.open(path, os.O_TMPFILE | os.O_RDWR, 0o600))
    except OSError as error:
        return error.errno == errno.EROFS
    return False


def permission_hint(folder: Folder) -> str:
    """What to do about a folder that cannot be written."""
    owned = owned_by_another(folder.root)
    if owned is not None:
        return owned.in_words()
    if is_read_only(folder.root):
        return (
            f"The file system of {folder.root} is read-only now; duckrow continues by itself once it is writable again."
        )
    return f"Check the permissions and the disk of {folder.root}, or choose another folder with DUCKROW_HOME."
