"""Warm starts: runs forked from a Python which has imported their modules are attempts like all others."""

from __future__ import annotations

import json
import os
import signal
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from duckrow.engines.local.preload import preloaded_parent
from duckrow.engines.local.preload.preloading import PARENT_TAG, python_command
from duckrow.kernel.process import environment_of
from tests.conftest import Duckrow, kill_if_there, until

PYTHON = sys.executable
LOOK = """
import json, os, sys
print(json.dumps({
    "warm": "colorsys" in sys.modules, "argv": sys.argv, "path": sys.path[0], "name": __name__, "file": __file__,
    "leads": os.getsid(0) == os.getpid(), "cwd": os.getcwd(), "id": os.environ["DUCKROW_JOB_ID"],
    "gpus": os.environ["CUDA_VISIBLE_DEVICES"], "stdin": sys.stdin.read(),
}))
sys.exit(int(sys.argv[1]))
"""


def parent_processes(duckrow: Duckrow) -> list[int]:
    tag = b"DUCKROW_TAG=" + PARENT_TAG
    return [pid for pid in duckrow.processes() if any(v.startswith(tag) for v in environment_of(pid))]


def warm_up(duckrow: Duckrow, *words: str) -> None:
    """A daemon whose preloaded parent for these options has children that wait."""
    (duckrow.work / "first.py").write_text("pass")
    for _ in range(2):  # for a single run no preloaded parent is begun
        duckrow("wait", str(duckrow.submit(*words, "--", PYTHON, "first.py")))
    until(lambda: len(parent_processes(duckrow)) >= 3, "the preloaded parent to be warm")


@pytest.fixture
def warm(duckrow: Duckrow) -> Duckrow:
    (duckrow.work / "look.py").write_text(LOOK)
    duckrow.up("--devices", "0")
    warm_up(duckrow, "--preload", "colorsys")
    return duckrow


def look(duckrow: Duckrow, *words: str) -> dict[str, object]:
    done = duckrow("submit", "--wait", "--preload", "colorsys", *words, "--", PYTHON, "look.py", "7", "a b", ok=False)
    assert done.returncode == 7
    seen: dict[str, object] = json.loads(duckrow("logs", "last").stdout)
    return seen


def test_a_forked_run_sees_what_a_cold_one_sees(warm: Duckrow) -> None:
    forked = look(warm)
    assert forked.pop("warm") is True
    assert forked == {
        "argv": ["look.py", "7", "a b"],
        "path": str(warm.work),
        "name": "__main__",
        "file": str(warm.work / "look.py"),
        "leads": True,
        "cwd": str(warm.work),
        "id": "3",
        "gpus": "0",
        "stdin": "",
    }


def test_where_python_writes_no_bytecode_libraries_are_compiled_once_and_runs_write_none(duckrow: Duckrow) -> None:
    library = duckrow.work / "site-packages" / "slow_library.py"
    library.parent.mkdir()
    library.touch()
    (duckrow.work / "look.py").write_text(
        "import os, sys; print(sys.dont_write_bytecode, sys.pycache_prefix, os.environ.get('DUCKROW_BYTECODE'))"
    )
    cache = duckrow.work / "cache"
    duckrow.env |= {"PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(library.parent)}
    duckrow.up("--devices", "0")
    warm_up(duckrow, "--preload", "slow_library")
    duckrow("submit", "--wait", "--preload", "slow_library", "--", PYTHON, "look.py")
    assert duckrow("logs", "last").stdout == "True None None\n"
    assert [path.name for path in (cache / "duckrow").rglob("slow_library*")] == [
        Path(cache_from_source(str(library))).name
    ]
    assert (cache / "duckrow" / "bytecode").stat().st_mode & 0o777 == 0o700
    assert list(library.parent.iterdir()) == [library]


def test_a_module_is_run_as_with_m(warm: Duckrow) -> None:
    (warm.work / "there").mkdir()
    (warm.work / "there" / "__main__.py").write_text("import sys; print(sys.argv[1:], 'colorsys' in sys.modules)")
    warm("submit", "--wait", "--preload", "colorsys", "--", PYTHON, "-m", "there", "x")
    assert warm("logs", "last").stdout == "['x'] True\n"


def test_an_error_looks_like_that_of_a_cold_run(warm: Duckrow) -> None:
    (warm.work / "fails.py").write_text("def f():\n    raise ValueError('no')\nf()\n")
    for preload in (["--preload", "colorsys"], []):
        assert warm("submit", "--wait", *preload, "--", PYTHON, "fails.py", ok=False).returncode == 1
    forked, cold = warm("logs", "3").stdout, warm("logs", "4").stdout
    assert forked == cold
    assert forked.startswith("Traceback (most recent call last):\n")
    assert forked.endswith("ValueError: no\n")


def test_a_signal_is_the_end_of_a_forked_run(warm: Duckrow) -> None:
    (warm.work / "dies.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert warm("submit", "--wait", "--preload", "colorsys", "--", PYTHON, "dies.py", ok=False).returncode == 137
    assert warm.job(3)["signal"] == 9


def test_a_killed_run_is_gone_with_a_child_that_has_left_its_session(warm: Duckrow) -> None:
    (warm.work / "forks.py").write_text(
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    open('child', 'w').write(str(os.getpid()))\n"
        "time.sleep(600)\n"
    )
    job = warm.submit("--preload", "colorsys", "--grace", "0.2", "--", PYTHON, "forks.py")
    child = int(until(lambda: (warm.work / "child").exists() and (warm.work / "child").read_text(), "the child"))
    tags = [v for pid in (child, warm.job(job)["pid"]) for v in environment_of(pid) if v.startswith(b"DUCKROW_TAG=")]
    assert len(tags) == 2
    assert tags[0] == tags[1]
    assert not tags[0].startswith(b"DUCKROW_TAG=nest")
    warm("kill", str(job))
    warm.wait_for(job, "killed")
    until(lambda: child not in warm.processes(), "the child's end")


def test_the_death_of_the_preloaded_parent_is_no_run_s_loss(warm: Duckrow) -> None:
    for pid in parent_processes(warm):
        kill_if_there(pid)
    warm("submit", "--preload", "colorsys", "--array", "0-5", "--", PYTHON, "look.py", "0")
    warm("wait", "3-8")
    assert {view["outcome"] for view in json.loads(warm("ls", "--all", "--json").stdout)} == {"succeeded"}


def test_the_preloaded_parent_ends_with_the_daemon(warm: Duckrow) -> None:
    warm.kill_daemon()
    until(lambda: not parent_processes(warm), "the end of the preloaded parent")


SLOW = """
import os, time
with open("imports", "a") as file:
    file.write("x")
deadline = time.monotonic() + 60
while not os.path.exists("go") and time.monotonic() < deadline:
    time.sleep(0.01)
"""


def write_library(duckrow: Duckrow, name: str, source: str) -> None:
    """Installed, as far as anybody can tell: it is in a folder named site-packages."""
    folder = duckrow.work / "site-packages"
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(source)
    duckrow.env["PYTHONPATH"] = str(folder)


def begin_slow_runs(duckrow: Duckrow, runs: int) -> None:
    """Their library is imported by the first run, which starts cold, and by the parent: both wait for a file `go`."""
    write_library(duckrow, "slow", SLOW)
    (duckrow.work / "run.py").write_text("import slow")
    duckrow.up("--slots", "4")
    imports = duckrow.work / "imports"
    for number in range(runs):
        duckrow.submit("--preload", "slow", "--", PYTHON, "run.py")
        if number == 0:
            until(lambda: imports.exists() and imports.read_text() == "x", "the import of a run that is the only one")
    until(lambda: imports.read_text() == "xx", "that of the parent")


def test_runs_wait_for_their_preloaded_parent_instead_of_importing_the_same_beside_it(duckrow: Duckrow) -> None:
    begin_slow_runs(duckrow, 6)
    (duckrow.work / "go").touch()
    duckrow("wait", "1-6")
    assert (duckrow.work / "imports").read_text() == "xx"


def test_of_several_runs_that_came_together_the_first_waits_for_the_preloaded_parent_too(duckrow: Duckrow) -> None:
    write_library(duckrow, "slow", SLOW)
    (duckrow.work / "run.py").write_text("import slow")
    (duckrow.work / "go").touch()
    (duckrow.work / "list").write_text(f"{PYTHON} run.py\n" * 3)
    duckrow("run", "--slots", "1", "--preload", "slow", "list")
    assert (duckrow.work / "imports").read_text() == "x"


def test_a_run_that_waits_for_its_preloaded_parent_can_be_killed_and_loses_nothing_with_the_daemon(
    duckrow: Duckrow,
) -> None:
    begin_slow_runs(duckrow, 3)
    until(lambda: duckrow.job(2)["state"] == "starting", "the second run to be begun")
    duckrow("kill", "2")
    duckrow("wait", "2", ok=False)
    assert duckrow.job(2)["outcome"] == "killed"
    os.kill(duckrow.daemon_pid(), signal.SIGKILL)
    (duckrow.work / "go").touch()
    duckrow.up("--slots", "4")
    duckrow("wait", "1,3")
    assert [row[0] for row in duckrow.sql("SELECT count(*) FROM attempts GROUP BY job_id")] == [1, 1, 1]


def test_a_job_behind_one_that_waits_for_its_preloaded_parent_runs_in_its_own_folder(duckrow: Duckrow) -> None:
    (duckrow.work / "elsewhere").mkdir()
    begin_slow_runs(duckrow, 2)
    first = duckrow.submit("pwd")
    second = duckrow.submit("--cwd", str(duckrow.work / "elsewhere"), "pwd")
    duckrow("wait", f"{first},{second}")
    assert duckrow("logs", str(first)).stdout == f"{duckrow.work}\n"
    assert duckrow("logs", str(second)).stdout == f"{duckrow.work}/elsewhere\n"
    (duckrow.work / "go").touch()


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (
            "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
            "the imports have left 2 threads",
        ),
        ("raise KeyError('x')", "the import of special failed: KeyError: 'x'"),
        ("import os; os._exit(3)", "Python crashed during the imports"),
        (
            "import os; GPUS = os.environ.get('CUDA_VISIBLE_DEVICES')",
            "an import has read CUDA_VISIBLE_DEVICES, which differs from run to run",
        ),
        (
            "try:\n    import mine\nexcept ImportError:\n    mine = None",
            "the import of special failed: OwnModule: it needs mine, a module of the project, which only jobs import",
        ),
    ],
)
def test_a_run_whose_modules_do_not_bear_a_fork_starts_cold_and_says_so(
    duckrow: Duckrow, source: str, why: str
) -> None:
    write_library(duckrow, "special", source)
    (duckrow.work / "mine.py").touch()
    (duckrow.work / "hello.py").write_text("print('hello')")
    duckrow.up("--slots", "1")

    def log_of_another() -> str:
        duckrow("submit", "--wait", "--preload", "special", "--", PYTHON, "hello.py")
        return duckrow("logs", "last").stdout

    until(lambda: log_of_another() == f"duckrow: this run starts cold: {why}.\nhello\n", "a cold start")


@pytest.mark.parametrize(
    ("source", "later"),
    [
        ("", True),
        ("import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()", False),
        ("import os; GPUS = os.environ.get('CUDA_VISIBLE_DEVICES')", False),
        ("raise ImportError('an old version')", False),
    ],
)
def test_what_torch_loads_for_the_first_optimizer_is_preloaded_if_it_bears_a_fork(
    duckrow: Duckrow, source: str, later: bool
) -> None:
    write_library(duckrow, "torch/__init__", "")
    write_library(duckrow, "torch/_dynamo", source)
    (duckrow.work / "look.py").write_text("import sys; print('torch' in sys.modules, 'torch._dynamo' in sys.modules)")
    duckrow.up("--slots", "1")
    warm_up(duckrow, "--preload", "torch")
    duckrow("submit", "--wait", "--preload", "torch", "--", PYTHON, "look.py")
    assert duckrow("logs", "last").stdout == f"True {later}\n"


def test_a_command_that_needs_a_shell_starts_cold_and_says_so(warm: Duckrow) -> None:
    warm("submit", "--wait", "--preload", "colorsys", "echo hello | cat")
    assert warm("logs", "last").stdout == (
        "duckrow: this run starts cold: the command is more than `python SCRIPT ARGUMENTS`.\nhello\n"
    )


def test_a_name_that_is_no_module_is_refused(duckrow: Duckrow) -> None:
    refused = duckrow("submit", "--preload", "torch;rm", "--", PYTHON, "x.py", ok=False)
    assert refused.returncode == 2
    assert "'torch;rm' cannot be a module" in refused.stderr


def test_an_open_gpu_keeps_a_preloaded_parent_from_forking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "listdir", lambda path: ["1"] if path.endswith("task") else ["7"])
    monkeypatch.setattr(os, "readlink", lambda path: "/dev/nvidia0")
    assert preloaded_parent._why_unsafe() == "the imports hold /dev/nvidia0 open"


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("exec /usr/bin/python3 -m duckrow.api.call /a", ["-m", "duckrow.api.call", "/a"]),
        ("exec /usr/bin/python3 -m duckrow.api.call /a # f('b $c')", ["-m", "duckrow.api.call", "/a"]),
        ("/usr/bin/python3 train.py --lr 0.1", ["train.py", "--lr", "0.1"]),
        ("/usr/bin/python3 train.py 'a b'", ["train.py", "a b"]),
        ("/usr/bin/python3 train.py", ["train.py"]),
        ("/usr/bin/python3 -c pass", None),
        ("/usr/bin/python3 -u train.py", None),
        ("/usr/bin/python3", None),
        ("/usr/bin/python3 train.py > log", None),
        ("/usr/bin/python3 train.py $HOME", None),
        ("/usr/bin/python3  train.py", None),
        ("X=1 /usr/bin/python3 train.py", None),
        ("cd there && python3 train.py", None),
        ("no-such-python train.py", None),
        ("python3 'unbalanced", None),
    ],
)
def test_only_a_plain_call_of_python_can_be_forked(command: str, argv: list[str] | None) -> None:
    found = python_command(command, os.environ["PATH"])
    assert (found.argv if found else None) == argv


def test_a_daemon_that_is_killed_again_and_again_runs_each_warm_job_once(duckrow: Duckrow) -> None:
    # No GPU is blamed for exit codes 126 and 127, so that a job which fails is not tried on another one.
    jobs, kills = (600, 120) if os.environ.get("DUCKROW_SOAK") else (60, 12)
    (duckrow.work / "once.py").write_text(
        "import sys, time\n"
        "with open('ran', 'a') as file: file.write(sys.argv[1] + '\\n')\n"
        "time.sleep(0.01)\n"
        "sys.exit((0, 126, 127)[int(sys.argv[1]) % 3])\n"
    )
    duckrow.up("--devices", "0,1,2")
    warm_up(duckrow, "--preload", "colorsys")
    lines = [f"{PYTHON} once.py {number}" for number in range(jobs)]
    Path(duckrow.work / "jobs").write_text("\n".join(lines) + "\n")
    duckrow("submit", "--preload", "colorsys", "--file", "jobs")
    for _ in range(kills):
        _wait_for_more(duckrow, jobs)
        duckrow.kill_daemon()
        duckrow("up")
    duckrow("wait", f"3-{2 + jobs}", ok=False)
    assert sorted(map(int, _ran(duckrow))) == list(range(jobs))
    # One that was forked when its host died has ended at once, and was tried again.
    codes = duckrow.sql("SELECT exit_code FROM attempts WHERE job_id > 2 AND exit_code IS NOT 75 ORDER BY job_id")
    assert [code for (code,) in codes] == [(0, 126, 127)[number % 3] for number in range(jobs)]


def _wait_for_more(duckrow: Duckrow, jobs: int) -> None:
    before = len(_ran(duckrow))
    until(lambda: len(_ran(duckrow)) > before or before == jobs, "another job")


def _ran(duckrow: Duckrow) -> list[str]:
    path = duckrow.work / "ran"
    return path.read_text().split() if path.exists() else []


def test_the_start_of_the_parent_does_not_count_into_the_time_limit_of_a_run(duckrow: Duckrow) -> None:
    write_library(duckrow, "slow", SLOW)
    (duckrow.work / "says.py").write_text("import time; print(time.time())")
    duckrow.up("--slots", "2")
    options = ["--preload", "slow", "--grace", "0.1"]
    duckrow("wait", str(duckrow.submit(*options, "--", PYTHON, "says.py")))  # for a single run no parent is started
    job = duckrow.submit(*options, "--timeout", "5s", "--", PYTHON, "says.py")
    until(lambda: (duckrow.work / "imports").exists(), "the parent to import")
    beside = duckrow.submit("--timeout", "5s", "--grace", "0.1", "--", "sleep 600")
    duckrow.wait_for(beside, "timed-out")  # so long the parent has been importing
    (duckrow.work / "go").touch()
    assert duckrow("wait", str(job)).returncode == 0
    assert not duckrow.sql(f"SELECT 1 FROM events WHERE job_id = {job} AND detail LIKE '%time limit%'")
    ((started_at, ended_at),) = duckrow.sql(f"SELECT started_at, ended_at FROM attempts WHERE job_id = {job}")
    assert (duckrow.work / "go").stat().st_mtime <= started_at + 0.1
    assert started_at <= float(duckrow("logs", str(job)).stdout) <= ended_at
