"""`duckrow run`: what it reads, refuses, resumes and says, from its first line to its exit code."""

from __future__ import annotations

import json
import os
import subprocess
from signal import SIGINT, SIGTERM

import pytest

from duckrow.engines.dry.behaviour import Behaviour
from tests.cli.typed.dry_duckrow import DryDuckrow


def write(duckrow: DryDuckrow, text: str, name: str = "jobs.txt") -> str:
    (duckrow.work / name).write_text(text)
    return name


def places(duckrow: DryDuckrow) -> list[list[str]]:
    """The devices of each attempt, in the order of their starts."""
    rows = duckrow.sql("SELECT holds FROM attempts ORDER BY started_at, job_id")
    return [[device for device, _ in json.loads(holds)] for (holds,) in rows]


def most_at_a_time(duckrow: DryDuckrow) -> int:
    times = duckrow.sql("SELECT started_at, ended_at FROM attempts")
    return max(len([start for start, end in times if start <= moment < end]) for moment, _ in times)


# -- the list ------------------------------------------------------------------------------------------------------


def test_a_list_without_commands_is_told(duckrow: DryDuckrow) -> None:
    done = duckrow("run", "--slots", "1", write(duckrow, "\n# nothing yet\n"))
    assert "there was no command to run" in done.stderr
    assert "no command to run" not in duckrow("run", "--slots", "1", write(duckrow, "true\n")).stderr
    assert "no command to run" not in duckrow("run", "--slots", "1", "--resume", write(duckrow, "true\n")).stderr


def test_a_folder_in_place_of_a_list_is_refused(duckrow: DryDuckrow) -> None:
    refused = duckrow("run", "--slots", "1", ".", ok=False)
    assert (refused.returncode, refused.stderr) == (2, "duckrow: . is a folder, not a list of commands.\n")


def test_the_exit_code_tells_and_the_end_says_what_failed(duckrow: DryDuckrow) -> None:
    assert duckrow("run", "--slots", "1", write(duckrow, "echo a\n\n# no job\necho b\n")).returncode == 0
    assert duckrow.sql("SELECT command FROM jobs ORDER BY id") == [("echo a",), ("echo b",)]
    failed = duckrow("run", "--slots", "2", stdin="true\nexit 3\n", ok=False)
    assert failed.returncode == 1
    assert "1 succeeded, 1 failed" in failed.stderr
    assert "exit 3" in failed.stderr


def test_a_job_can_have_several_lines(duckrow: DryDuckrow) -> None:
    duckrow("run", "--slots", "1", write(duckrow, "echo one \\\n  two\necho three\n"))
    script = write(duckrow, "echo 1\nsleep 2\n%%\necho end\n", "script.txt")
    duckrow.does("echo 1\nsleep 2", Behaviour())
    duckrow("run", "--slots", "1", "--delimiter", "%%", script)
    assert duckrow.sql("SELECT command FROM jobs ORDER BY id") == [
        ("echo one \\\n  two",),
        ("echo three",),
        ("echo 1\nsleep 2",),
        ("echo end",),
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--devices", "0,1", "2,3"], [["0", "1"], ["2", "3"]]),
        (["--devices", "0", "0"], [["0"], ["0"]]),
        (["--devices", "0", "--jobs-per-gpu", "2"], [["0"], ["0"]]),
        (["--devices", "0", "--slots", "1"], [["cpu0"], ["0"]]),
    ],
)
def test_there_are_as_many_jobs_at_a_time_as_places(
    duckrow: DryDuckrow, words: list[str], expected: list[list[str]]
) -> None:
    duckrow("run", *words, stdin="sleep 60\n" * 2)
    assert places(duckrow) == expected
    assert most_at_a_time(duckrow) == 2
    duckrow("run", *words, stdin="sleep 60\n" * 6)
    assert most_at_a_time(duckrow) == 2


# -- what it refuses, and a dry run --------------------------------------------------------------------------------


def test_impossible_requests_are_refused_with_what_is_possible(duckrow: DryDuckrow) -> None:
    for words, sentence in (
        (["--devices", "0,1", "--gpus", "3"], "there are 2: 0, 1"),
        (["--devices", "zero"], "does not name GPUs"),
        (["--devices", ""], "--devices '' names no GPU: is a shell variable empty?"),
        (["--devices", "0:24Q"], "'0:24Q' does not name GPUs. A size is written as in 0:24G"),
        (["--slots", "1", "--gpus", "1"], "only 1 CPU slot"),
        (["--slots", "0"], "--slots"),
        (["--timeout", "soon"], "is not a time"),
        (["nosuchfile"], "cannot be read"),
        (["--wrong"], "There is no option --wrong"),
    ):
        refused = duckrow("run", *words, ok=False)
        assert refused.returncode == 2, words
        assert sentence in refused.stderr


@pytest.mark.parametrize("verb", [["run"], ["sweep", "true {x}", "-p", "x", "1", "--run"], ["up"]])
def test_a_preferred_gpu_is_one_of_those_to_use(duckrow: DryDuckrow, verb: list[str]) -> None:
    refused = duckrow(*verb, "--devices", "0,1", "--prefer", "7", stdin="true\n", ok=False)
    assert refused.returncode == 2
    assert refused.stderr.endswith("duckrow: --prefer 7: not among the GPUs to use, which are 0-1.\n")
    assert duckrow.sql("SELECT count(*) FROM sweeps") == [(0,)]
    duckrow(*verb, "--devices", "0,1", "--prefer", "01", stdin="true\n")


@pytest.mark.parametrize("verb", [["run"], ["sweep", "true {x}", "-p", "x", "1", "--run"]])
def test_what_is_typed_about_gpus_is_not_ignored_in_silence_where_there_is_none(
    duckrow: DryDuckrow, verb: list[str]
) -> None:
    none = {"CUDA_VISIBLE_DEVICES": ""}
    refused = duckrow(*verb, "--prefer", "7", stdin="true\n", env=none, ok=False)
    assert refused.returncode == 2
    sentence = "--prefer 7: there is no GPU here. Omit it, or name GPUs: --devices 0,1.\n"
    assert refused.stderr.endswith(f"duckrow: {sentence}")
    said = duckrow(*verb, "--max-gpus", "1", "--pack", stdin="true\n", env=none).stderr
    assert "duckrow: there is no GPU here, so --max-gpus and --pack change nothing.\n" in said
    assert "no GPU here" not in duckrow(*verb, "--share-gpus", stdin="true\n", env=none).stderr


def test_a_daemon_whose_preferred_gpu_is_gone_starts_again(duckrow: DryDuckrow) -> None:
    duckrow.up("--devices", "0,1", "--prefer", "1")
    duckrow("gpus", "remove", "1")
    duckrow.die()
    duckrow.up()
    assert duckrow.job(duckrow.submit("gate a"))["devices"] == ["0"]


@pytest.mark.parametrize("memory", [["--gpu-mem", "10G"], ["--total-gpu-mem", "10G"]])
def test_a_gpu_of_unknown_size_is_not_left_out_in_silence(duckrow: DryDuckrow, memory: list[str]) -> None:
    refused = duckrow("run", "--devices", "0:24G,1", *memory, stdin="true\n", ok=False)
    sentence = "The memory of GPU 1 is unknown. Give its size: --devices 0:24G,1:24G."
    assert (refused.returncode, refused.stderr) == (2, f"duckrow: {sentence}\n")
    said = duckrow("run", *memory, stdin="true\n", env={"DUCKROW__RUN__DEVICES": "0:24G,1"}).stderr
    assert said.startswith(f"duckrow: {sentence} Without it, these jobs do not run there.\n")
    assert "unknown" not in duckrow("run", "--devices", "0:24G,1", "--pack", stdin="true\n").stderr


def test_a_daemon_says_which_gpu_gets_no_job_that_asks_for_memory(duckrow: DryDuckrow) -> None:
    said = duckrow("up", "--devices", "0:24G,1").stderr
    assert "Give its size: duckrow up --devices 0:24G,1:24G. Without it, jobs that ask for GPU memory" in said


def test_a_dry_run_shows_what_would_run_where_and_runs_nothing(duckrow: DryDuckrow) -> None:
    file = write(duckrow, "touch a\ntouch b\ntouch c\n")
    shown = duckrow("run", "--devices", "0,1", "--dry-run", file).stdout.split("\n")
    assert [line.split() for line in shown[:3]] == [
        ["GPU", "0", "touch", "a"],
        ["GPU", "1", "touch", "b"],
        ["next", "free", "touch", "c"],
    ]
    assert duckrow.sql("SELECT count(*) FROM jobs") == [(0,)]


def test_a_dry_run_counts_the_jobs_that_would_start_however_they_share_devices(duckrow: DryDuckrow) -> None:
    for words, jobs, start in (
        (["--gpus", "2"], 2, "1 of them would start now."),
        (["--gpu-mem", "4G"], 4, "All of them would start now."),
        (["--cpu", "--slots", "1"], 2, "1 of them would start now."),
        (["--gpus", "2"], 1, "It would start now."),
        ([], 0, "0 jobs. Nothing was run."),
    ):
        shown = duckrow("run", "--devices", "0:24G,1:24G", *words, "--dry-run", stdin="true\n" * jobs)
        assert start in shown.stderr, words
        assert "place" not in shown.stderr


def test_a_dry_run_shows_jobs_in_the_order_in_which_they_would_start(duckrow: DryDuckrow) -> None:
    lines = [{"command": name, "priority": priority} for name, priority in (("a", 1), ("b", 2), ("c", 1), ("d", 9))]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    shown = duckrow("run", "--devices", "0,1", "--format", "json", "--dry-run", stdin=text).stdout
    assert [line.split() for line in shown.splitlines()] == [
        ["GPU", "0", "d"],
        ["GPU", "1", "b"],
        ["next", "free", "a"],
        ["next", "free", "c"],
    ]


def test_a_dry_run_of_one_command_runs_it_no_more_than_a_list(duckrow: DryDuckrow) -> None:
    shown = duckrow("run", "--slots", "1", "--dry-run", "--", "touch", "a")
    assert shown.stdout.split() == ["CPU", "0", "touch", "a"]
    assert shown.stderr == "duckrow: 1 job. It would start now. Nothing was run.\n"
    assert duckrow.sql("SELECT count(*) FROM jobs") == [(0,)]


def test_a_dry_run_refuses_the_lines_that_the_run_would_refuse_and_shows_the_others(duckrow: DryDuckrow) -> None:
    lines = [{"command": "a"}, {"nocommand": 1}, {"command": "b", "gpus": 3}, {"command": "c"}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    shown = duckrow("run", "--devices", "0,1", "--format", "json", "--dry-run", stdin=text, ok=False)
    assert shown.returncode == 1
    assert [line.split() for line in shown.stdout.splitlines()] == [["GPU", "0", "a"], ["GPU", "1", "c"]]
    assert "duckrow: line 2: A job is written as" in shown.stderr
    assert "duckrow: line 3: The job b can never start. It asks for 3 GPUs, but there are 2" in shown.stderr
    assert shown.stderr.endswith("duckrow: 2 jobs, 2 refused. All of them would start now. Nothing was run.\n")


@pytest.mark.parametrize("verb", [["run", "--slots", "1"], ["submit", "--file"]])
def test_two_lines_with_the_same_folder_are_told_with_the_number_of_the_second(
    duckrow: DryDuckrow, verb: list[str]
) -> None:
    file = write(duckrow, '{"command": "true", "folder": "f"}\n\n{"command": "true", "folder": "./f"}\n')
    said = duckrow(*verb, file, "--format", "json", ok=False).stderr
    assert f"line 3: An earlier line has the folder {duckrow.work}/f too." in said


@pytest.mark.parametrize("verb", [["run", "list"], ["submit", "--file", "list"], ["sweep", "a {x}", "-p", "x", "1"]])
@pytest.mark.parametrize("option", ["--cwd", "--shell"])
def test_a_folder_or_shell_that_does_not_exist_is_refused_at_once(
    duckrow: DryDuckrow, verb: list[str], option: str
) -> None:
    write(duckrow, "true\n", "list")
    more = ["--run", "--slots", "1"] if verb[0] == "sweep" else []
    refused = duckrow(*verb, *more, option, "/no/such", ok=False)
    assert (refused.returncode, "/no/such" in refused.stderr) == (2, True)
    assert duckrow.sql("SELECT (SELECT count(*) FROM jobs) + (SELECT count(*) FROM sweeps)") == [(0,)]


def test_a_dry_run_does_not_ignore_resume(duckrow: DryDuckrow) -> None:
    file = write(duckrow, "touch a\n")
    for where in (["--slots", "1"], ["--on", "slurm"]):
        for words in (["--resume", file], ["--resume=nightly"], ["--resume", "--", "true"]):
            refused = duckrow("run", *where, "--dry-run", *words, ok=False)
            assert refused.returncode == 2
            assert "Omit --resume, or omit --dry-run." in refused.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--resume"],
        ["--delimiter", "%%"],
        ["--format", "json"],
        ["--announce", "{command}"],
        ["--events", "events"],
        ["--table"],
        ["--once"],
    ],
)
@pytest.mark.parametrize("where", [["--slots", "1"], ["--on", "slurm"]])
def test_one_command_does_not_ignore_what_is_for_a_list(
    duckrow: DryDuckrow, words: list[str], where: list[str]
) -> None:
    refused = duckrow("run", *where, *words, "--", "true", ok=False)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"duckrow: {words[0]}")
    assert "is for a list of jobs. Omit it with a command after --." in refused.stderr


@pytest.mark.parametrize("where", [["--slots", "1"], ["--on", "slurm"]])
def test_a_list_and_a_command_are_not_both_run(duckrow: DryDuckrow, where: list[str]) -> None:
    refused = duckrow("run", *where, write(duckrow, "true\n"), "--", "true", ok=False)
    assert refused.returncode == 2
    assert "or a command after --, not both." in refused.stderr


def test_one_command_here_has_no_log_to_follow(duckrow: DryDuckrow) -> None:
    refused = duckrow("run", "--slots", "1", "-f", "--", "true", ok=False)
    said = "duckrow: --follow: a command after -- writes to this terminal. Omit it.\n"
    assert (refused.returncode, refused.stderr) == (2, said)


def test_one_command_takes_the_device_that_was_listed_last_if_asked_to(duckrow: DryDuckrow) -> None:
    duckrow("run", "--devices", "0,1", "--lifo", "--", "true")
    assert places(duckrow) == [["1"]]


def test_a_dry_run_says_if_nothing_would_start_now(duckrow: DryDuckrow) -> None:
    duckrow("pause")
    shown = duckrow("run", "--devices", "0,1", "--dry-run", stdin="a\nb\n")
    none_now = "None of them would start now: everything is paused."
    assert shown.stderr == f"duckrow: 2 jobs. {none_now} Nothing was run.\n"


def test_in_a_dry_run_nobody_overtakes_whom_they_would_not_overtake(duckrow: DryDuckrow) -> None:
    lines = [{"command": "a", "gpus": 1}, {"command": "b", "gpus": 2}, {"command": "c", "gpus": 1}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    shown = duckrow("run", "--devices", "0,1", "--format", "json", "--dry-run", stdin=text).stdout
    assert [line.split() for line in shown.splitlines()] == [
        ["GPU", "0", "a"],
        ["next", "free", "b"],
        ["next", "free", "c"],
    ]


# -- resuming ------------------------------------------------------------------------------------------------------


def test_resume_matches_lines_by_text_and_occurrence(duckrow: DryDuckrow) -> None:
    file = write(duckrow, "echo same\necho same\nsleep 60; false\necho gone\n")
    duckrow.after(30, lambda: duckrow.signal(SIGINT))
    assert duckrow("run", "--slots", "1", file, ok=False).returncode == 130
    write(duckrow, "echo same\nsleep 60; false\necho same\necho same\necho new\n")
    resumed = duckrow("run", "--slots", "1", "--resume", file, ok=False)
    assert "2 succeeded, 1 failed, 2 succeeded earlier, 1 skipped" in resumed.stderr
    assert duckrow.sql("SELECT id, command, attempts FROM jobs ORDER BY id") == [
        (1, "echo same", 1),
        (2, "echo same", 1),
        (3, "sleep 60; false", 2),
        (4, "echo gone", 0),
        (5, "echo same", 1),
        (6, "echo new", 1),
    ]
    assert duckrow.state(4) == "skipped"


def test_a_named_run_is_resumed_by_its_name(duckrow: DryDuckrow) -> None:
    duckrow.does("train", Behaviour(exit_code=1), Behaviour())
    duckrow("run", "--slots", "1", "--name", "night", stdin="train\necho ok\n", ok=False)
    for form in (["--resume=night"], ["--resume", "night"]):
        duckrow("run", "--slots", "1", *form)
    assert duckrow.sql("SELECT attempts, outcome FROM jobs ORDER BY id") == [(2, "succeeded"), (1, "succeeded")]
    assert duckrow("run", "--resume=nobody", ok=False).returncode == 2


@pytest.mark.parametrize(("typed", "named"), [(["--name", "night"], "night"), ([], "true")])
def test_a_new_line_of_a_resumed_run_is_named_like_the_others(
    duckrow: DryDuckrow, typed: list[str], named: str
) -> None:
    duckrow("run", "--slots", "1", *typed, write(duckrow, "true\n"))
    duckrow("run", "--resume", write(duckrow, "true\ntrue\n"))
    assert duckrow.sql("SELECT name FROM jobs") == [(named,), (named,)]


def test_a_run_that_is_resumed_with_another_list_is_the_run_of_that_list(duckrow: DryDuckrow) -> None:
    write(duckrow, "exit 1\n")
    duckrow("run", "--slots", "1", "--name", "night", "jobs.txt", ok=False)
    write(duckrow, "exit 1\nexit 2\n", "other.txt")
    resumed = duckrow("run", "--resume=night", "other.txt", ok=False)
    assert resumed.stderr.endswith("duckrow: to run again what did not succeed: duckrow run --resume other.txt\n")
    assert "1 refused" not in resumed.stderr
    assert "0 succeeded, 2 failed" in duckrow("run", "--resume=night", ok=False).stderr
    assert "no earlier run" in duckrow("run", "--resume", "jobs.txt", ok=False).stderr


def test_a_list_that_makes_no_sense_does_not_replace_that_of_the_run(duckrow: DryDuckrow) -> None:
    duckrow("run", "--slots", "1", "--format", "json", write(duckrow, '{"command": "exit 1"}\n'), ok=False)
    write(duckrow, '{"command": "exit 1"}\nwrong\n', "other.txt")
    resumed = duckrow("run", "--resume=2", "other.txt", ok=False)
    assert resumed.stderr.endswith("duckrow: to run again what did not succeed: duckrow run --resume=run-2 other.txt\n")
    assert duckrow.sql("SELECT source FROM hosts WHERE id = 2") == [(str(duckrow.work / "jobs.txt"),)]


def test_a_run_from_a_file_can_be_resumed_with_a_list_from_a_pipe(duckrow: DryDuckrow) -> None:
    duckrow("run", "--slots", "1", "--name", "night", write(duckrow, "true\nexit 1\n"), ok=False)
    duckrow("run", "--resume=night", "-", stdin="true\ntrue\n")
    assert duckrow.sql("SELECT command, attempts FROM jobs ORDER BY id") == [("true", 1), ("exit 1", 1), ("true", 1)]


def test_what_is_said_about_a_run_is_not_about_a_newer_one_with_its_name(duckrow: DryDuckrow) -> None:
    for _ in range(2):
        words = ["run", "--slots", "1", "--max-failures", "1", "--name", "night"]
        ended = duckrow(*words, stdin="exit 1\ntrue\n", ok=False).stderr
        assert ended.endswith("duckrow run --resume=night\n")
    told = duckrow("ls").stdout + duckrow("ls").stderr
    assert "Continue: duckrow run --resume=2. Drop: duckrow clean --run 2" in told
    assert "Continue: duckrow run --resume=night. Drop: duckrow clean --run night" in told
    assert "duckrow run --resume=2" in duckrow("why", "2").stdout
    duckrow("run", "--resume=2", ok=False)
    assert [duckrow.state(job) for job in (2, 4)] == ["succeeded", "queued"]


def test_a_run_that_is_resumed_elsewhere_says_what_resumes_it_there(duckrow: DryDuckrow) -> None:
    duckrow("run", "--slots", "1", "--name", "night", write(duckrow, "exit 1\n"), ok=False)
    (duckrow.work / "below").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(duckrow.work / "below")
        assert duckrow("run", "--resume=night", ok=False).stderr.endswith("duckrow run --resume=night\n")


def test_a_resumed_run_has_the_devices_that_it_had(duckrow: DryDuckrow) -> None:
    file = write(duckrow, "false\n")
    duckrow("run", "--devices", "5", file, ok=False)
    duckrow("run", "--resume", file, ok=False)
    duckrow("run", "--devices", "6", "--resume", file, ok=False)
    assert places(duckrow) == [["5"], ["5"], ["6"]]


@pytest.mark.parametrize(
    ("words", "at_a_time"), [([], 2), (["--max-gpus", "1"], 1), (["--jobs-per-gpu", "2"], 4), (["--prefer", "1"], 2)]
)
@pytest.mark.parametrize("verb", ["run", "sweep"])
def test_what_is_typed_for_a_resumed_run_changes_the_devices_that_it_keeps(
    duckrow: DryDuckrow, verb: str, words: list[str], at_a_time: int
) -> None:
    file = write(duckrow, "".join(f"sleep 60; exit 1 {number}\n" for number in range(4)))
    for number in range(4):
        duckrow.does(f"sleep 60; exit 1 {number}", Behaviour(60, 1))
    first = ["run", file] if verb == "run" else ["sweep", "sleep 60; exit 1 {x}", "-p", "x", "0..3", "--run"]
    again = ["run", "--resume", file] if verb == "run" else first
    duckrow(*first, "--devices", "0,1", ok=False)
    duckrow.sql("DELETE FROM attempts")
    duckrow(*again, *words, ok=False)
    assert {device for holds in places(duckrow) for device in holds} <= {"0", "1"}
    assert most_at_a_time(duckrow) == at_a_time
    assert places(duckrow)[0] == (["1"] if "--prefer" in words else ["0"])


def test_who_does_what_a_run_says_at_its_end_resumes_it(duckrow: DryDuckrow) -> None:
    """The list is read as before, and the devices are the same."""
    duckrow.does("echo a\nfalse", Behaviour(exit_code=1), Behaviour())
    file = write(duckrow, "echo a\nfalse\n---\ntrue\n")
    said = duckrow("run", "--slots", "1", "--delimiter", "---", file, ok=False).stderr
    told = said.split("duckrow run ")[-1].split("\n")[0]
    assert told == f"--resume {os.path.relpath(file)}"
    duckrow("run", *told.split())
    assert duckrow.sql("SELECT attempts, outcome FROM jobs ORDER BY id") == [(2, "succeeded"), (1, "succeeded")]


@pytest.mark.parametrize("how", [["--resume", "jobs.txt"], ["--resume=night"], ["--resume", "night"]])
def test_a_resumed_run_reads_its_list_as_before(duckrow: DryDuckrow, how: list[str]) -> None:
    duckrow.does("echo a", Behaviour(exit_code=1), Behaviour(exit_code=1), Behaviour())
    file = write(duckrow, '{"command":\n  "echo a"}\n%%\n{"command": "true"}\n')
    typed = ["--slots", "1", "--delimiter", "%%", "--format", "json"]
    duckrow("run", *typed, "--name", "night", file, ok=False)
    duckrow("run", *how, ok=False)
    duckrow("run", *how)
    assert duckrow.sql("SELECT command, attempts FROM jobs ORDER BY id") == [("echo a", 3), ("true", 1)]


def test_on_a_cluster_no_list_is_read_again_so_nobody_says_how(duckrow: DryDuckrow) -> None:
    for words in (["--delimiter", "%%"], ["--format", "json"]):
        refused = duckrow("run", "--on", "slurm", "--resume", *words, write(duckrow, "true\n"), ok=False)
        assert (refused.returncode, f"Omit {words[0]}." in refused.stderr) == (2, True)


def test_who_types_another_format_or_delimiter_has_the_list_read_so_from_then_on(duckrow: DryDuckrow) -> None:
    file = write(duckrow, "false\n")
    duckrow("run", "--slots", "1", "--delimiter", "%%", file, ok=False)
    write(duckrow, '{"command": "false"}\n---\n{"command": "true"}\n---\n')
    duckrow("run", "--format", "json", "--delimiter", "---", "--resume", file, ok=False)
    duckrow("run", "--resume", file, ok=False)
    assert duckrow.sql("SELECT command, attempts FROM jobs ORDER BY id") == [("false", 3), ("true", 1)]
    write(duckrow, "false\n---\ntrue\n---\n")
    duckrow("run", "--format", "commands", "--resume", file, ok=False)
    assert duckrow.sql("SELECT command, attempts FROM jobs ORDER BY id") == [("false", 4), ("true", 1)]


def test_jobs_of_a_sweep_that_are_no_longer_wanted_are_counted_at_the_end(duckrow: DryDuckrow) -> None:
    sweep = ["sweep", "exit {x}", "--run", "--slots", "1", "--max-failures", "1", "-p", "x"]
    duckrow(*sweep, "1", "2", "3", ok=False)
    assert "1 succeeded, 2 skipped, in" in duckrow(*sweep, "0").stderr


def test_a_list_that_was_read_in_a_wrong_way_costs_nothing_and_what_to_do_is_said(duckrow: DryDuckrow) -> None:
    file = write(duckrow, "exit 1\ntrue\n")
    duckrow("run", "--slots", "1", "--max-failures", "1", file, ok=False)
    wrong = duckrow("run", "--format", "json", "--resume", file, ok=False)
    assert "1 waiting job of this run: not found in the list, and kept." in wrong.stderr
    assert "If that was wrong, resume without it." in wrong.stderr
    assert "0 succeeded, 2 refused, 1 not started" in wrong.stderr
    assert wrong.stderr.endswith(f"duckrow: to run again what did not succeed: duckrow run --resume {file}\n")
    duckrow("run", "--resume", file, ok=False)
    assert duckrow.sql("SELECT outcome FROM jobs ORDER BY id") == [("failed",), ("succeeded",)]


def test_a_run_that_still_goes_on_cannot_be_resumed(duckrow: DryDuckrow) -> None:
    refused: list[subprocess.CompletedProcess[str]] = []
    file = write(duckrow, "sleep 60\n")
    duckrow.after(30, lambda: refused.append(duckrow("run", "--slots", "2", "--resume", file, ok=False)))
    duckrow("run", "--slots", "2", file)
    assert refused[0].returncode == 2
    assert "has not ended" in refused[0].stderr


def test_a_list_that_is_run_once_is_nothing_to_resume(duckrow: DryDuckrow) -> None:
    file = write(duckrow, "true\n")
    duckrow("run", "--slots", "1", "--once", "--name", "only", file)
    for words in (["--resume", file], ["--resume=only"]):
        refused = duckrow("run", "--slots", "1", *words, ok=False)
        assert (refused.returncode, "There is no earlier run" in refused.stderr) == (2, True)
    refused = duckrow("run", "--slots", "1", "--once", "--resume", file, ok=False)
    assert "Omit --resume, or omit --once." in refused.stderr


def test_one_command_in_a_terminal_is_nothing_to_resume(duckrow: DryDuckrow) -> None:
    duckrow("run", "--slots", "1", "--name", "once", "--", "true")
    refused = duckrow("run", "--slots", "1", "--resume=once", ok=False)
    assert refused.returncode == 2
    assert "no earlier run" in refused.stderr


# -- what happens meanwhile ----------------------------------------------------------------------------------------


def test_enough_failures_end_the_run(duckrow: DryDuckrow) -> None:
    done = duckrow("run", "--slots", "1", "--max-failures", "3", stdin="exit 4\n" * 50, ok=False)
    assert done.returncode == 1
    assert "3 failures: starting nothing more" in done.stderr
    assert "3 failed, 47 not started" in done.stderr
    assert duckrow.sql("SELECT count(*) FROM attempts") == [(3,)]


def test_killing_a_job_of_a_run_from_another_terminal(duckrow: DryDuckrow) -> None:
    duckrow.after(30, lambda: duckrow("kill", "1"))
    assert duckrow("run", "--slots", "2", stdin="sleep 60\n" * 4, ok=False).returncode == 1
    assert [duckrow.state(job) for job in (1, 2, 3, 4)] == ["killed", "succeeded", "succeeded", "succeeded"]


def test_a_second_signal_stops_what_runs_and_says_so(duckrow: DryDuckrow) -> None:
    duckrow.after(30, lambda: duckrow.signal(SIGINT))
    duckrow.after(40, lambda: duckrow.signal(SIGTERM))
    done = duckrow("run", "--slots", "2", stdin="sleep 60\n" * 10, ok=False)
    assert done.returncode == 130
    assert done.stderr.index("starting nothing more") < done.stderr.index("stopping 2 running jobs")
    assert duckrow.sql("SELECT count(*), outcome FROM jobs GROUP BY outcome") == [(8, None), (2, "killed")]


def test_a_paused_run_says_so(duckrow: DryDuckrow) -> None:
    duckrow("pause")
    duckrow.after(30, lambda: duckrow("resume"))
    done = duckrow("run", "--slots", "1", stdin="true\n")
    assert "everything is paused" in done.stderr
    assert duckrow.state(1) == "succeeded"


def test_a_pause_of_another_project_is_not_told(duckrow: DryDuckrow) -> None:
    duckrow("pause", "--project", "other")
    assert "paused" not in duckrow("run", "--slots", "1", stdin="sleep 60\n").stderr


def test_one_command_that_its_time_limit_ended_says_so(duckrow: DryDuckrow) -> None:
    ended = duckrow("run", "--slots", "1", "--timeout", "10s", "--", "sleep 60", ok=False)
    assert ended.returncode == 128 + SIGTERM
    assert ended.stderr == "duckrow: job 1: ended by its time limit of 10s.\n"


def test_one_command_that_fails_says_so_by_its_exit_code_alone(duckrow: DryDuckrow) -> None:
    failed = duckrow("run", "--slots", "1", "--", "exit 3", ok=False)
    assert (failed.returncode, failed.stderr) == (3, "")


# -- what it says at its end ---------------------------------------------------------------------------------------


def test_hundreds_of_jobs_that_fail_alike_are_told_as_one_error(duckrow: DryDuckrow) -> None:
    done = duckrow("run", "--slots", "4", stdin="echo the same error; exit 9\n" * 300, ok=False)
    assert done.returncode == 1
    assert done.stderr.count("the same error") <= 8
    assert "300 jobs" in done.stderr
    assert len(done.stderr.split("\n")) < 15


def test_the_table_at_the_end_says_what_ran_where_and_how_it_ended(duckrow: DryDuckrow) -> None:
    done = duckrow("run", "--devices", "0,1", "--table", stdin="true\nexit 2\n", ok=False)
    header, first, second = done.stdout.strip().split("\n")
    assert header.split() == ["ID", "NAME", "STATE", "WHERE", "TIME", "EXIT", "COMMAND"]
    assert first.split()[:5] == ["1", "true", "succeeded", "GPU", "0"]
    assert second.split()[2:5] == ["failed", "GPU", "1"]


def test_a_run_without_gpus_does_not_say_how_it_packed_them(duckrow: DryDuckrow) -> None:
    done = duckrow("run", "--pack", stdin="sleep 60\nsleep 60\n", env={"CUDA_VISIBLE_DEVICES": ""})
    assert "packed" not in done.stderr
