"""What `duckrow doctor` finds: in the state folder, the database, the settings, the driver."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from duckrow.api.machine import doctor
from duckrow.api.machine.doctor import examine, last_trouble
from duckrow.api.machine.finding import OK, PROBLEM, WARN, Finding
from duckrow.api.machine.service import unit_path
from duckrow.api.machine.versions import versions
from duckrow.core.devices.inventory import cpu_seats, parse_gpus
from duckrow.core.devices.set_aside import SetAside
from duckrow.store.devices.set_aside import SetAsideStore
from duckrow.store.hosts import DAEMON
from duckrow.store.sqlite import version as sqlite_version
from duckrow.store.sqlite.version import LEAST_SQLITE
from tests.api.quiet_queue import QuietQueue


def told(check: str) -> Finding:
    (found,) = [finding for finding in examine() if finding.check == check]
    return found


# -- Python and its SQLite -------------------------------------------------------------------------------------------


def test_doctor_tells_which_sqlite_there_is_and_which_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_version, "SQLITE_VERSION", "3.40.1")
    assert told("sqlite") == Finding("sqlite", OK, f"3.40.1 (at least {LEAST_SQLITE} is needed)")


def test_doctor_calls_a_sqlite_that_is_too_old_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_version, "SQLITE_VERSION", "3.22.0")
    assert told("sqlite").level == PROBLEM
    assert "uv tool install" in told("sqlite").advice


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**versions(), "rich": "not installed"}
    monkeypatch.setattr(doctor, "versions", lambda: known)
    assert (told("packages").level, told("packages").found) == (PROBLEM, "rich cannot be found")
    assert "nstall duckrow again" in told("packages").advice


# -- the state folder ------------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_there_yet_will_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path / "new" / "state"))
    assert told("state") == Finding("state", OK, f"{tmp_path}/new/state will be created on first use")
    assert not (tmp_path / "new").exists(), "doctor changes nothing"


def test_a_folder_cannot_be_made_below_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path / "file" / "state"))
    assert (told("state").level, told("state").found) == (PROBLEM, f"{tmp_path}/file is not a folder")


def test_a_folder_that_others_can_read_is_a_problem_and_a_private_one_is_not(queue: QuietQueue) -> None:
    root = queue.folder.root
    assert told("state") == Finding("state", OK, f"only you can read {root}")
    os.chmod(root, 0o755)
    assert told("state") == Finding("state", PROBLEM, f"{root} is open to other users (755)", f"chmod 700 {root}")


@pytest.mark.parametrize(("kind", "level"), [("ext4", OK), ("nfs", PROBLEM)])
def test_a_network_is_no_place_for_the_state(
    queue: QuietQueue, monkeypatch: pytest.MonkeyPatch, kind: str, level: str
) -> None:
    monkeypatch.setattr(doctor, "file_system_of", lambda _path: kind)
    assert told("file system").level == level
    assert kind in told("file system").found


# -- the database ----------------------------------------------------------------------------------------------------


def test_without_a_database_the_first_job_makes_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path))
    assert told("database").found == "none yet; the first job creates it"


def test_a_database_is_healthy_or_written_by_a_newer_duckrow(queue: QuietQueue) -> None:
    assert told("database").level == OK
    assert told("database").found.startswith("healthy (schema ")
    queue.client.database.execute("PRAGMA user_version = 999")
    assert told("database") == Finding(
        "database", PROBLEM, "it was written by a newer duckrow (schema 999)", "Upgrade duckrow."
    )


def test_what_is_no_database_is_a_problem(queue: QuietQueue) -> None:
    queue.client.close()
    Path(queue.folder.database).write_bytes(b"not a database" * 1000)
    assert told("database").level == PROBLEM


@pytest.mark.parametrize(
    ("jobs", "level", "found"),
    [
        (0, OK, "not running; submit starts it"),
        (1, WARN, "not running, and 1 job is queued"),
        (2, WARN, "not running, and 2 jobs are queued"),
    ],
)
def test_jobs_that_wait_for_a_daemon_that_is_not_there_are_counted(
    queue: QuietQueue, jobs: int, level: str, found: str
) -> None:
    queue.add(*(f"job-{number}" for number in range(jobs))) if jobs else None
    assert told("daemon") == Finding("daemon", level, found, "duckrow up" if jobs else "")


@pytest.mark.parametrize(
    ("gpus", "given"),
    [("", "2 CPU slots"), ("0", "GPU 0"), ("0 1", "GPUs 0, 1")],
)
def test_a_daemon_that_runs_is_told_with_its_devices(queue: QuietQueue, gpus: str, given: str) -> None:
    queue.offers(parse_gpus(gpus.split()) if gpus else cpu_seats(2))
    queue.write("UPDATE hosts SET pid = 4711 WHERE id = ?", DAEMON)
    queue.up()
    assert told("daemon") == Finding("daemon", OK, f"running (process 4711) with {given}")


def test_a_gpu_that_is_set_aside_and_attempts_that_nobody_watches_are_told(queue: QuietQueue) -> None:
    queue.offers(parse_gpus(["0"]), {"0": 1024})
    queue.start(queue.add()[0])
    assert told("leftovers") == Finding(
        "leftovers", WARN, "1 attempt of a daemon or run that has died", "duckrow up looks after them."
    )
    with queue.client.database.transaction():
        SetAsideStore(queue.client.database).save(DAEMON, SetAside("0", "it fell off the bus", "boot"))
    queue.up()
    assert told("gpus").found == "GPU 0 is set aside: it fell off the bus"
    assert told("gpus").advice.endswith("duckrow gpus add 0")
    assert "leftovers" not in {finding.check for finding in examine()}


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("", None),
        ("2026 The daemon is running with GPU 0\n", None),
        ("2026 The daemon is running\n2026 no space left on device\n", "2026 no space left on device"),
        ("2026 no space left on device\n2026 The problem is solved\n", None),
        ("x" * 5000 + "\nlast words\n", "last words"),
    ],
)
def test_the_last_line_of_the_daemons_log_is_told_if_it_is_a_problem(
    tmp_path: Path, text: str, trouble: str | None
) -> None:
    assert last_trouble(str(tmp_path / "none.log")) is None
    (tmp_path / "daemon.log").write_text(text)
    assert last_trouble(str(tmp_path / "daemon.log")) == trouble


def test_the_trouble_of_the_daemon_is_a_warning(queue: QuietQueue) -> None:
    Path(queue.folder.daemon_log).write_text("no space left on device\n")
    assert told("daemon.log") == Finding(
        "daemon.log", WARN, "it ends with: no space left on device", f"See {queue.folder.daemon_log}."
    )


# -- the settings and the shell --------------------------------------------------------------------------------------


def test_settings_that_cannot_be_read_are_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path / "state"))
    assert told("settings").found.startswith("all defaults (put yours into ")
    (tmp_path / "settings.toml").write_text("nonsense = 1\n")
    monkeypatch.setenv("DUCKROW_CONFIG", str(tmp_path / "settings.toml"))
    assert (told("settings").level, told("settings").advice) == (PROBLEM, "Check with: duckrow config")


@pytest.mark.parametrize("lingers", [True, False])
def test_a_service_that_ends_with_the_login_is_a_warning(
    queue: QuietQueue, monkeypatch: pytest.MonkeyPatch, lingers: bool
) -> None:
    assert "service" not in {finding.check for finding in examine()}
    os.makedirs(os.path.dirname(unit_path()))
    Path(unit_path()).touch()
    monkeypatch.setattr(doctor, "lingers", lambda: lingers)
    assert told("service").level == (OK if lingers else WARN)
    assert ("loginctl enable-linger" in told("service").advice) is not lingers


def test_how_completion_is_installed_is_told_for_the_shell_that_is_used(
    queue: QuietQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/usr/bin/csh")
    assert "completion" not in {finding.check for finding in examine()}
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    assert told("completion").advice == "mkdir -p ~/.zfunc && duckrow completion zsh > ~/.zfunc/_duckrow"
    (tmp_path / ".zfunc").mkdir()
    (tmp_path / ".zfunc" / "_duckrow").touch()
    assert told("completion") == Finding("completion", OK, "installed for zsh")


# -- the driver ------------------------------------------------------------------------------------------------------


@pytest.fixture
def nodes(queue: QuietQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A device file of a GPU that can be opened; no driver, no library."""
    node = tmp_path / "nvidia0"
    node.touch()
    monkeypatch.setattr(doctor, "_device_nodes", lambda: [str(node)])
    monkeypatch.setattr(doctor, "nvidia_driver", lambda: None)
    monkeypatch.setattr(doctor, "_loads", lambda _library: False)
    return node


def test_without_a_driver_cpu_slots_are_used(queue: QuietQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_device_nodes", list)
    monkeypatch.setattr(doctor, "nvidia_driver", lambda: None)
    assert told("nvidia").level == OK
    assert told("nvidia").found.startswith("no driver: duckrow uses CPU slots")


@pytest.mark.usefixtures("nodes")
def test_device_files_without_a_driver_and_its_library_are_a_problem() -> None:
    assert told("nvidia") == Finding(
        "nvidia",
        PROBLEM,
        "there are device files, but no driver is loaded",
        "If this is a container, start it with the NVIDIA runtime; else load the driver: sudo modprobe nvidia.",
    )
    assert told("nvml").level == PROBLEM
    assert told("nvidia-smi").found == "it is not on the PATH"


def test_a_driver_whose_device_files_are_closed_is_told(nodes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "nvidia_driver", lambda: "570.1")
    monkeypatch.setattr(doctor, "_loads", lambda _library: True)
    really = os.access
    monkeypatch.setattr(os, "access", lambda path, *how, **more: path != str(nodes) and really(path, *how, **more))
    assert told("nvidia") == Finding("nvidia", OK, "driver 570.1")
    assert told("nvml") == Finding("nvml", OK, "libnvidia-ml.so.1 is there")
    assert told("permissions").found == f"{nodes} cannot be opened by you"


@pytest.mark.parametrize(
    ("said", "code", "finding"),
    [
        ("GPU 0: H200\nGPU 1: H200\n", 0, Finding("gpus", OK, "GPU 0: H200; GPU 1: H200")),
        ("", 0, Finding("gpus", PROBLEM, "the driver reports none")),
        (
            "Failed to initialize NVML\n",
            9,
            Finding(
                "nvidia-smi",
                PROBLEM,
                "Failed to initialize NVML",
                "The driver does not work; after an upgrade of the driver, a reboot often helps.",
            ),
        ),
    ],
)
def test_what_nvidia_smi_says_is_told(
    nodes: Path, monkeypatch: pytest.MonkeyPatch, said: str, code: int, finding: Finding
) -> None:
    done = subprocess.CompletedProcess(["nvidia-smi"], code, said, "")
    monkeypatch.setattr("shutil.which", lambda program: program)
    monkeypatch.setattr(subprocess, "run", lambda *_words, **_options: done)
    assert told(finding.check) == finding
