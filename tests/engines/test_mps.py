"""The control daemon of NVIDIA's MPS, played by a program that speaks as the real one does."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from duckrow.core.devices.device import Device
from duckrow.engines.local import mps
from duckrow.engines.local.mps import PROGRAM, Mps
from duckrow.kernel.process import environment_of
from tests.conftest import DEADLINE_S, is_running, kill_if_there, until

GPUS = [Device("0"), Device("1")]
PIPES = "CUDA_MPS_PIPE_DIRECTORY"

FAKE = """
import fcntl, os, signal, socket, sys, time

folder = os.environ["CUDA_MPS_PIPE_DIRECTORY"]
mode = os.environ.get("FAKE_MPS", "")

def control(reaching):
    with socket.socket(socket.AF_UNIX) as end:
        end.connect(folder + "/control")
        end.sendall(reaching)
        return end.makefile("rb").read()

def remember(pid):
    with open(os.environ["FAKE_MPS_PIDS"], "a") as file:
        file.write(f"{pid}\\n")

if sys.argv[1:] != ["-d"]:
    try:
        sys.stdout.buffer.write(control(sys.stdin.buffer.read()))
    except OSError:
        sys.exit("Cannot find MPS control daemon process")
    sys.exit(0)

remember(os.getpid())
if mode == "hangs":
    time.sleep(60)
if mode == "refuses":
    sys.exit("Warning: something else\\nThe device is not supported")
lock = os.open(folder + "/control_lock", os.O_RDWR | os.O_CREAT)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    sys.exit("An instance of this daemon is already running")
if os.fork():
    sys.exit(0)
os.setsid()
remember(os.getpid())
server = os.fork()
if not server:
    time.sleep(60)
remember(server)
if os.path.lexists(folder + "/control"):
    os.unlink(folder + "/control")
listening = socket.socket(socket.AF_UNIX)
listening.bind(folder + "/control")
listening.listen()
pid_file = folder + "/nvidia-cuda-mps-control.pid"
with open(pid_file, "w") as file:
    file.write(f"{os.getpid()}\\n")
while True:
    if mode == "deaf":
        time.sleep(60)
    client, _ = listening.accept()
    words = client.recv(1000).split()
    if words == [b"get_server_list"]:
        client.sendall(b"%d\\n" % server)
    if words == [b"quit"]:
        os.kill(server, signal.SIGKILL)
        os.unlink(pid_file)
        sys.exit(0)
    client.close()
"""


class Fake:
    """The program, and what it has left running."""

    def __init__(self, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._pids = work / "pids"
        self._environment = monkeypatch
        (work / "bin").mkdir()
        program = work / "bin" / PROGRAM
        program.write_text(f"#!{sys.executable} -IS\n{FAKE}")
        program.chmod(0o755)
        monkeypatch.setenv("FAKE_MPS_PIDS", str(self._pids))
        monkeypatch.setenv("PATH", f"{work / 'bin'}:{os.environ['PATH']}")

    def is_one_that(self, mode: str) -> None:
        self._environment.setenv("FAKE_MPS", mode)

    def running(self) -> list[int]:
        """Daemons, servers and whoever else was started with -d."""
        pids = {int(line) for line in self._pids.read_text().split()} if self._pids.exists() else set()
        ours = f"FAKE_MPS_PIDS={self._pids}".encode()
        return sorted(pid for pid in pids if is_running(pid) and ours in environment_of(pid))

    def start(self, pipes: Path) -> int:
        """As a user does by hand; the PID of the daemon."""
        pipes.mkdir()
        subprocess.run([PROGRAM, "-d"], env={**os.environ, PIPES: str(pipes)}, check=True, timeout=DEADLINE_S)
        return pid_in(pipes)


def pid_in(pipes: Path) -> int:
    file = pipes / f"{PROGRAM}.pid"
    return int(until(lambda: file.exists() and file.read_text().strip(), f"a daemon in {pipes}"))


@pytest.fixture(autouse=True)
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    for name in (PIPES, "CUDA_MPS_LOG_DIRECTORY", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(mps, "_USUAL_DIRECTORY", str(tmp_path / "usual"))
    program = Fake(tmp_path, monkeypatch)
    yield program
    for pid in program.running():
        kill_if_there(pid)


def lose_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_START_S", "_ASK_S", "_QUIT_S", "_SIGNAL_S"):
        monkeypatch.setattr(mps, name, 0.5)


@pytest.fixture
def state() -> Iterator[Path]:
    """A state folder with a path as short as those of users, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="mps", dir="/tmp") as folder:
        yield Path(folder)


def test_a_daemon_is_started_used_and_ended(state: Path, fake: Fake) -> None:
    daemon = Mps(str(state))
    assert not daemon.is_running()
    assert daemon.variables == {}
    assert daemon.start(GPUS) == ""
    assert daemon.is_running()
    pipes = os.fsencode(state / "mps")
    assert daemon.variables == {b"CUDA_MPS_PIPE_DIRECTORY": pipes, b"CUDA_MPS_LOG_DIRECTORY": pipes}
    daemon.end()
    assert not daemon.is_running()
    assert daemon.variables == {}
    assert fake.running() == []


def test_to_start_it_twice_starts_one(state: Path, fake: Fake) -> None:
    daemon = Mps(str(state))
    assert [daemon.start(GPUS), daemon.start(GPUS)] == ["", ""]
    assert len(fake.running()) == 2  # the daemon and its server
    daemon.end()
    daemon.end()
    assert fake.running() == []


def test_it_sees_all_gpus_in_the_order_of_the_bus(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    monkeypatch.setenv("DUCKROW_TAG", "a-job.7")
    daemon = Mps(str(state))
    assert daemon.start(GPUS) == ""
    variables = environment_of(pid_in(state / "mps"))
    assert not [variable for variable in variables if variable.startswith(b"CUDA_VISIBLE_DEVICES")]
    assert b"CUDA_DEVICE_ORDER=PCI_BUS_ID" in variables
    assert b"DUCKROW_TAG=a-job.7" not in variables
    daemon.end()


def test_it_is_in_nobodys_way(state: Path, tmp_path: Path) -> None:
    """Neither in the terminal's session, nor in a job's folder, nor with a job's files."""
    with open(tmp_path / "log", "w") as log:
        os.set_inheritable(log.fileno(), True)
        daemon = Mps(str(state))
        assert daemon.start(GPUS) == ""
    pid = pid_in(state / "mps")
    files = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
    assert str(tmp_path / "log") not in files
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert os.getsid(pid) != os.getsid(0)
    assert stat.S_IMODE((state / "mps").stat().st_mode) == 0o700
    daemon.end()


def test_without_the_program_there_is_none(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    daemon = Mps(str(state))
    assert daemon.start(GPUS) == "nvidia-cuda-mps-control is not installed; it comes with NVIDIA's driver."
    assert daemon.variables == {}
    daemon.end()


def test_there_is_none_with_mig(state: Path, fake: Fake) -> None:
    daemon = Mps(str(state))
    assert "MIG" in daemon.start([Device("0"), Device("MIG-5c0a9d6e")])
    assert not daemon.is_running()
    assert fake.running() == []


def test_what_the_program_says_is_passed_on(state: Path, fake: Fake) -> None:
    fake.is_one_that("refuses")
    daemon = Mps(str(state))
    assert daemon.start(GPUS) == "nvidia-cuda-mps-control refused: The device is not supported"
    assert daemon.variables == {}
    daemon.end()


def test_a_program_that_cannot_be_run_is_told(state: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / PROGRAM).write_text("#!/no/such/interpreter\n")
    assert "No such file" in Mps(str(state)).start(GPUS)


@pytest.mark.parametrize("mode", ["hangs", "deaf"])
def test_one_that_does_not_answer_is_left_behind_dead(
    state: Path, fake: Fake, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_patience(monkeypatch)
    fake.is_one_that(mode)
    daemon = Mps(str(state))
    assert daemon.start(GPUS).startswith("nvidia-cuda-mps-control did not answer within")
    assert daemon.variables == {}
    assert not daemon.is_running()
    until(lambda: fake.running() == [], "the end of what was started")


def test_one_of_an_earlier_host_is_found_again(state: Path, fake: Fake) -> None:
    host = "import sys; from duckrow.engines.local.mps import Mps; print(Mps(sys.argv[1]).start([]))"
    said = subprocess.run([sys.executable, "-c", host, state], capture_output=True, text=True, timeout=DEADLINE_S)
    assert said.stdout == "\n", said.stderr
    before = fake.running()
    assert len(before) == 2
    daemon = Mps(str(state))
    assert daemon.is_running()
    assert daemon.start(GPUS) == ""
    assert fake.running() == before
    daemon.end()
    assert fake.running() == []


def test_of_two_hosts_the_last_one_ends_it(state: Path) -> None:
    first, second = Mps(str(state)), Mps(str(state))
    assert [first.start(GPUS), second.start(GPUS)] == ["", ""]
    first.end()
    assert second.is_running()
    assert second.variables
    second.end()
    assert not second.is_running()


def test_hosts_that_start_at_once_share_one(state: Path, fake: Fake) -> None:
    hosts = [Mps(str(state)) for _ in range(4)]
    with ThreadPoolExecutor(len(hosts)) as pool:
        assert list(pool.map(lambda host: host.start(GPUS), hosts)) == [""] * 4
    assert len(fake.running()) == 2
    for host in hosts:
        assert host.is_running()
        host.end()
    assert fake.running() == []


def test_one_that_another_host_is_about_to_end_is_not_used(
    state: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_patience(monkeypatch)
    (state / "mps").mkdir()
    with open(state / "mps" / "hosts.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        daemon = Mps(str(state))
        assert "Another duckrow" in daemon.start(GPUS)
        daemon.end()
    assert fake.running() == []


def test_it_is_not_ended_under_a_job_that_runs_on(state: Path) -> None:
    daemon = Mps(str(state))
    assert daemon.start(GPUS) == ""
    job = subprocess.Popen(["sleep", "600"], env={**os.environb, **daemon.variables})
    until(lambda: PIPES.encode() in b" ".join(environment_of(job.pid)), "its environment, which a process has late")
    daemon.end()
    assert Mps(str(state)).is_running()
    job.kill()
    job.wait()
    next_host = Mps(str(state))
    assert next_host.start(GPUS) == ""
    next_host.end()
    assert not next_host.is_running()


def test_one_that_died_is_noticed_and_started_again(state: Path) -> None:
    daemon = Mps(str(state))
    assert daemon.start(GPUS) == ""
    pid = pid_in(state / "mps")
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_running(pid))
    assert not daemon.is_running()
    assert daemon.variables == {}
    assert daemon.start(GPUS) == ""
    assert until(lambda: pid_in(state / "mps") != pid)
    assert daemon.variables
    daemon.end()


@pytest.mark.parametrize("pid", ["1", "4194304", "nonsense", ""])
def test_the_pid_of_something_else_is_no_daemon(state: Path, pid: str) -> None:
    (state / "mps").mkdir()
    (state / "mps" / f"{PROGRAM}.pid").write_text(pid)
    daemon = Mps(str(state))
    assert not daemon.is_running()
    assert daemon.start(GPUS) == ""
    assert daemon.is_running()
    daemon.end()


def test_one_that_hangs_is_killed_with_its_server(state: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = Mps(str(state))
    assert daemon.start(GPUS) == ""
    lose_patience(monkeypatch)
    os.kill(pid_in(state / "mps"), signal.SIGSTOP)  # deaf to `quit` and to SIGTERM
    daemon.end()
    assert fake.running() == []
    assert not daemon.is_running()


def test_the_one_that_the_user_has_named_is_used_and_left_alone(
    state: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = state / "theirs"
    pid = fake.start(theirs)
    monkeypatch.setenv(PIPES, str(theirs))
    daemon = Mps(str(state))
    assert daemon.start(GPUS) == ""
    assert daemon.is_running()
    assert daemon.variables == {b"CUDA_MPS_PIPE_DIRECTORY": os.fsencode(theirs)}
    monkeypatch.setenv("CUDA_MPS_LOG_DIRECTORY", "/their/logs")
    assert daemon.variables[b"CUDA_MPS_LOG_DIRECTORY"] == b"/their/logs"
    daemon.end()
    assert is_running(pid)
    assert daemon.variables == {}
    assert not (state / "mps").exists()


def test_a_named_one_that_does_not_run_is_not_replaced(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PIPES, "/their/pipes")
    daemon = Mps(str(state))
    assert "CUDA_MPS_PIPE_DIRECTORY is /their/pipes, where no MPS daemon answers" in daemon.start(GPUS)
    assert not daemon.is_running()


def test_the_users_own_one_in_the_usual_place_is_used(state: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = state / "usual"
    monkeypatch.setattr(mps, "_USUAL_DIRECTORY", str(usual))
    pid = fake.start(usual)
    daemon = Mps(str(state))
    assert daemon.start(GPUS) == ""
    assert daemon.variables == {b"CUDA_MPS_PIPE_DIRECTORY": os.fsencode(usual)}
    daemon.end()
    os.kill(pid, signal.SIGKILL)  # its socket stays behind
    until(lambda: not is_running(pid))
    assert daemon.start(GPUS) == ""
    assert daemon.variables[b"CUDA_MPS_PIPE_DIRECTORY"] == os.fsencode(state / "mps")
    daemon.end()


def test_a_host_within_a_job_uses_the_same_one_and_does_not_end_it(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer = Mps(str(state))
    assert outer.start(GPUS) == ""
    monkeypatch.setenv(PIPES, str(state / "mps"))
    inner = Mps(str(state))
    assert inner.start(GPUS) == ""
    inner.end()
    assert outer.is_running()
    outer.end()
    assert not outer.is_running()


def test_a_long_state_folder_has_its_pipes_in_a_short_private_one(tmp_path: Path) -> None:
    long = tmp_path / ("long" * 25)
    daemon, same, other = Mps(str(long)), Mps(str(long)), Mps(f"{long}-other")
    assert daemon.start(GPUS) == ""
    pipes = Path(os.fsdecode(daemon.variables[b"CUDA_MPS_PIPE_DIRECTORY"]))
    try:
        assert pipes.name.startswith(f"duckrow-mps-{os.getuid()}-")
        assert stat.S_IMODE(pipes.stat().st_mode) == 0o700
        assert same.is_running()
        assert not other.is_running()
        daemon.end()
        assert not same.is_running()
    finally:
        for file in pipes.iterdir():
            file.unlink()
        pipes.rmdir()


def test_a_folder_that_somebody_else_has_put_there_is_refused(state: Path, tmp_path: Path) -> None:
    (state / "mps").symlink_to(tmp_path)
    assert "it belongs to somebody else" in Mps(str(state)).start(GPUS)
    (state / "mps").unlink()
    (state / "mps").write_text("")
    assert "cannot be used" in Mps(str(state)).start(GPUS)
