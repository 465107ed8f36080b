"""What is forked for the tests is as if an interpreter had been started for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests import fork_server
from tests.conftest import DEADLINE_S, Duckrow, is_running, until
from tests.fork_server import Program, Script

LOOK = """
import json, os, resource, signal, sys
print("written", end="")
json.dump({
    "arguments": sys.argv, "path": sys.path, "folder": os.getcwd(), "name": __name__, "file": os.path.abspath(__file__),
    "variables": dict(os.environ), "in /proc": sorted(filter(None, open("/proc/self/environ").read().split("\\0"))),
    "files": sorted(map(int, os.listdir("/proc/self/fd"))), "leads": os.getsid(0) == os.getpid(),
    "signals": {number: str(signal.getsignal(number)) for number in signal.valid_signals()}, "mask": os.umask(0o22),
    "streams": [[s.encoding, s.errors, s.line_buffering, s.fileno()] for s in (sys.stdin, sys.stdout, sys.stderr)],
    "read": sys.stdin.read(), "limits": resource.getrlimit(resource.RLIMIT_NOFILE),
    "main": sys.modules["__main__"].__dict__["__name__"], "compiled": (lambda: 0).__code__.co_flags,
}, sys.stderr)
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture(autouse=True)
def _first_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_server, "WORTH_A_SERVER", 1)


def look(kind: Any, duckrow: Duckrow, flags: list[str], **options: Any) -> tuple[int, bytes, dict[str, Any]]:
    (duckrow.work / "look.py").write_text(LOOK)
    command = [*duckrow.command()[:1], *flags, "look.py", "3", "caf\udce9"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with kind(command, cwd=duckrow.work, env={**duckrow.env, "WORD": "é"}, **pipes, **options) as process:
        assert getattr(process, "is_forked", False) == (kind is Script)
        written, seen = process.communicate(b"given", timeout=DEADLINE_S)
    return process.returncode, written, json.loads(seen)


@pytest.mark.parametrize("flags", [[], ["-P"]])
@pytest.mark.parametrize("new_session", [False, True])
def test_a_forked_script_sees_what_a_started_one_sees(duckrow: Duckrow, new_session: bool, flags: list[str]) -> None:
    if flags and sys.version_info < (3, 11):
        pytest.skip("-P is of Python 3.11")
    with open(os.devnull, "rb") as file:
        options: dict[str, Any] = {"pass_fds": (file.fileno(),), "start_new_session": new_session}
        started, forked = (look(kind, duckrow, flags, **options) for kind in (subprocess.Popen, Script))
    assert forked[:2] == started[:2] == (3, b"written")
    assert {name: forked[2][name] for name in started[2] if forked[2][name] != started[2][name]} == {}


ENDS = """
import atexit, sys, threading, time
def last(word):
    with open(sys.argv[1], "a") as file:
        file.write(word + "\\n")
kept = open(sys.argv[1] + ".kept", "w")
kept.write("written")
atexit.register(last, "at exit")
threading.Thread(target=lambda: (time.sleep(0.01), last("thread"))).start()
print("not flushed", end="")
"""


@pytest.mark.parametrize(
    "end",
    [
        "",
        "sys.exit(0)",
        "sys.exit()",
        "sys.exit(300)",
        "sys.exit('words')",
        "raise KeyError('x')",
        "sys.stdout.close()",
        "kept = open(sys.argv[1] + '.kept', 'w'); kept.write('written'); sys.exit(4)",
    ],
)
def test_a_forked_script_ends_as_a_started_one_ends(duckrow: Duckrow, end: str) -> None:
    def ended(kind: Any) -> list[Any]:
        out = duckrow.work / "out"
        with kind([*duckrow.command()[:1], "ends.py", "out"], cwd=duckrow.work, env=duckrow.env, **pipes) as process:
            said = process.communicate(timeout=DEADLINE_S)
        notes = [out, out.with_suffix(".kept")]
        texts = [note.read_text() for note in notes]
        for note in notes:
            note.unlink()
        return [process.returncode, said[0], said[1].splitlines()[-1:], *texts]

    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    (duckrow.work / "ends.py").write_text(ENDS + end)
    started, forked = ended(subprocess.Popen), ended(Script)
    assert forked == started
    assert forked[3:] == ["thread\nat exit\n", "written"]


@pytest.mark.parametrize(
    "words", [["ls", "--json"], ["show", "7"], ["submit", "--nonsense"], ["--version"], ["doctor"]]
)
def test_a_forked_command_says_what_a_started_one_says(duckrow: Duckrow, words: list[str]) -> None:
    duckrow("ls")
    started = subprocess.run(duckrow.command(*words), cwd=duckrow.work, env=duckrow.env, capture_output=True)
    forked = duckrow(*words, ok=False)
    assert (forked.returncode, forked.stdout, forked.stderr) == (
        started.returncode,
        started.stdout.decode(),
        started.stderr.decode(),
    )


def test_the_signal_that_ended_it_is_known_and_its_number_is_nobody_elses_before(duckrow: Duckrow) -> None:
    process = duckrow.spawn("wait", "--help", stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    assert isinstance(process, Program)
    assert process.is_forked
    until(lambda: not is_running(process.pid), "its end")
    assert Path(f"/proc/{process.pid}").exists()
    assert process.wait(DEADLINE_S) == 0
    until(lambda: not Path(f"/proc/{process.pid}").exists(), "its burial")
    watching = duckrow.spawn("up", "--foreground", "--slots", "1", stderr=subprocess.DEVNULL)
    assert watching.poll() is None
    watching.send_signal(signal.SIGKILL)
    assert watching.wait(DEADLINE_S) == -signal.SIGKILL


def test_a_daemon_that_a_forked_command_starts_is_forked_and_no_child_of_it(duckrow: Duckrow) -> None:
    pid = duckrow.up("--slots", "1")
    assert f"DUCKROW_HOME={duckrow.home}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    assert "fork_server" in Path(f"/proc/{pid}/cmdline").read_text()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="-P is of Python 3.11")
def test_our_program_is_forked_also_if_it_is_to_look_for_modules_nowhere_else(duckrow: Duckrow) -> None:
    python, *words = duckrow.command("ls")
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Program([python, "-P", *words], env=duckrow.env, text=True, **pipes) as process:
        assert process.is_forked
        said = process.communicate(timeout=DEADLINE_S)
    plain = duckrow("ls")
    assert (*said, process.returncode) == (plain.stdout, plain.stderr, 0)


@pytest.mark.parametrize("name", fork_server.ONLY_AT_START)
def test_what_is_read_at_the_start_has_an_interpreter_of_its_own(duckrow: Duckrow, name: str) -> None:
    process = duckrow.spawn("ls", env={name: ""}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert isinstance(process, Program)
    assert not process.is_forked


@pytest.mark.parametrize("options", [["-Werror"], ["-W", "error"]])
def test_what_gives_options_to_the_interpreter_has_one_of_its_own(duckrow: Duckrow, options: list[str]) -> None:
    (duckrow.work / "warns.py").write_text("import warnings\nwarnings.warn('careful')\n")
    words = [sys.executable, *options, "warns.py"]
    with Script[bytes](words, cwd=duckrow.work, env=duckrow.env, stderr=subprocess.PIPE) as process:
        assert not process.is_forked
        assert b"UserWarning: careful" in process.communicate(timeout=DEADLINE_S)[1]
    assert process.returncode == 1


@pytest.mark.parametrize("words", [["web", "--port", "0"], ["dropin", "gpupeasy", "server"]])
def test_what_answers_http_is_forked_from_who_has_loaded_what_that_takes(words: list[str]) -> None:
    kinds = [fork_server.Order(["-m", "duckrow", *given], {}, "/", False, []).key().kind for given in (words, ["ls"])]
    assert kinds == ["web", ""]


def test_all_workers_of_a_run_have_one_server_for_the_same_start(monkeypatch: pytest.MonkeyPatch) -> None:
    key = fork_server.Key("", (("PYTHONTESTSHARED", os.urandom(4).hex()), *os.environ.items()))
    started: list[fork_server.Key] = []
    really = fork_server._spawn_server

    def spawn(key: fork_server.Key, *rest: Any, **more: Any) -> None:
        started.append(key)
        really(key, *rest, **more)

    monkeypatch.setattr(fork_server, "_spawn_server", spawn)
    first, second = (fork_server._start_server(key) for _ in range(2))
    assert (first == second, started) == (True, [key])


def test_a_worker_finds_the_server_that_another_one_has_started(
    duckrow: Duckrow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_server, "WORTH_A_SERVER", 2)
    monkeypatch.setattr(fork_server, "_servers", {})  # as in another worker
    monkeypatch.setattr(fork_server, "_asked", Counter())
    env = {"PYTHONTESTSHARED": os.urandom(4).hex()}
    assert [is_forked(duckrow, env), is_forked(duckrow, env)] == [False, True]
    fork_server._servers.clear()
    fork_server._asked.clear()
    assert is_forked(duckrow, env)


def is_forked(duckrow: Duckrow, env: dict[str, str]) -> bool:
    with duckrow.spawn("--version", env=env, stdout=subprocess.DEVNULL) as process:
        assert isinstance(process, Program)
        return process.is_forked
