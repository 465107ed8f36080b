"""`duckrow doctor`: each check says what it found and what to do."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from duckrow.api.machine.finding import OK, PROBLEM, WARN, Finding
from duckrow.api.machine.installation import install_command
from duckrow.api.machine.service import lingers, unit_path
from duckrow.api.machine.settings import Settings
from duckrow.api.machine.settings_files import user_file
from duckrow.api.machine.state_files import file_faults
from duckrow.api.machine.state_space import space_findings
from duckrow.api.machine.versions import nvidia_driver, versions
from duckrow.core.errors import DuckrowError
from duckrow.core.units import plural
from duckrow.kernel.cgroup_place import place_of_host
from duckrow.kernel.shared_folder import VARIABLE, shared_folder
from duckrow.store.folder.owner import owned_by_another
from duckrow.store.folder.state_folder import (
    NETWORK_FILE_SYSTEMS,
    Folder,
    existing_folder,
    file_system_of,
    is_read_only,
)
from duckrow.store.hosts import DAEMON, is_alive
from duckrow.store.sqlite.before_opening import has_remains
from duckrow.store.sqlite.database_files import size_of
from duckrow.store.sqlite.read_only import NEWEST_FORM, Look, Trouble
from duckrow.store.sqlite.version import INSTEAD, LEAST_SQLITE, is_new_enough

COMPLETIONS = {
    "bash": "~/.local/share/bash-completion/completions/duckrow",
    "zsh": "~/.zfunc/_duckrow",
    "fish": "~/.config/fish/completions/duckrow.fish",
}
# What daemons log when all is well, including the slower of two that were started at once.
_ROUTINE = (
    "The daemon is running",
    "The daemon ends",
    "The problem is solved",
    "nothing was lost",
    "There is already a daemon",
    "is used again",
    # by versions up to 0.1
    "The daemon runs as",
    "All is well again",
    "There is a daemon already",
    "is given out again",
)


def examine() -> Iterator[Finding]:
    """Run all checks, one after the other; they change nothing."""
    folder = existing_folder()
    yield from _versions()
    yield from _state(folder)
    yield from file_faults(folder)
    yield from _database(folder)
    yield from _settings()
    yield from _nvidia()
    yield _gpu_locks()
    yield Finding("processes", OK, place_of_host(_daemon_pid(folder) or os.getpid()).way)
    yield from _service()
    yield from _completion()


def _versions() -> Iterator[Finding]:
    known = versions()
    yield Finding("duckrow", OK, f"{known['duckrow']}, on Python {known['python']}, {known['platform']}")
    missing = [name for name in ("click", "rich", "nvidia-ml-py") if known[name] == "not installed"]
    if missing:
        advice = f"Install duckrow again: {install_command()}"
        yield Finding("packages", PROBLEM, f"{', '.join(missing)} cannot be found", advice)
    yield _sqlite(known["sqlite"])


def _sqlite(version: str) -> Finding:
    if is_new_enough(version):
        return Finding("sqlite", OK, f"{version} (at least {LEAST_SQLITE} is needed)")
    return Finding("sqlite", PROBLEM, f"{version} is too old: at least {LEAST_SQLITE} is needed", INSTEAD)


# -- the state ------------------------------------------------------------------------------------------------------


def _state(folder: Folder) -> Iterator[Finding]:
    root = folder.root
    if not os.path.isdir(root):
        yield _state_to_be(root)
        return
    mode = stat.S_IMODE(os.stat(root).st_mode)
    owned = owned_by_another(root)
    if owned is not None:
        yield Finding("state", PROBLEM, owned.what, owned.advice)
    elif is_read_only(root):
        advice = "Nothing is lost; duckrow continues when it is writable again. dmesg may say why; or set DUCKROW_HOME."
        yield Finding("state", PROBLEM, f"{root} is on a file system that is read-only now", advice)
    elif not os.access(root, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("state", PROBLEM, f"{root} cannot be written", f"chmod 700 {root}, or set DUCKROW_HOME.")
    elif mode & 0o077:
        yield Finding("state", PROBLEM, f"{root} is open to other users ({mode:o})", f"chmod 700 {root}")
    else:
        yield Finding("state", OK, f"only you can read {root}")
    yield from _disk(root)


def _state_to_be(root: str) -> Finding:
    above = root
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        return Finding("state", PROBLEM, f"{above} is not a folder", "Move it away, or set DUCKROW_HOME.")
    if not os.access(above, os.W_OK | os.X_OK):
        return Finding("state", PROBLEM, f"{root} cannot be created: you cannot write to {above}", "Set DUCKROW_HOME.")
    return Finding("state", OK, f"{root} will be created on first use")


def _disk(root: str) -> Iterator[Finding]:
    kind = file_system_of(root) or "an unknown file system"
    if kind in NETWORK_FILE_SYSTEMS:
        advice = "SQLite and locks do not work over a network: set DUCKROW_HOME to a local disk."
        yield Finding("file system", PROBLEM, f"{root} is on {kind}", advice)
    else:
        yield Finding("file system", OK, f"{kind}, local")
    yield from space_findings(root)


def _database(folder: Folder) -> Iterator[Finding]:
    if size_of(folder.database) == 0:
        if not has_remains(folder):  # otherwise that was already reported
            yield Finding("database", OK, "none yet; the first job creates it")
        return
    try:
        look = Look(folder)
    except Trouble as trouble:
        yield Finding("database", PROBLEM, str(trouble))
        return
    try:
        yield _form(look)
        if not os.access(folder.database, os.W_OK):
            yield Finding("database", PROBLEM, "it cannot be written", f"chmod 600 {folder.database}")
        if look.form:
            yield from _daemon(folder, look)
    except Trouble as trouble:
        yield Finding("database", PROBLEM, str(trouble))
    finally:
        look.close()


def _form(look: Look) -> Finding:
    complaints = look.complaints()
    if complaints:
        advice = "duckrow down; then move the database away. Logs and run folders are kept."
        return Finding("database", PROBLEM, f"it is damaged: {complaints[0]}", advice)
    if look.form > NEWEST_FORM:
        found = f"it was written by a newer duckrow (schema {look.form})"
        return Finding("database", PROBLEM, found, "Upgrade duckrow.")
    later = "" if look.form == NEWEST_FORM else f", upgraded to schema {NEWEST_FORM} on next use"
    return Finding("database", OK, f"healthy (schema {look.form}{later})")


def _daemon(folder: Folder, look: Look) -> Iterator[Finding]:
    living = [host for host in look.open_hosts() if is_alive(folder, host)]
    if DAEMON in living:
        pid, seats = look.daemon()
        devices = [device for seat in seats for device in seat.devices]
        gpus = sorted({device for device in devices if device.is_gpu})
        given = f"GPU{'s' if len(gpus) > 1 else ''} {', '.join(gpus)}" if gpus else plural(len(devices), "CPU slot")
        yield Finding("daemon", OK, f"running (process {pid}) with {given}")
    else:
        waiting = look.waiting_for_daemon()
        wait = f"{plural(waiting, 'job')} {'is' if waiting == 1 else 'are'} queued"
        found = f"not running, and {wait}" if waiting else "not running; submit starts it"
        yield Finding("daemon", WARN if waiting else OK, found, "duckrow up" if waiting else "")
    yield from _broken(look, living)
    trouble = last_trouble(folder.daemon_log)
    if trouble:
        yield Finding("daemon.log", WARN, f"it ends with: {trouble}", f"See {folder.daemon_log}.")
    leftover = look.unwatched(living)
    if leftover:
        found = f"{plural(leftover, 'attempt')} of a daemon or run that has died"
        yield Finding("leftovers", WARN, found, "duckrow up looks after them.")


def _broken(look: Look, living: list[int]) -> Iterator[Finding]:
    if look.form != NEWEST_FORM:
        return
    for gpu, why in look.set_aside(living).items():
        advice = f"Reset it, or restart the machine. To use it again: duckrow gpus add {gpu}"
        yield Finding("gpus", WARN, f"GPU {gpu} is set aside: {why}", advice)


def _daemon_pid(folder: Folder) -> int | None:
    try:
        if not is_alive(folder, DAEMON):
            return None
        look = Look(folder)
        try:
            return look.daemon()[0]
        finally:
            look.close()
    except (OSError, Trouble, ValueError, IndexError):
        return None  # the folder and the database have their own checks


def last_trouble(path: str) -> str | None:
    """The last line of the daemon's log, if it reports a problem."""
    try:
        with open(path, "rb") as file:
            file.seek(max(os.path.getsize(path) - 4096, 0))
            lines = file.read().decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return None
    last = lines[-1] if lines else ""
    return last if last and not any(word in last for word in _ROUTINE) else None


# -- the machine ----------------------------------------------------------------------------------------------------


def _nvidia() -> Iterator[Finding]:
    driver = nvidia_driver()
    nodes = _device_nodes()
    if driver is None and not nodes:
        yield Finding("nvidia", OK, "no driver: duckrow uses CPU slots, or the devices that you name")
        return
    if driver:
        yield Finding("nvidia", OK, f"driver {driver}")
    else:
        advice = "If this is a container, start it with the NVIDIA runtime; else load the driver: sudo modprobe nvidia."
        yield Finding("nvidia", PROBLEM, "there are device files, but no driver is loaded", advice)
    if not _loads("libnvidia-ml.so.1"):
        advice = "Install the driver's libraries of the same version; in a container, --gpus all."
        yield Finding("nvml", PROBLEM, "libnvidia-ml.so.1 cannot be loaded: no GPU will be found", advice)
    else:
        yield Finding("nvml", OK, "libnvidia-ml.so.1 is there")
    closed = [path for path in nodes if not os.access(path, os.R_OK | os.W_OK)]
    if closed:
        advice = "Ask for membership of the group that owns them: ls -l /dev/nvidia*."
        yield Finding("permissions", PROBLEM, f"{', '.join(closed)} cannot be opened by you", advice)
    yield from _smi()


def _gpu_locks() -> Finding:
    folder = shared_folder()
    if not folder.fault:
        return Finding("gpu locks", OK, f"in {folder.path}; other users' duckrows see them")
    advice = f"Set {VARIABLE} to a folder of root's with mode 1777, the same for all users."
    return Finding("gpu locks", WARN, f"{folder.path} {folder.fault}: GPUs cannot be locked for other users", advice)


def _device_nodes() -> list[str]:
    """The device files of GPUs, and the one that controls them all."""
    try:
        names = sorted(os.listdir("/dev"))
    except OSError:
        return []
    return [
        f"/dev/{name}" for name in names if name.startswith("nvidia") and (name[6:].isdecimal() or name[6:] == "ctl")
    ]


def _loads(library: str) -> bool:
    import ctypes

    try:
        ctypes.CDLL(library)
        return True
    except OSError:
        return False


def _smi() -> Iterator[Finding]:
    import shutil
    import subprocess

    if shutil.which("nvidia-smi") is None:
        yield Finding("nvidia-smi", WARN, "it is not on the PATH", "duckrow does not need it; you may.")
        return
    try:
        done = subprocess.run(
            ["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL
        )
        said = (done.stdout.strip() or done.stderr.strip()).splitlines() or [""]
        failed = done.returncode != 0
    except (OSError, subprocess.TimeoutExpired) as error:
        said, failed = [str(error)], True
    if failed:
        advice = "The driver does not work; after an upgrade of the driver, a reboot often helps."
        yield Finding("nvidia-smi", PROBLEM, said[0], advice)
    else:
        gpus = [line for line in said if line.startswith("GPU ")]
        yield Finding("gpus", OK if gpus else PROBLEM, "; ".join(gpus) or "the driver reports none")


# -- the user -------------------------------------------------------------------------------------------------------


def _settings() -> Iterator[Finding]:
    try:
        sources = {value.source for value in Settings().values().values()} - {"default"}
    except DuckrowError as error:
        yield Finding("settings", PROBLEM, str(error), "Check with: duckrow config")
        return
    found = f"from {', '.join(sorted(sources))}" if sources else f"all defaults (put yours into {user_file()})"
    yield Finding("settings", OK, found)


def _service() -> Iterator[Finding]:
    if not os.path.exists(unit_path()):
        return
    if lingers():
        yield Finding("service", OK, f"{unit_path()}; it keeps running when you log out")
    else:
        advice = "loginctl enable-linger keeps it, and your jobs, when you log out."
        yield Finding("service", WARN, f"{unit_path()}; it ends when you log out", advice)


def completion_install(shell: str) -> str:
    path = COMPLETIONS[shell]
    return f"mkdir -p {os.path.dirname(path)} && duckrow completion {shell} > {path}"


def _completion() -> Iterator[Finding]:
    shell = os.path.basename(os.environ.get("SHELL", ""))
    path = COMPLETIONS.get(shell)
    if path is None:
        return
    if os.path.exists(os.path.expanduser(path)):
        yield Finding("completion", OK, f"installed for {shell}")
    else:
        yield Finding("completion", OK, f"not in {path}", completion_install(shell))
