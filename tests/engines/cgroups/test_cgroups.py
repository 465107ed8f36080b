"""Cgroups of attempts, on the real kernel: whoever is in one is found, and ended with it, whatever it does to hide."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from duckrow.engines.local.cgroups import group_mover
from duckrow.engines.local.cgroups.attempt_group import AttemptGroup
from duckrow.engines.local.cgroups.attempt_groups import AttemptGroups
from duckrow.engines.local.cgroups.cgroups import Cgroups, leave_attempt_group, tags_by_group
from duckrow.engines.local.cgroups.group_mover import Mover
from duckrow.engines.local.cgroups.group_moving import move_tree
from duckrow.engines.local.processes.processes import DAEMON_TAG, TAG, attempts_of, tag_of
from duckrow.kernel.cgroup_place import HOST_LEAF, VARIABLE, ThisMachine, find_place, mount_points
from duckrow.kernel.process import environment_of, identity_of, open_pidfd, read_process
from duckrow.scheduler.reactor import EpollReactor
from tests.conftest import DEADLINE_S, Duckrow, is_running, until

TAG_7 = tag_of("0123456789ab", 7)
NOBODY = 65534
HIDING = "read go; env -i setsid -f setsid -f sleep 1000; exec sleep 1000"
CHAIN = "import os\ninput()\nwhile True:\n    if os.fork():\n        os._exit(0)\n    os.setsid()\n"


@pytest.fixture
def keepers(tmp_path: Path) -> Path:
    folder = tmp_path / "keepers"
    folder.mkdir()
    return folder


@pytest.fixture
def cgroups(keepers: Path) -> Iterator[Cgroups]:
    found = Cgroups.find(str(keepers))
    if found is None:
        pytest.skip(find_place(ThisMachine(), os.getpid()).way)
    yield found
    for group in sorted(found.made(), key=lambda group: -len(group.folder)):
        end(group)


@pytest.fixture
def group(cgroups: Cgroups) -> Iterator[AttemptGroup]:
    made = make(cgroups)
    yield made
    end(made)


def make(cgroups: Cgroups, tag: str = TAG_7) -> AttemptGroup:
    made = cgroups.make(tag)
    assert made is not None
    return made


def end(group: AttemptGroup) -> None:
    group.kill()
    until(lambda: group.is_empty, "an empty group")
    until(group.remove, "the end of the group")


class Begin:
    """Starts processes that end with the test."""

    def __init__(self) -> None:
        self._begun: list[subprocess.Popen[str]] = []

    def __call__(self, *words: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, start_new_session=True)
        self._begun.append(process)
        return process

    def in_group(self, group: AttemptGroup, *words: str) -> subprocess.Popen[str]:
        process = self(*words)
        assert take(group, process.pid)
        return process

    def end(self) -> None:
        for process in self._begun:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()  # not read to its end: a child that has it too may outlive this process


@pytest.fixture
def begin() -> Iterator[Begin]:
    begin = Begin()
    yield begin
    begin.end()


def take(group: AttemptGroup, pid: int) -> bool:
    return with_pidfd(pid, lambda pidfd: group.take(pid, pidfd))


def with_pidfd(pid: int, use: Callable[[int], bool]) -> bool:
    pidfd = open_pidfd(pid)
    assert pidfd is not None
    try:
        return use(pidfd)
    finally:
        os.close(pidfd)


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


# -- who is in it ---------------------------------------------------------------------------------------------------


def test_a_new_group_is_empty_and_leaves_nothing_when_removed(group: AttemptGroup) -> None:
    assert os.path.isdir(group.folder)
    assert group.is_empty
    assert group.pids() == []
    assert group.remove()
    assert not os.path.exists(group.folder)
    assert group.is_empty
    assert group.remove()


def test_a_group_with_a_process_is_not_removed(group: AttemptGroup, begin: Begin) -> None:
    begin.in_group(group, "sleep", "1000")
    assert not group.is_empty
    assert not group.remove()
    assert os.path.isdir(group.folder)


def test_what_a_process_forks_once_it_is_taken_is_in_the_group(group: AttemptGroup, begin: Begin) -> None:
    process = begin("/bin/sh", "-c", "sleep 1000 & echo $!; read go; sleep 1000 & echo $!; wait")
    before = int(line_of(process))
    assert take(group, process.pid)
    go(process)
    after = int(line_of(process))
    assert sorted(group.pids()) == sorted([process.pid, after])
    end(group)
    assert is_running(before)
    os.kill(before, signal.SIGKILL)


def test_a_tree_is_taken_with_what_was_forked_before(group: AttemptGroup, begin: Begin) -> None:
    process = begin("/bin/sh", "-c", "(sleep 1000 & echo $!; wait) & echo $!; wait")
    forked = {int(line_of(process)), int(line_of(process))}
    assert with_pidfd(process.pid, lambda pidfd: move_tree(group, process.pid, pidfd))
    assert set(group.pids()) == {process.pid, *forked}


def test_who_has_gone_to_another_group_by_itself_stays_there(cgroups: Cgroups, begin: Begin) -> None:
    group, container = make(cgroups), make(cgroups, tag_of("0123456789ab", 8))
    process = begin("/bin/sh", "-c", "sleep 1000 & echo $!; wait")
    child = int(line_of(process))
    assert take(container, child)
    assert with_pidfd(process.pid, lambda pidfd: move_tree(group, process.pid, pidfd))
    assert (group.pids(), container.pids()) == ([process.pid], [child])


def test_a_daemon_that_the_attempt_has_started_is_not_taken(group: AttemptGroup, begin: Begin) -> None:
    process = begin("/bin/sh", "-c", f"sleep 1000 & {TAG}={DAEMON_TAG} sleep 1000 & echo $!; wait")
    daemon = int(line_of(process))
    until(lambda: f"{TAG}={DAEMON_TAG}".encode() in environment_of(daemon), "the daemon")
    assert with_pidfd(process.pid, lambda pidfd: move_tree(group, process.pid, pidfd))
    assert len(group.pids()) == 2
    assert daemon not in group.pids()
    os.kill(daemon, signal.SIGKILL)


def test_a_process_that_has_ended_is_not_taken(group: AttemptGroup, begin: Begin) -> None:
    process = begin("true")
    with_pidfd(process.pid, lambda pidfd: until(lambda: not is_running(process.pid)) or True)
    assert not take(group, process.pid)
    assert group.is_empty


def test_another_process_that_has_got_the_number_is_let_go(group: AttemptGroup, begin: Begin) -> None:
    meant, stranger = begin("true"), begin("sleep", "1000")

    def take_stranger(pidfd: int) -> bool:
        meant.wait()
        return group.take(stranger.pid, pidfd)

    assert not with_pidfd(meant.pid, take_stranger)
    assert group.is_empty
    assert is_running(stranger.pid)


def test_the_group_of_a_process_tells_its_attempt(group: AttemptGroup, begin: Begin) -> None:
    process = begin.in_group(group, "env", "-i", "sleep", "1000")
    assert tags_by_group(process.pid)[-1] == TAG_7
    assert TAG_7 not in tags_by_group(os.getpid())
    assert attempts_of([process.pid], {TAG_7: 7}, lambda _: False) == {process.pid: 7}


def test_that_files_run_out_does_not_make_a_group_look_empty(group: AttemptGroup, begin: Begin) -> None:
    begin.in_group(group, "sleep", "1000")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        looked = (group.is_empty, group.remove(), group.kill())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert looked == (False, False, False)


# -- ending it ------------------------------------------------------------------------------------------------------


def test_a_process_that_hides_from_the_process_table_dies_with_its_group(group: AttemptGroup, begin: Begin) -> None:
    process = begin.in_group(group, "/bin/sh", "-c", HIDING)
    go(process)

    def hidden() -> list[int]:
        return [pid for pid in group.pids() if environment_of(pid) == [b""] and _parent(pid) != process.pid]

    # the one between it and us leads a session too, and is about to end
    (pid,) = until(lambda: len(found := hidden()) == 1 and _session(found[0]) == found[0] and found, "the hidden one")
    group.kill()
    until(lambda: group.is_empty, "an empty group")
    assert not is_running(pid)
    assert process.wait() == -signal.SIGKILL
    assert group.remove()


def test_a_chain_that_forks_and_exits_dies_with_its_group(group: AttemptGroup, begin: Begin) -> None:
    process = begin.in_group(group, sys.executable, "-S", "-E", "-c", CHAIN)
    go(process)
    assert process.wait() == 0
    seen = until(group.pids, "a link of the chain")
    until(lambda: not set(group.pids()) & set(seen), "the next link")
    group.kill()
    until(lambda: group.is_empty, "an empty group")
    assert group.pids() == []


def test_groups_that_the_attempt_has_made_itself_go_with_it(group: AttemptGroup, begin: Begin) -> None:
    inner = AttemptGroup(f"{group.folder}/inner", group.folder)
    os.mkdir(inner.folder)
    process = begin.in_group(inner, "sleep", "1000")
    assert not group.is_empty
    assert group.pids() == [process.pid]
    end(group)
    assert not os.path.exists(group.folder)


# -- who makes and removes them -------------------------------------------------------------------------------------


def test_a_later_host_finds_the_group_again_wherever_it_was_made(
    cgroups: Cgroups, keepers: Path, tmp_path: Path
) -> None:
    session = make(cgroups, tag_of("ba9876543210", 1))  # where the earlier host was
    made = f"{session.folder}/{os.path.basename(session.folder).replace('ba9876543210.1', TAG_7)}"
    os.makedirs(made)
    later = Cgroups.find(str(keepers))
    assert later is not None
    found = later.again([TAG_7, tag_of("0123456789ab", 8)])
    assert {tag: group.folder for tag, group in found.items()} == {TAG_7: made}
    (tmp_path / "other").mkdir()
    other = Cgroups.find(str(tmp_path / "other"))
    assert other is not None
    assert other.again([TAG_7]) == {}


def test_no_group_is_made_twice(group: AttemptGroup, cgroups: Cgroups) -> None:
    assert cgroups.make(TAG_7) is None


def test_empty_groups_of_dead_hosts_are_removed_and_no_others(
    cgroups: Cgroups, keepers: Path, tmp_path: Path, begin: Begin
) -> None:
    left, busy, known = (make(cgroups, tag_of(f"{host:012x}", 1)) for host in (1, 2, 3))
    begin.in_group(busy, "sleep", "1000")
    (keepers / f"{3:012x}").touch()
    other = Cgroups.find(str(tmp_path))
    assert other is not None
    foreign = make(other)
    try:
        cgroups.sweep()
        there = [os.path.isdir(group.folder) for group in (left, busy, known, foreign)]
        assert there == [False, True, True, True]
    finally:
        end(foreign)


def test_finding_out_makes_nothing(keepers: Path, cgroups: Cgroups) -> None:
    assert Cgroups.find(str(keepers)) is not None
    assert [group.folder for group in cgroups.made()] == []


def test_cgroups_can_be_turned_off(keepers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "off")
    assert Cgroups.find(str(keepers)) is None


# -- as another user, in a container, in a service --------------------------------------------------------------------


def in_place(group: AttemptGroup, code: str, *unshare: str) -> str:
    """What a Python that has entered the group prints."""
    if os.geteuid() != 0:
        pytest.skip("only root may be another user")
    python = [*unshare, sys.executable, "-c", f"import os, sys\n{PRELUDE}\n{code}"]
    done = subprocess.run(group.entering(python), capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


PRELUDE = """
from duckrow.engines.local.cgroups.attempt_groups import AttemptGroups
from duckrow.engines.local.cgroups.cgroups import Cgroups, leave_attempt_group
from duckrow.kernel.cgroup_place import ThisMachine, find_place
from duckrow.kernel.process import open_pidfd
import subprocess, time
def become_nobody():
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
def place():
    return find_place(ThisMachine(), os.getpid())
"""
WHOLE_LIFE = """
group = Cgroups.find("/nowhere").make("0123456789ab.1")
sleeper = subprocess.Popen(["sleep", "1000"])
assert group.take(sleeper.pid, open_pidfd(sleeper.pid)), "not taken"
assert group.pids() == [sleeper.pid]
assert group.kill()
assert sleeper.wait() == -9
while not group.is_empty:
    time.sleep(0.01)
print(group.folder, group.remove())
"""


def test_a_user_to_whom_nothing_was_delegated_has_no_groups(group: AttemptGroup) -> None:
    said = in_place(group, "become_nobody(); print(place().way)")
    assert said == f"process table (no cgroup available: you cannot write to {group.folder})"


def test_a_user_to_whom_a_group_was_delegated_has_groups_in_it(group: AttemptGroup) -> None:
    for name in (
        "",
        "cgroup.procs",
        "cgroup.subtree_control",
        "cgroup.threads",
    ):  # what systemd gives with Delegate=yes
        os.chown(f"{group.folder}/{name}", NOBODY, NOBODY)
    folder, removed = in_place(group, f"become_nobody()\n{WHOLE_LIFE}").split()
    assert folder.startswith(f"{group.folder}/duckrow-")
    assert removed == "True"


def test_in_a_cgroup_namespace_nothing_is_guessed(group: AttemptGroup, tmp_path: Path) -> None:
    said = in_place(group, "print(place().why_not)", "unshare", "-C")
    assert said == "its own cgroup is outside of what is mounted here"


def test_in_a_cgroup_namespace_with_a_mount_of_its_own_there_are_groups(group: AttemptGroup, tmp_path: Path) -> None:
    mount = f'mount -t cgroup2 none {tmp_path} && exec "$@"'
    folder, _ = in_place(group, WHOLE_LIFE, "unshare", "-Cm", "/bin/sh", "-c", mount, "sh").split()
    assert folder.startswith(f"{tmp_path}/duckrow-")


def test_a_daemon_that_a_job_starts_leaves_the_group_of_the_job(group: AttemptGroup) -> None:
    said = in_place(group, "print(place().own, leave_attempt_group(), place().own)").split()
    assert said == [group.folder, "True", os.path.dirname(group.folder)]


def test_who_is_in_no_group_of_a_job_stays_where_it_is(group: AttemptGroup) -> None:
    before = find_place(ThisMachine(), os.getpid()).own
    assert leave_attempt_group()
    assert find_place(ThisMachine(), os.getpid()).own == before


def test_a_command_enters_its_group_before_it_begins(group: AttemptGroup, begin: Begin) -> None:
    process = begin(*group.entering(["/bin/sh", "-c", 'echo "$0 $1"; exec sleep 1000', "a b", "c'd"]))
    assert line_of(process) == "a b c'd"
    assert group.pids() == [process.pid]


def test_a_command_that_cannot_enter_does_not_begin(group: AttemptGroup) -> None:
    group.remove()
    done = subprocess.run(group.entering(["echo", "began"]), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (126, "")
    assert f"duckrow: cannot enter the cgroup {group.folder}" in done.stderr


# -- memory ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def service(cgroups: Cgroups) -> Iterator[AttemptGroup]:
    """A group like that of our service: it holds no process itself, and the daemon is in a leaf of it."""
    points = [point for point in mount_points(ThisMachine()) if os.access(point, os.W_OK)]
    if os.geteuid() != 0 or not points:
        pytest.skip("only root can make a group that counts memory")
    made = AttemptGroup(f"{points[0]}/duckrow-test-service-{os.getpid()}", points[0])
    os.mkdir(made.folder)
    os.mkdir(f"{made.folder}/{HOST_LEAF}")
    yield made
    end(made)


GREEDY = "bytearray(60 << 20)"
IN_SERVICE = f"""
group = Cgroups.find("/nowhere").make("0123456789ab.1")
print(group.folder)
if {{limit}}:
    assert group.limit_memory({{limit}})
code = subprocess.run(group.entering([sys.executable, "-c", "{GREEDY}"])).returncode
print(code, group.memory_peak_mb(), group.oom_kills())
assert group.remove()
"""


def test_attempts_of_a_service_are_beside_its_daemon(service: AttemptGroup) -> None:
    host = AttemptGroup(f"{service.folder}/{HOST_LEAF}", service.folder)
    folder, figures = in_place(host, IN_SERVICE.format(limit=0)).splitlines()
    assert os.path.dirname(folder) == service.folder
    code, peak, kills = figures.split()
    assert code == "0"
    if "memory" in Path(f"{service.folder}/cgroup.controllers").read_text():
        assert 60 <= int(peak) < 120
        assert kills == "0"
    else:
        assert (peak, kills) == ("None", "None")


def test_an_attempt_that_takes_more_than_its_limit_is_killed_and_counted(service: AttemptGroup) -> None:
    if "memory" not in Path(f"{service.folder}/cgroup.controllers").read_text():
        pytest.skip("the memory controller of this machine is not that of cgroup v2")
    if os.path.exists(f"{service.folder}/memory.swap.max"):
        Path(f"{service.folder}/memory.swap.max").write_text("0")
    host = AttemptGroup(f"{service.folder}/{HOST_LEAF}", service.folder)
    figures = in_place(host, IN_SERVICE.format(limit=40)).splitlines()[1]
    assert figures == "-9 40 1"


def test_a_job_is_held_to_its_memory_on_request(service: AttemptGroup, duckrow: Duckrow) -> None:
    if "memory" not in Path(f"{service.folder}/cgroup.controllers").read_text():
        pytest.skip("the memory controller of this machine is not that of cgroup v2")
    (duckrow.work / "commands").write_text(f"{sys.executable} -c 'bytearray(100 << 20)'\n")
    run = duckrow.command("run", "--slots", "1", "--mem", "40M", "--mem-limit", "commands")
    host = AttemptGroup(f"{service.folder}/{HOST_LEAF}", service.folder)
    done = subprocess.run(host.entering(run), env=duckrow.env, cwd=duckrow.work, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ends = duckrow.sql("SELECT outcome, host_peak_mb FROM attempts ORDER BY number")
    assert [outcome for outcome, _ in ends] == ["out-of-memory", "out-of-memory", "succeeded"]
    assert ends[0][1] == 40
    assert 100 <= ends[2][1] < 160
    assert " MB of main memory at most" in duckrow("show", "1").stdout


def test_what_a_process_had_before_it_was_moved_is_counted(group: AttemptGroup) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "block = bytes(range(256)) * (160 << 10); print(len(block), flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline()
        pidfd = os.pidfd_open(holder.pid)
        assert move_tree(group, holder.pid, pidfd)
        os.close(pidfd)
        assert 40 <= group.moved_mb < 100
        holder.kill()


def test_where_memory_is_not_counted_nothing_is_said_of_it(tmp_path: Path) -> None:
    nothing = AttemptGroup(str(tmp_path), str(tmp_path))
    assert (nothing.memory_peak_mb(), nothing.oom_kills(), nothing.limit_memory(1)) == (None, None, False)


def test_the_kills_of_a_group_are_told_of_its_attempt_alone(keepers: Path, tmp_path: Path) -> None:
    reactor = EpollReactor()
    groups = AttemptGroups(reactor, str(keepers), "0123456789ab")
    for attempt_id, kills in ((1, 0), (2, 3)):
        folder = tmp_path / f"group-{attempt_id}"
        folder.mkdir()
        (folder / "memory.events").write_text(f"low 0\noom 9\noom_kill {kills}\noom_group_kill 0\n")
        groups._groups[attempt_id] = AttemptGroup(str(folder), str(tmp_path))
    assert [groups.oom_killed(attempt_id) for attempt_id in (1, 2, 3)] == [False, True, None]
    groups.close()
    reactor.close()


# -- moving those that last -----------------------------------------------------------------------------------------


class Moving:
    """A mover in a loop, with processes as attempts."""

    def __init__(self, keepers: Path) -> None:
        self.reactor = EpollReactor()
        self.moved: dict[int, AttemptGroup] = {}
        self.mover = Mover(self.reactor, str(keepers), self._moved)

    def _moved(self, attempt_id: int, group: AttemptGroup) -> None:
        assert threading.current_thread() is threading.main_thread()
        self.moved[attempt_id] = group

    def expect(self, attempt_id: int, pid: int) -> None:
        self.mover.expect(attempt_id, tag_of("0123456789ab", attempt_id), identity_of(pid))

    def turn_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, "waited in vain"
            self.reactor.wait(1)  # in time: only until the next look at the condition


@pytest.fixture
def moving(keepers: Path, cgroups: Cgroups, monkeypatch: pytest.MonkeyPatch) -> Iterator[Moving]:
    monkeypatch.setattr(group_mover, "OLD_ENOUGH_S", 0.02)
    moving = Moving(keepers)
    yield moving
    moving.mover.close()
    moving.reactor.close()


def test_attempts_that_last_are_moved_with_their_children(moving: Moving, begin: Begin) -> None:
    shells = [begin("/bin/sh", "-c", "sleep 1000 & echo $!; wait") for _ in range(3)]
    children = [int(line_of(shell)) for shell in shells]
    for number, shell in enumerate(shells):
        moving.expect(number, shell.pid)
    moving.turn_until(lambda: len(moving.moved) == 3)
    for number, (shell, child) in enumerate(zip(shells, children, strict=True)):
        assert set(moving.moved[number].pids()) == {shell.pid, child}


def test_an_attempt_that_has_ended_gets_no_group(moving: Moving, begin: Begin, cgroups: Cgroups) -> None:
    brief, lasting = begin("true"), begin("sleep", "1000")
    moving.expect(1, brief.pid)
    brief.wait()
    moving.expect(2, lasting.pid)
    moving.turn_until(lambda: 2 in moving.moved)
    assert list(moving.moved) == [2]
    assert not cgroups.again([tag_of("0123456789ab", 1)])


def test_one_that_ends_while_it_is_moved_leaves_no_group(
    moving: Moving, begin: Begin, cgroups: Cgroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending, lasting = begin("sleep", "1000"), begin("sleep", "1000")
    make_group = Cgroups.make

    def make_too_late(self: Cgroups, tag: str) -> AttemptGroup | None:
        ending.kill()
        ending.wait()
        return make_group(self, tag)

    monkeypatch.setattr(Cgroups, "make", make_too_late)
    moving.expect(1, ending.pid)
    moving.expect(2, lasting.pid)
    moving.turn_until(lambda: 2 in moving.moved)
    assert list(moving.moved) == [2]
    assert not cgroups.again([tag_of("0123456789ab", 1)])


def test_where_there_are_no_groups_nothing_is_waited_for(
    moving: Moving, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "off")
    lasting = begin("sleep", "1000")
    moving.expect(1, lasting.pid)
    moving.turn_until(lambda: moving.mover._is_found)
    moving.expect(2, lasting.pid)
    assert not moving.mover._waiting
    assert not moving.moved


def test_what_dead_hosts_left_is_swept_before_the_first_move(moving: Moving, begin: Begin, cgroups: Cgroups) -> None:
    left = make(cgroups, tag_of("ba9876543210", 1))
    moving.expect(1, begin("sleep", "1000").pid)
    moving.turn_until(lambda: 1 in moving.moved)
    assert not os.path.exists(left.folder)


def _parent(pid: int) -> int | None:
    process = read_process(pid)
    return process.parent if process else None


def _session(pid: int) -> int | None:
    process = read_process(pid)
    return process.session if process else None
