"""The daemon as a systemd service of the user: its unit, installing and removing it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from duckrow.core.errors import DuckrowError
from duckrow.kernel.cgroup_place import HOST_LEAF

UNIT = "duckrow.service"
_KEPT_VARIABLES = ("DUCKROW_HOME", "XDG_STATE_HOME", "DUCKROW_CONFIG", "XDG_CONFIG_HOME")


def unit_path() -> str:
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return f"{os.path.abspath(base)}/systemd/user/{UNIT}"


def unit_text(command: Sequence[str]) -> str:
    """The unit, with the variables for state and settings folders: systemd does not know this shell's variables."""
    kept = [f"{name}={os.path.abspath(os.environ[name])}" for name in _KEPT_VARIABLES if os.environ.get(name)]
    lines = [
        "[Unit]",
        "Description=duckrow, a queue for GPU jobs",
        "",
        "[Service]",
        "Type=notify",
        "NotifyAccess=all",
        f"ExecStart={' '.join(_quoted(word, '$') for word in command)}",
        "# Not the home folder: Python would import files from there that are named like its own modules.",
        "WorkingDirectory=/",
        *(f"Environment={_quoted(assignment)}" for assignment in kept),
        "# Jobs outlive the daemon: only the daemon is stopped. Its keeper records how they end until it is back.",
        "KillMode=process",
        "# Each job gets its own cgroup, beside the daemon's. systemd before 254 ignores the second line, and the",
        "# memory of jobs is not counted then.",
        "Delegate=yes",
        f"DelegateSubgroup={HOST_LEAF}",
        "TimeoutStopSec=10",
        "Restart=on-failure",
        "RestartSec=5",
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    return "\n".join(lines) + "\n"


def _quoted(word: str, doubled: str = "") -> str:
    """A word as systemd reads it: % and, in a command, $ are doubled."""
    for character in ("%", *doubled):
        word = word.replace(character, character * 2)
    plain = word and all(character.isalnum() or character in "_-+=,./:@%$" for character in word)
    return word if plain else '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write_unit(text: str) -> str:
    path = unit_path()
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        raise DuckrowError(f"The unit {path} cannot be written: {error.strerror}.") from None
    return path


def has_systemd() -> bool:
    """Whether the user's systemd answers."""
    return systemctl("show-environment") is None


def systemctl(*words: str) -> str | None:
    """Call the user's systemd; None if it succeeded, else its message."""
    import subprocess

    try:
        done = subprocess.run(
            ["systemctl", "--user", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"


def tell_ready() -> None:
    """Tell systemd that the daemon is up, if systemd started it."""
    import socket

    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notes:
            notes.sendto(b"READY=1", f"\0{address[1:]}" if address.startswith("@") else address)
    except OSError:
        pass  # nobody is listening any more, so nobody waits


def remove_unit() -> bool:
    """Remove the unit; whether there was one."""
    try:
        os.unlink(unit_path())
        return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise DuckrowError(f"The unit {unit_path()} cannot be removed: {error.strerror}.") from None


def lingers() -> bool:
    """Whether the user's services keep running after logout."""
    import pwd

    try:
        return os.path.exists(f"/var/lib/systemd/linger/{pwd.getpwuid(os.getuid()).pw_name}")
    except KeyError:
        return False
