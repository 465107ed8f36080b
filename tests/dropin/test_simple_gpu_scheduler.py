"""simple_gpu_scheduler by another name: the examples of its document, what it did, and what it did wrong."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys

import pytest

from duckrow.core.errors import UsageError
from duckrow.dropin.simple_gpu_scheduler import slots_of
from tests.conftest import DEADLINE_S, Duckrow, has_open, until
from tests.dropin.shell import DOORS, PYTHON_DOOR, environment, has_ended_of, lines_of, program, shell
from tests.fork_server import Script

SCHEDULER = f"{PYTHON_DOOR}simple_gpu_scheduler"
BOTH_DOORS = pytest.mark.parametrize("door", DOORS)
GPU_COMMANDS = """\
python train_model.py --lr 0.001 --output run_1
python train_model.py --lr 0.0005 --output run_2
python train_model.py --lr 0.0001 --output run_3
"""
TRAIN_MODEL = """
import os, pathlib, sys, time
arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
pathlib.Path(arguments["--output"]).write_text(f"{arguments['--lr']} on {os.environ['CUDA_VISIBLE_DEVICES']}")
deadline = time.monotonic() + 30
while len(list(pathlib.Path().glob("run_*"))) < 3:  # all three at a time
    assert time.monotonic() < deadline
    time.sleep(0.01)
"""
TRAIN_DNN = """
import os, sys
with open("runs", "a") as file:
    file.write(" ".join([*sys.argv[1:], "on", os.environ["CUDA_VISIBLE_DEVICES"]]) + "\\n")
"""
GRID = "-p lr 0.001 0.0005 0.0001 -p bs 32 64 128"
PATTERN = "python3 train_dnn.py --lr {lr} --batch_size {bs}"
WHERE = "echo $CUDA_VISIBLE_DEVICES >> out"


def schedule(
    duckrow: Duckrow, gpus: str, commands: str | bytes, ok: bool = True, then: str = ""
) -> subprocess.CompletedProcess[str]:
    """Pipe these lines into the scheduler."""
    (duckrow.work / "list").write_bytes(commands.encode() if isinstance(commands, str) else commands)
    return shell(duckrow, f"cat list | {SCHEDULER} --gpus {gpus} {then}", ok)


class Session:
    """A scheduler that is fed line by line."""

    def __init__(self, duckrow: Duckrow, *gpus: str) -> None:
        self._duckrow = duckrow
        self.process = Script[bytes](
            [sys.executable, "-m", "duckrow.dropin.simple_gpu_scheduler", "--gpus", *gpus],
            env=environment(duckrow),
            cwd=duckrow.work,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def add(self, *commands: str) -> None:
        assert self.process.stdin
        self.process.stdin.write("".join(f"{command}\n" for command in commands).encode())
        self.process.stdin.flush()

    def printed(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().decode().removesuffix("\n")

    def said(self, words: str) -> None:
        """Read messages until one has these words."""
        assert self.process.stderr
        while line := self.process.stderr.readline().decode():
            if words in line:
                return
        raise AssertionError(f"it never said: {words}")

    def states(self) -> dict[str, int]:
        rows = self._duckrow.sql("SELECT coalesce(outcome, state), count(*) FROM jobs GROUP BY 1")
        return {str(state): int(count) for state, count in rows}

    def end(self) -> int:
        """The exit code, when the input has ended."""
        self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode


def waits_for(gate: str) -> str:
    return f"while [ ! -e {gate} ]; do sleep 0.05; done"


# -- the document's examples ----------------------------------------------------------------------------------------


@BOTH_DOORS
def test_commands_from_a_file_run_on_the_gpus_in_parallel(duckrow: Duckrow, door: str) -> None:
    (duckrow.work / "gpu_commands.txt").write_text(GPU_COMMANDS)
    (duckrow.work / "train_model.py").write_text(TRAIN_MODEL)
    done = shell(duckrow, f"{door}simple_gpu_scheduler --gpus 0 1 2 < gpu_commands.txt")
    assert done.stdout == (
        "Processing command `python train_model.py --lr 0.001 --output run_1` on gpu 2\n"
        "Processing command `python train_model.py --lr 0.0005 --output run_2` on gpu 1\n"
        "Processing command `python train_model.py --lr 0.0001 --output run_3` on gpu 0\n"
    )
    runs = {path.name: path.read_text() for path in duckrow.work.glob("run_*")}
    assert runs == {"run_1": "0.001 on 2", "run_2": "0.0005 on 1", "run_3": "0.0001 on 0"}


@BOTH_DOORS
def test_a_grid_in_random_order_is_piped_into_the_scheduler(duckrow: Duckrow, door: str) -> None:
    (duckrow.work / "train_dnn.py").write_text(TRAIN_DNN)
    done = shell(duckrow, f'{door}simple_hypersearch "{PATTERN}" {GRID} | {door}simple_gpu_scheduler --gpus 0,1,2')
    wanted = {f"--lr {lr} --batch_size {bs}" for lr in ("0.001", "0.0005", "0.0001") for bs in (32, 64, 128)}
    runs = lines_of(duckrow.work / "runs")
    assert sorted(run.partition(" on ")[0] for run in runs) == sorted(wanted)
    assert {run.partition(" on ")[2] for run in runs} <= {"0", "1", "2"}
    assert len(done.stdout.splitlines()) == 9


@BOTH_DOORS
def test_five_sampled_configurations_are_piped_into_the_scheduler(duckrow: Duckrow, door: str) -> None:
    (duckrow.work / "train_dnn.py").write_text(TRAIN_DNN)
    shell(
        duckrow,
        f'{door}simple_hypersearch "{PATTERN}" --n-samples 5 {GRID} | {door}simple_gpu_scheduler --gpus 0,1,2',
    )
    assert len({run.partition(" on ")[0] for run in lines_of(duckrow.work / "runs")}) == 5


@BOTH_DOORS
def test_a_followed_file_is_a_queue(duckrow: Duckrow, door: str) -> None:
    program(duckrow, "my_command_with", "#!/bin/sh\necho a pipe")
    program(duckrow, "and", "#!/bin/sh\ntr a-z A-Z; echo $1 on $CUDA_VISIBLE_DEVICES")
    queue = duckrow.work / "gpu.queue"
    queue.write_text("echo old > old\n")
    script = f"tail -f -n 0 gpu.queue & echo $! > tail; wait) | {door}simple_gpu_scheduler --gpus 0,1,2"
    run = subprocess.Popen(
        ["bash", "-c", f"touch gpu.queue; ({script}"],
        env=environment(duckrow),
        cwd=duckrow.work,
        stdout=subprocess.PIPE,
    )
    assert run.stdout
    until(lambda: (duckrow.home / "duckrow.db").exists(), "the scheduler")
    until(lambda: is_following(duckrow), "tail to follow the file")
    try:
        shell(duckrow, 'echo "my_command_with | and stuff > logfile" >> gpu.queue')
        until(lambda: lines_of(duckrow.work / "logfile") == ["A PIPE", "stuff on 2"], "the submitted command")
        assert run.stdout.readline() == b"Processing command `my_command_with | and stuff > logfile` on gpu 2\n"
        shell(duckrow, 'echo "sleep 600 | cat" >> gpu.queue')
        shell(duckrow, 'echo "echo meanwhile > second" >> gpu.queue')
        until((duckrow.work / "second").exists, "a command beside one that takes long")
        assert not (duckrow.work / "old").exists()
    finally:
        os.kill(int((duckrow.work / "tail").read_text()), signal.SIGKILL)
        run.stdout.close()
        duckrow.kill_everything()
        run.wait(DEADLINE_S)


def is_following(duckrow: Duckrow) -> bool:
    """Whether tail has opened the file, so that what is appended is new to it."""
    text = (duckrow.work / "tail").read_text() if (duckrow.work / "tail").exists() else ""
    return bool(text) and has_open(int(text), duckrow.work / "gpu.queue")


@BOTH_DOORS
def test_help_shows_the_one_option(duckrow: Duckrow, door: str) -> None:
    assert "--gpus GPUS [GPUS ...]" in shell(duckrow, f"{door}simple_gpu_scheduler -h").stdout


# -- what it did ----------------------------------------------------------------------------------------------------


@BOTH_DOORS
def test_gpus_must_be_given(duckrow: Duckrow, door: str) -> None:
    done = shell(duckrow, f"echo true | {door}simple_gpu_scheduler", ok=False)
    assert done.returncode == 2
    assert "the following arguments are required: --gpus" in done.stderr


@pytest.mark.parametrize(
    ("gpus", "slots"),
    [
        ("0,1,2", ["0", "1", "2"]),
        ("'0, 1'", ["0", "1"]),
        ("0 1 2", ["0", "1", "2"]),
        ("7", ["7"]),
        ("0,1 2,3", ["0,1", "2,3"]),
        ("0 0", ["0", "0"]),
        ("0,0", ["0", "0"]),
        ("''", [""]),
        ("0 ''", ["", "0"]),
        ("0+1", ["0,1"]),
        ("0+1,2+3", ["0,1", "2,3"]),
        ("GPU-aaaa 1", ["1", "GPU-aaaa"]),
    ],
)
def test_the_words_of_gpus_are_slots_that_run_at_a_time(duckrow: Duckrow, gpus: str, slots: list[str]) -> None:
    together = f"{WHERE}; until [ $(wc -l < out) -ge {len(slots)} ]; do sleep 0.05; done"
    done = schedule(duckrow, gpus, f"{together}\n" * len(slots))
    assert sorted(lines_of(duckrow.work / "out")) == slots
    assert sorted(line.rpartition(" on gpu ")[2] for line in done.stdout.splitlines()) == slots


@pytest.mark.parametrize(
    ("words", "slots"),
    [
        (["0,"], ["0", ""]),
        (["0,1,"], ["0", "1", ""]),
        ([","], ["", ""]),
        (["-1"], [""]),
        (["0, 1"], ["0", "1"]),
        ([" 0"], ["0"]),
        (["0, 1", "2 ,3"], ["0,1", "2,3"]),
        (["0", ""], ["0", ""]),
        (["0 + 1"], ["0+1"]),
        (["MIG-GPU-1/2/3,GPU-aa"], ["MIG-GPU-1/2/3", "GPU-aa"]),
    ],
)
def test_odd_words_are_what_they_were(words: list[str], slots: list[str]) -> None:
    assert slots_of(words) == slots


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["0 1"], r"'0 1' is one word, .* Write --gpus 0 1 \(without quotes\)"),
        (["0 1 2", "3"], "Write --gpus 0 1 2"),
        (["a", "b"], "'a' does not name GPUs"),
        (["0:1"], "'0:1' does not name GPUs"),
        (["0-3"], "'0-3' does not name GPUs"),
        (["all"], "'all' does not name GPUs"),
        (["0", "1,"], "'1,' does not name GPUs"),
    ],
)
def test_words_that_cuda_would_not_read_as_they_are_meant_are_refused(words: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        slots_of(words)


@pytest.mark.parametrize("gpus", [["0", "0"], ["0,1", "2,3"], ["0+1,2+3"]])
def test_no_more_jobs_run_at_a_time_than_there_are_slots(duckrow: Duckrow, gpus: list[str]) -> None:
    session = Session(duckrow, *gpus)
    session.add(*[waits_for("gate")] * 3)
    for _ in range(2):
        session.printed()
    until(lambda: session.states() == {"running": 2, "queued": 1}, "two of three jobs")
    (duckrow.work / "gate").touch()
    assert session.end() == 0


def test_the_slot_listed_last_is_taken_first_and_then_the_one_freed_last(duckrow: Duckrow) -> None:
    session = Session(duckrow, "0", "1", "2")
    session.add(waits_for("a"), waits_for("b"), waits_for("c"))
    assert [session.printed()[-5:] for _ in "abc"] == ["gpu 2", "gpu 1", "gpu 0"]
    for number, gate in enumerate("ac", start=1):
        (duckrow.work / gate).touch()
        until(lambda number=number: session.states().get("succeeded") == number, f"the end of {gate}")  # type: ignore[misc]
    session.add(waits_for("d"), waits_for("d"), waits_for("d"))
    assert [session.printed()[-5:] for _ in "de"] == ["gpu 0", "gpu 2"]
    (duckrow.work / "b").touch()
    assert session.printed()[-5:] == "gpu 1"
    (duckrow.work / "d").touch()
    assert session.end() == 0


def test_slots_that_share_a_gpu_are_taken_in_their_order_too(duckrow: Duckrow) -> None:
    session = Session(duckrow, "0", "0", "1", "1")
    session.add(*[waits_for("gate")] * 4)
    assert [session.printed()[-5:] for _ in range(4)] == ["gpu 1", "gpu 1", "gpu 0", "gpu 0"]
    (duckrow.work / "gate").touch()
    assert session.end() == 0


def test_white_space_behind_a_command_is_cut_off(duckrow: Duckrow) -> None:
    done = schedule(duckrow, "0", "true \t \n  true\r\n")
    assert done.stdout == "Processing command `true` on gpu 0\nProcessing command `  true` on gpu 0\n"


def test_a_command_runs_under_a_shell_on_its_gpu_and_prints_where_the_scheduler_prints(duckrow: Duckrow) -> None:
    done = schedule(duckrow, "5", 'echo "$CUDA_VISIBLE_DEVICES" | sed s/5/five/ && echo wrong >&2\n')
    assert done.stdout.splitlines()[1:] == ["five"]
    assert "wrong" in done.stderr.splitlines()


def test_the_gpus_of_whoever_starts_it_are_not_those_of_the_commands(duckrow: Duckrow) -> None:
    duckrow.env["CUDA_VISIBLE_DEVICES"] = "9"
    schedule(duckrow, "'' 1", f"{WHERE}\n{WHERE}\n")
    assert sorted(lines_of(duckrow.work / "out")) == ["", "1"]


@pytest.mark.parametrize("order", [None, "FASTEST_FIRST"])
def test_numbers_and_their_order_reach_the_commands_as_they_are(duckrow: Duckrow, order: str | None) -> None:
    duckrow.env.pop("CUDA_DEVICE_ORDER", None)
    duckrow.env.update({} if order is None else {"CUDA_DEVICE_ORDER": order})
    done = schedule(duckrow, "'0, 01'", 'echo "$CUDA_VISIBLE_DEVICES ${CUDA_DEVICE_ORDER-unset}"\n')
    assert done.stdout.splitlines() == [
        'Processing command `echo "$CUDA_VISIBLE_DEVICES ${CUDA_DEVICE_ORDER-unset}"` on gpu 01',
        f"01 {order or 'unset'}",
    ]


def test_the_end_of_the_input_waits_for_every_job(duckrow: Duckrow) -> None:
    schedule(duckrow, "0 1", "until [ -s out ]; do sleep 0.05; done; echo slow >> out\necho quick >> out\n")
    assert lines_of(duckrow.work / "out") == ["quick", "slow"]


def test_bytes_that_are_no_text_stay_as_they_are(duckrow: Duckrow) -> None:
    (duckrow.work / "list").write_bytes(b"printf '%s' '\xff' > out\n")
    shell(duckrow, f"{SCHEDULER} --gpus 0 < list > said")
    assert (duckrow.work / "said").read_bytes() == b"Processing command `printf '%s' '\xff' > out` on gpu 0\n"
    assert (duckrow.work / "out").read_bytes() == b"\xff"


# -- what it did wrong ----------------------------------------------------------------------------------------------


def test_a_command_that_reads_its_input_does_not_eat_the_queue(duckrow: Duckrow) -> None:
    schedule(duckrow, "0", "cat\n" + "echo x >> out\n" * 30)
    assert len(lines_of(duckrow.work / "out")) == 30


@BOTH_DOORS
def test_the_exit_code_tells_of_failures(duckrow: Duckrow, door: str) -> None:
    assert shell(duckrow, f"printf 'true\\ntrue\\n' | {door}simple_gpu_scheduler --gpus 0").returncode == 0
    failed = shell(duckrow, f"printf 'true\\nexit 3\\ntrue\\n' | {door}simple_gpu_scheduler --gpus 0", ok=False)
    assert failed.returncode == 1
    assert "2 succeeded, 1 failed" in failed.stderr


def test_a_very_long_line_runs_and_the_slot_is_free_again(duckrow: Duckrow) -> None:
    done = schedule(duckrow, "0", f"echo {'x' * 200_000} | wc -c > length\necho after >> out\n")
    assert lines_of(duckrow.work / "length") == ["200001"]
    assert lines_of(duckrow.work / "out") == ["after"]
    assert len(done.stdout) > 200_000


def test_a_line_with_a_nul_byte_is_refused_and_the_others_run(duckrow: Duckrow) -> None:
    done = schedule(duckrow, "0", b"echo before >> out\necho a\0b >> out\necho after >> out\n", ok=False)
    assert done.returncode == 1
    assert "has a NUL byte in it" in done.stderr
    assert lines_of(duckrow.work / "out") == ["before", "after"]


def test_one_signal_starts_nothing_more_and_lets_running_jobs_finish(duckrow: Duckrow) -> None:
    session = Session(duckrow, "0")
    session.add(f"{waits_for('gate')}; echo finished >> out", "echo late >> out")
    session.printed()
    until(lambda: session.states().get("running") == 1, "the first job")
    session.process.send_signal(signal.SIGTERM)
    session.said("starting nothing more; 1 running job may finish")
    (duckrow.work / "gate").touch()
    assert session.end() == 130
    assert lines_of(duckrow.work / "out") == ["finished"]
    assert not duckrow.job_processes()


def test_two_signals_stop_running_jobs_with_all_their_processes(duckrow: Duckrow) -> None:
    session = Session(duckrow, "0")
    session.add("sleep 600 | cat")
    session.printed()
    until(lambda: session.states().get("running") == 1, "the job")
    session.process.send_signal(signal.SIGTERM)
    session.said("starting nothing more")
    until(lambda: has_ended_of(session.process, signal.SIGTERM), "the end of the scheduler")
    assert session.end() == 130
    assert not duckrow.job_processes()


def test_lines_come_out_of_a_pipe_at_once(duckrow: Duckrow) -> None:
    session = Session(duckrow, "0")
    session.add(f"echo from the job; {waits_for('gate')}")
    assert session.printed() == f"Processing command `echo from the job; {waits_for('gate')}` on gpu 0"
    assert session.printed() == "from the job"
    (duckrow.work / "gate").touch()
    assert session.end() == 0


def test_blank_lines_and_comments_take_no_slot(duckrow: Duckrow) -> None:
    done = schedule(duckrow, "0", "\n   \n# a comment\n  # another\ntrue\n\n")
    assert done.stdout == "Processing command `true` on gpu 0\n"


def test_a_job_can_have_several_lines(duckrow: Duckrow) -> None:
    block = "for i in 3 4; do\n  if true; then\n    echo $i >> out\n  fi\ndone"
    done = schedule(duckrow, "0", f"echo one \\\n  two > out\n{block}\n")
    assert lines_of(duckrow.work / "out") == ["one two", "3", "4"]
    assert done.stdout.endswith(f"Processing command `{block}` on gpu 0\n")


def test_what_a_command_leaves_in_the_background_ends_with_it_and_that_is_said(duckrow: Duckrow) -> None:
    done = schedule(duckrow, "0", "sleep 600 &\n(echo waited > out) & wait\n")
    assert "was still running and was stopped: sleep 600" in done.stderr
    assert lines_of(duckrow.work / "out") == ["waited"]


# -- whatever is around it ------------------------------------------------------------------------------------------


def test_jobs_go_on_when_nobody_reads_their_announcements(duckrow: Duckrow) -> None:
    done = schedule(duckrow, "0 1", "echo x >> out\n" * 30, then="| head -1")
    assert done.stdout.startswith("Processing command")
    assert len(lines_of(duckrow.work / "out")) == 30


@pytest.mark.parametrize("closed", [">&-", "2>&-", "> /dev/full"])
def test_an_output_that_cannot_be_written_harms_no_job(duckrow: Duckrow, closed: str) -> None:
    schedule(duckrow, "0", "echo x >> out\n" * 2, then=closed)
    assert lines_of(duckrow.work / "out") == ["x", "x"]


@BOTH_DOORS
@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python had no -P")
def test_a_module_in_the_working_folder_is_not_taken_for_one_of_ours(duckrow: Duckrow, door: str) -> None:
    for name in ("click.py", "rich.py", "sqlite3.py"):
        (duckrow.work / name).write_text("raise SystemExit('shadowed')")
    shell(duckrow, f"echo true | {door}simple_gpu_scheduler --gpus 0")


def test_settings_of_other_runs_change_neither_slots_nor_output(duckrow: Duckrow) -> None:
    duckrow.env |= {"DUCKROW__RUN__JOBS_PER_GPU": "2", "DUCKROW__RUN__FOLLOW": "true"}
    session = Session(duckrow, "0")
    session.add(f"echo out; {waits_for('gate')}", "true")
    assert session.printed().endswith("on gpu 0")
    assert session.printed() == "out"
    until(lambda: session.states() == {"running": 1, "queued": 1}, "one of two jobs")
    (duckrow.work / "gate").touch()
    assert session.end() == 0


def test_in_a_terminal_stdout_has_only_the_announcements(duckrow: Duckrow) -> None:
    ours, theirs = pty.openpty()
    run = Script[bytes](
        [sys.executable, "-m", "duckrow.dropin.simple_gpu_scheduler", "--gpus", "0"],
        env=environment(duckrow),
        cwd=duckrow.work,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    printed, _ = run.communicate(b"true\n", timeout=DEADLINE_S)
    os.close(ours)
    assert printed == b"Processing command `true` on gpu 0\n"


@BOTH_DOORS
def test_devices_that_are_none_are_told_in_a_sentence(duckrow: Duckrow, door: str) -> None:
    done = shell(duckrow, f"echo true | {door}simple_gpu_scheduler --gpus zero", ok=False)
    assert done.returncode == 2
    assert "'zero' does not name GPUs" in done.stderr


def test_an_unknown_tool_is_told_with_those_that_there_are(duckrow: Duckrow) -> None:
    done = shell(duckrow, "duckrow dropin slurm", ok=False)
    assert done.returncode == 2
    assert (
        "There is no drop-in 'slurm'. Choose from: simple_gpu_scheduler, simple_hypersearch, gpupeasy." in done.stderr
    )
    assert "duckrow dropin simple_hypersearch" in shell(duckrow, "duckrow dropin --help").stdout
    assert shell(duckrow, "duckrow dropin simple-hypersearch '{x}' -p x 1").stdout == "1\n"
