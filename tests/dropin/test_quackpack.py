"""quackpack by another name: the examples of its document, its packing, and what it did wrong."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import uuid
from pathlib import Path
from typing import NamedTuple

import pytest

import duckrow.dropin.quackpack as qp
from duckrow.dropin.quackpack.command_words import join_words, split_words
from tests.conftest import DEADLINE_S, Duckrow, until
from tests.dropin.shell import environment, has_ended_of, lines_of
from tests.fake_nvml import FakeGpus
from tests.fork_server import Script

pytest_plugins = ("tests.fake_nvml.plugin",)

# The examples of the document, changed in their import; the first also where it could not work: its pattern was no
# f-string, and `command_list` was not defined.
TEN_EXPERIMENTS = """
import duckrow.dropin.quackpack as qp
cmd_list = [f"python experiment_{i}.py" for i in range(1,11)]
cmd_list = [qp.GpuJobInfo(it_cmd, 10*1000) for it_cmd in cmd_list]
qp.schedule_cmd_gpus(cmd_list, sleep_s=30)
"""
DISTRIBUTED = """
import duckrow.dropin.quackpack as qp
cmd = "python -m torch.distributed.launch experiment_1.py --some_arg"
qp.schedule_cmd_gpus(
    command_list=[qp.GpuJobInfo(cmd, 100*1000)],
    command_apply_functions=[qp.fresh_port_mod_fn, qp.fresh_n_proc_per_node],
)
"""
# Stands for PyTorch: listens on the port that it is told, says what it was told, and waits for the others.
LAUNCHER = """
import os, socket, sys, time
port = next(word.partition("=")[2] for word in sys.argv if word.startswith("--master_port="))
with socket.create_server(("", int(port))):
    with open("launched", "a") as file:
        file.write(" ".join([os.environ["CUDA_VISIBLE_DEVICES"], *sys.argv[1:]]) + "\\n")
    deadline = time.monotonic() + 30
    while len(open("launched").readlines()) < int(os.environ.get("TOGETHER", 1)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
"""


class Done(NamedTuple):
    scheduled: list[tuple[str, str]]  # (command, GPUs), in order
    out: str
    said: str


class Machine:
    """Fake GPUs, and scripts that use quackpack on them."""

    def __init__(self, duckrow: Duckrow, gpus: FakeGpus) -> None:
        self.duckrow = duckrow
        self.gpus = gpus
        self.folder = duckrow.work
        duckrow.env.update(gpus.env())
        self.temporary = duckrow.work.parent / "temporary"
        self.temporary.mkdir()
        self.env = {**environment(duckrow), "TMPDIR": str(self.temporary)}

    def add(self, *sizes_mb: int) -> None:
        """Each with a UUID of its own: duckrow locks GPUs by it, and other tests run beside this one."""
        for mb in sizes_mb:
            self.gpus.add(memory_mb=mb, uuid=f"GPU-{uuid.uuid4()}")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def spawn(self, script: str) -> subprocess.Popen[str]:
        self.write("script.py", script)
        pipe = subprocess.PIPE
        return Script(
            [sys.executable, "script.py"],
            cwd=self.folder, env=self.env, stdin=pipe, stdout=pipe, stderr=pipe, text=True,
        )  # fmt: skip

    def run(self, script: str, code: int = 0, typed: str = "") -> Done:
        process = self.spawn(script)
        out, said = process.communicate(typed, timeout=DEADLINE_S)
        assert process.returncode == code, f"exit {process.returncode}\n{out}\n{said}"
        return Done(re.findall(r"^Scheduled (.*) into CUDA_VISIBLE_DEVICES=(.*)$", out, re.MULTILINE), out, said)

    def schedule(self, *jobs: tuple[str, int], code: int = 0, typed: str = "", before: str = "", **words: str) -> Done:
        """Run a script that schedules these and ends with what comes back. `before`: its first lines."""
        arguments = "".join(f", {name}={value}" for name, value in words.items())
        listed = ", ".join(f"qp.GpuJobInfo({cmd!r}, {mb})" for cmd, mb in jobs)
        call = f"sys.exit(qp.schedule_cmd_gpus([{listed}]{arguments}))"
        return self.run(f"import sys\nimport duckrow.dropin.quackpack as qp\n{before}\n{call}\n", code, typed)

    def lines(self, name: str) -> list[str]:
        return lines_of(self.folder / name)

    def outcomes(self) -> dict[str, str]:
        return dict(self.duckrow.sql("SELECT name, coalesce(outcome, state) FROM jobs"))

    def log(self, name: str, number: int = 0) -> str:
        """That of so-named jobs' first attempt, or of a further one."""
        query = (
            "SELECT a.log FROM attempts a JOIN jobs j ON j.id = a.job_id WHERE j.name = ? ORDER BY a.job_id, a.number"
        )
        return Path(os.fsdecode(self.duckrow.sql(query, name)[number][0])).read_text()


@pytest.fixture
def machine(duckrow: Duckrow, gpus: FakeGpus) -> Machine:
    return Machine(duckrow, gpus)


# -- the document ---------------------------------------------------------------------------------------------------


def test_the_first_example_of_the_document_runs_with_its_typos_mended(machine: Machine) -> None:
    machine.add(24_000, 24_000)
    for number in range(1, 11):
        ran = f"import os; open('ran', 'a').write('{number} ' + os.environ['CUDA_VISIBLE_DEVICES'] + '\\n')"
        machine.write(f"experiment_{number}.py", ran)
    done = machine.run(TEN_EXPERIMENTS)
    assert list(machine.temporary.iterdir()) == []
    assert sorted(machine.lines("ran")) == sorted(
        f"{command.removeprefix('python experiment_').removesuffix('.py')} {gpu}" for command, gpu in done.scheduled
    )
    assert len(done.scheduled) == 10
    assert {gpu for _, gpu in done.scheduled} == {"0", "1"}


def test_the_second_example_of_the_document_runs_with_its_flags_where_they_belong(machine: Machine) -> None:
    machine.add(40_000, 40_000, 40_000, 40_000)
    machine.write("torch/distributed/launch.py", LAUNCHER)
    done = machine.run(DISTRIBUTED)
    assert done.scheduled == [("python -m torch.distributed.launch experiment_1.py --some_arg", "0,1,2")]
    launched = machine.lines("launched")
    assert len(launched) == 1
    assert re.fullmatch(r"0,1,2 --nproc_per_node=3 --master_port=\d{4,5} experiment_1\.py --some_arg", launched[0]), (
        launched
    )


def test_the_packing_table_of_the_original_holds(machine: Machine, holder: subprocess.Popen[bytes]) -> None:
    machine.add(20_000, 20_000, 20_000)
    machine.gpus.allocate(holder.pid, 0, 10_000)
    machine.gpus.allocate(holder.pid, 2, 5_000)
    script = """
import duckrow.dropin.quackpack as qp
print(*((gpu.idx, gpu.free_mbs, gpu.total_mbs) for gpu in qp.get_memory_gpus()))
for mb in (29999, 20000, 19999):
    assert qp.schedule_cmd_gpus([qp.GpuJobInfo(f"true {mb}", mb)]) == 0
assert qp.schedule_cmd_gpus([qp.GpuJobInfo("true 30000", 30000)], timeout_s=1) == 1
"""
    done = machine.run(script)
    assert done.out.startswith("(1, 20000, 20000) (2, 15000, 20000) (0, 10000, 20000)\n")
    assert done.scheduled == [("true 29999", "1,2"), ("true 20000", "1,2"), ("true 19999", "1")]
    assert "The 1 s of the schedule are over" in done.said


# -- what fits ------------------------------------------------------------------------------------------------------


def test_jobs_that_have_not_allocated_yet_never_share_what_is_promised(machine: Machine) -> None:
    machine.add(10_000)
    job = machine.gpus.job("--ramp", "0:10", "0.2:9000", "--hold", "0.1")
    done = machine.schedule(*[(job, 9_000)] * 6)
    assert len(done.scheduled) == 6
    assert machine.gpus.ooms() == []
    assert machine.gpus.peak_mb(0) == 9_000
    held: set[int] = set()
    for event in machine.gpus.history():
        held = held | {event.pid} if event.what == "took" else held - {event.pid}
        assert len(held) <= 1, "two of them were there at the same time"


def test_small_jobs_share_a_gpu(machine: Machine) -> None:
    machine.add(10_000)
    machine.env["TOGETHER"] = "3"
    machine.write("torch/distributed/launch.py", LAUNCHER)
    command = "python -m torch.distributed.launch --master_port={}"
    jobs = [(command.format(port), 3_000) for port in qp.find_free_ports(3)]  # type: ignore[union-attr]
    assert [gpu for _, gpu in machine.schedule(*jobs).scheduled] == ["0", "0", "0"]


def test_a_big_job_is_not_overtaken_by_small_ones(machine: Machine) -> None:
    machine.add(10_000)
    first = machine.gpus.job("--ramp", "0:6000", "--hold", "1")
    done = machine.schedule(("true small", 500), ("true big", 5_000), ("true small", 500), (first, 6_000))
    assert [command for command, _ in done.scheduled] == [first, "true big", "true small", "true small"]
    assert machine.gpus.peak_mb(0) == 6_000


def test_a_job_that_no_gpus_could_hold_is_refused_by_name_before_anything_starts(machine: Machine) -> None:
    jobs = [("touch started", 100), ("python huge.py --layers 96", 20_000)]
    assert "No GPU was found" in machine.schedule(*jobs, code=1).said
    machine.add(10_000, 10_000)
    done = machine.schedule(*jobs, code=1)
    assert "The job python huge.py --layers 96 can never start. It asks for 19.5G of GPU memory" in done.said
    assert "Nothing was started." in done.said
    assert done.scheduled == []
    assert not (machine.folder / "started").exists()
    assert "duckrow: 2 succeeded" in machine.schedule(("true", 19_999), ("true", 0)).said


def test_an_inherited_choice_of_gpus_is_respected(machine: Machine) -> None:
    machine.add(10_000, 30_000, 10_000)
    machine.env["CUDA_VISIBLE_DEVICES"] = "2"
    assert machine.schedule(("true", 5_000)).scheduled == [("true", "2")]
    assert "can never start" in machine.schedule(("true", 10_000), code=1).said


# -- apply functions ------------------------------------------------------------------------------------------------


def test_each_job_gets_a_free_port_of_its_own_and_a_process_for_each_gpu(machine: Machine) -> None:
    machine.add(10_000, 10_000, 10_000, 10_000)
    machine.env["TOGETHER"] = "4"
    machine.write("torch/distributed/launch.py", LAUNCHER)
    command = "python -m torch.distributed.launch job.py"
    jobs = [(command, 15_000), (command, 4_000), (command, 4_000), (command, 4_000)]
    done = machine.schedule(*jobs, command_apply_functions="[qp.fresh_port_mod_fn, qp.fresh_n_proc_per_node]")
    found = [
        re.match(r"(\S+) --nproc_per_node=(\d) --master_port=(\d+) job.py$", line) for line in machine.lines("launched")
    ]
    assert sorted((each[1], each[2]) for each in found if each) == sorted(
        (gpus, str(len(gpus.split(",")))) for _, gpus in done.scheduled
    )
    assert done.scheduled[0] == (command, "0,1")
    assert len({each[3] for each in found if each}) == 4


def test_apply_functions_keep_what_they_count_and_may_change_the_environment(machine: Machine) -> None:
    machine.add(10_000)
    before = """
import itertools, os, threading
numbers, seen, lock, mine = itertools.count(), [], threading.Lock(), os.getpid()
def first(cmd, env):
    with lock:  # which cannot be pickled
        seen.append(cmd)
    env["SEEN"] = f"{env['CUDA_VISIBLE_DEVICES']} {os.getpid() == mine} {len(seen)}"
    del env["TOGETHER"]
    return cmd + " $SEEN 'two  words'"
"""
    machine.env["TOGETHER"] = "removed"
    machine.write(
        "say.py", "import os, sys; print(*sys.argv[1:], os.environ['SEEN'], os.environ.get('TOGETHER'), sep='|')"
    )
    functions = "[first, lambda cmd, env: f'{cmd} --run_id={next(numbers)}']"
    jobs = [(f"python say.py {name}", 9_000) for name in "abcd"]
    machine.schedule(*jobs, before=before, command_apply_functions=functions)
    logs = [machine.log("say", number) for number in range(4)]
    assert logs == [f"{name}|$SEEN|two  words|--run_id={at}|0 True {at + 1}|None\n" for at, name in enumerate("abcd")]
    assert list(machine.temporary.iterdir()) == []


def test_a_job_whose_apply_function_fails_has_failed_and_says_so_and_the_others_go_on(machine: Machine) -> None:
    machine.add(10_000)
    before = """
def fickle(cmd, env):
    if "bad" in cmd:
        raise KeyError("no such flag")
    if "leave" in cmd:
        sys.exit(0)
    return None if "forgetful" in cmd else cmd
"""
    jobs = [("./bad", 1), ("./leave", 1), ("./forgetful", 1), ("touch good", 1)]
    machine.schedule(*jobs, code=1, before=before, command_apply_functions="[fickle]")
    assert machine.outcomes() == {"bad": "failed", "leave": "failed", "forgetful": "failed", "touch": "succeeded"}
    log = machine.log("bad")
    assert "KeyError: 'no such flag'\n" in log
    assert log.endswith("The apply functions failed (fickle), so this job's command was not run.\n")
    assert "SystemExit: 0" in machine.log("leave")
    assert "returns the command, not None" in machine.log("forgetful")


# -- what the original did wrong ------------------------------------------------------------------------------------


def test_much_output_quotes_and_missing_programs_harm_nobody(machine: Machine) -> None:
    machine.add(10_000)
    machine.schedule(
        ("head -c 300000 /dev/zero", 5),
        ("no-such-program --at all", 4),
        ("""printf %s| "two  words" 'and "more"' [1,2] #tag $HOME * {"a":1} range(2) a>b a;b x&y a|b `ls` ~ !x""", 3),
        code=1,
    )
    assert machine.outcomes() == {"head": "succeeded", "no-such-program": "failed", "printf": "succeeded"}
    assert len(machine.log("head")) == 300_000
    assert (
        machine.log("printf") == 'two  words|and "more"|[1,2]|#tag|$HOME|*|{"a":1}|range(2)|a>b|a;b|x&y|a|b|`ls`|~|!x|'
    )


def test_when_the_time_is_over_nothing_is_left_behind_and_nothing_more_starts(machine: Machine) -> None:
    machine.add(10_000)
    jobs = [("sleep 600", 9_000), ("touch started", 8_000)]
    done = machine.schedule(*jobs, code=1, timeout_s="4", debug_on_crash="True")
    assert len(done.scheduled) == 1
    assert "Pdb" not in done.out
    assert not (machine.folder / "started").exists()
    assert machine.outcomes() == {"sleep": "killed", "touch": "killed"}
    assert until(lambda: not machine.duckrow.processes(), "the end of all processes")
    assert "leaves no time to run anything" in machine.schedule(("touch started", 1), code=1, timeout_s="0").said


def begin(machine: Machine) -> subprocess.Popen[str]:
    """A schedule of two jobs, of which one runs for long."""
    machine.add(10_000)
    machine.write("begin.py", "import time; open('begun', 'w'); time.sleep(600)")
    jobs = "[('python begin.py', 9000), ('touch started', 8000)]"
    process = machine.spawn(f"import duckrow.dropin.quackpack as qp\nqp.schedule_cmd_gpus({jobs})\nprint('after')\n")
    assert process.stdout
    assert process.stdout.readline() == "Scheduled python begin.py into CUDA_VISIBLE_DEVICES=0\n"
    until(lambda: (machine.folder / "begun").exists(), "the job")
    return process


def test_two_interrupts_end_the_schedule_and_its_jobs(machine: Machine) -> None:
    process = begin(machine)
    assert until(lambda: has_ended_of(process, 2), "the end")  # type: ignore[arg-type]
    assert "KeyboardInterrupt" in process.communicate()[1]
    assert until(lambda: not machine.duckrow.processes(), "the end of all processes")


def test_sigterm_stops_all_jobs_and_ends_the_program_at_once_as_the_original_did(machine: Machine) -> None:
    process = begin(machine)
    process.terminate()
    out, said = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out) == (0, "")
    assert "Exiting: SIGTERM. Running jobs were stopped." in said
    assert machine.outcomes() == {"begin": "killed", "touch": "killed"}
    assert until(lambda: not machine.duckrow.processes(), "the end of all processes")


def test_the_debugger_opens_in_the_caller_after_a_failure(machine: Machine) -> None:
    machine.add(10_000)
    jobs = [("sh -c 'echo the reason; exit 3'", 2), ("true", 1)]
    typed = "p [job.exit_code for job in failed]\nc\n"
    done = machine.schedule(*jobs, code=1, typed=typed, debug_on_crash="True")
    assert "sh -c 'echo the reason; exit 3' failed (exit code 3): the end of " in done.out
    assert "\nthe reason\n" in done.out
    assert "(Pdb) [3]\n" in done.out
    assert "Pdb" not in machine.schedule(("true", 1), debug_on_crash="True").out


# -- what else is public --------------------------------------------------------------------------------------------


def test_a_word_is_put_behind_another_and_the_rest_stays_as_it_is() -> None:
    assert qp.insert_string("a b c", "b", "new") == "a b new c"
    assert qp.insert_string("ab b  'x  y' b", "b", "n") == "ab b n  'x  y' b"
    assert qp.insert_string("a b", "b", "n") == "a b n"
    with pytest.raises(ValueError, match="'z' is not a word of this command"):
        qp.insert_string("a bz", "z", "n")


def test_free_ports_are_free_and_differ() -> None:
    one, three = qp.find_free_ports(), qp.find_free_ports(3)
    assert isinstance(one, int)
    assert isinstance(three, list)
    assert len(set(three)) == 3
    with socket.create_server(("", one)):
        pass


def test_no_two_launches_get_the_same_port(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = [qp.find_free_ports(), qp.find_free_ports()]
    offered = iter([ports[0], ports[0], ports[0], ports[1]])
    monkeypatch.setattr("duckrow.dropin.quackpack.apply_functions.find_free_ports", lambda: next(offered))
    command = "python -m torch.distributed.launch x.py"
    launched = [qp.fresh_port_mod_fn(command), qp.fresh_port_mod_fn(command, {})]
    assert launched == [f"python -m torch.distributed.launch --master_port={port} x.py" for port in ports]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("t.py  --a\tb\n c ", ["t.py", "--a", "b", "c"]),
        ("[1,2] #tag $HOME * a\\ b", ["[1,2]", "#tag", "$HOME", "*", "a\\", "b"]),
        ("""{"a":1} x="1" it's a dog's""", ['{"a":1}', 'x="1"', "it's", "a", "dog's"]),
        ("""'two words' "and  'more'" ''""", ["two words", "and  'more'", ""]),
        ("""'{"a": 1}' "print(1)" """, ['{"a": 1}', "print(1)"]),
        ("""'open "open too""", ["'open", '"open', "too"]),
        ("", []),
    ],
)
def test_a_command_is_taken_apart_at_blanks_and_nothing_else_is_changed(command: str, words: list[str]) -> None:
    assert split_words(command) == words
    assert split_words(join_words(words)) == words


def test_a_command_is_launched_here_and_now(capsys: pytest.CaptureFixture[str]) -> None:
    done = qp.launch_cmd("sh -c 'echo $A; echo b >&2; exit 3'", env_command="A=x=y")
    assert (done.returncode, done.stdout, done.stderr) == (3, "x=y\n", "b\n")
    assert qp.launch_cmd("echo $A * >x").stdout == "$A * >x\n"
    assert qp.launch_cmd(["echo", "a  b", "*"]).stdout == "a  b *\n"
    assert qp.launch_cmd(["echo", "a  b"], command_apply_functions=[lambda cmd, env: cmd + " c"]).stdout == "a  b c\n"
    assert qp.launch_cmd("echo a", capture_output=False).stdout is None
    with qp.launch_cmd("echo", use_async=True, command_apply_functions=[lambda cmd, env: cmd + " later"]) as process:
        assert process.communicate()[0] == "later\n"
    assert capsys.readouterr().out == ""
    assert qp.launch_cmd("echo", command_apply_functions=[lambda cmd, env: cmd[99]]) is None
    assert capsys.readouterr().out == "Command echo failed with: string index out of range\n"
    for missing in ("no-such-program x", ["no-such-program"], ""):
        assert qp.launch_cmd(missing) is None
        assert qp.launch_cmd(missing, use_async=True) is None


def test_the_tuples_and_defaults_are_those_of_the_original() -> None:
    assert qp.GpuJobInfo._fields == ("cmd", "total_mbs_gpus")
    assert qp.GpuInfo._fields == ("idx", "free_mbs", "total_mbs", "timestamp")
    assert qp.schedule_cmd_gpus.__defaults__ == (604_800, 3, None, False)
    assert qp.schedule_cmd_gpus([]) == 0
    with pytest.raises(ValueError, match="no mode 'amd'"):
        qp.get_memory_gpus("amd")
