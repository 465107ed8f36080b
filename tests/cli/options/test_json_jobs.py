"""Jobs as lines of JSON, and what a program hears of a run."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from duckrow.cli.options.json_jobs import KEYS, OwnFolders, spec_of_line
from duckrow.cli.options.typed_job_options import JobOptions
from duckrow.cli.views.run_events import Announcer, EventWriter, Watchers, open_events
from duckrow.core.clock import Now
from duckrow.core.devices.inventory import Seat
from duckrow.core.devices.machine import Machine
from duckrow.core.errors import UsageError
from duckrow.core.jobs.attempt import Exit, LiveAttempt
from duckrow.core.jobs.job import JobSpec
from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import Outcome
from duckrow.core.ports import Observer
from tests.conftest import Duckrow
from tests.core.language import attempt, cpus, gpus, job

OPTIONS = JobOptions(
    name="",
    project="default",
    retries=1,
    requeue_lost=False,
    backoff=10.0,
    timeout=None,
    notice=(None, 0.0),
    grace=10.0,
    variables=(),
    cwd=None,
    shell="/bin/sh",
    max_log=None,
    preload=None,
)


def spec_of(**job: Any) -> JobSpec:
    return spec_of_line(json.dumps({"command": "true", **job}), OPTIONS, None)


def complaint(line: str, seats: Sequence[Seat] = ()) -> str:
    with pytest.raises(UsageError) as raised:
        spec_of_line(line, OPTIONS, None, seats)
    return str(raised.value)


# -- lines ----------------------------------------------------------------------------------------------------------


def test_a_line_says_what_is_different_and_the_options_the_rest() -> None:
    spec = spec_of(
        name="one", project="thesis", cwd="/", folder="runs/1", outfile="out.log", gpus=2, retries=0, priority=5,
        timeout="2m", env={"A": "x", "N": 1, "F": 0.5}, preload=["json", "os"],
    )  # fmt: skip
    assert (spec.command, spec.name, spec.project, spec.gpus, spec.retries) == ("true", "one", "thesis", 2, 0)
    assert (spec.priority, spec.timeout_s, spec.preload) == (5, 120.0, "json,os")
    assert (spec.cwd, spec.folder, spec.outfile) == ("/", os.path.abspath("runs/1"), os.path.abspath("out.log"))
    assert spec.variables == {"A": "x", "N": "1", "F": "0.5"}
    plain = spec_of()
    assert (plain.name, plain.retries, plain.timeout_s, plain.variables) == ("true", 1, None, None)
    assert (plain.cwd, plain.folder, plain.outfile, plain.preload) == (os.getcwd(), None, None, None)


def test_a_line_may_be_a_run_of_a_sweep() -> None:
    point = {"sweep_id": 3, "key": "k", "parameters": "{}"}
    assert spec_of(point=point).point == (3, "k", "{}")
    wrong_ones: tuple[dict[str, Any], ...] = (
        {"sweep_id": "3"},
        {**point, "more": 1},
        {**point, "parameters": {}},
        {},
        {**point, "parameters": "["},
    )
    for wrong in (*wrong_ones, {**point, "parameters": "[1]"}, {**point, "pattern": 1}):
        assert complaint(json.dumps({"command": "true", "point": wrong})).startswith("The 'point' of a job has")


def test_the_pattern_of_a_point_says_what_is_learned_about_its_memory() -> None:
    call = "exec /usr/bin/python -m duckrow.api.call /runs/1 # app.main(x=1)"
    point = {"sweep_id": 3, "key": "k", "parameters": '{"x": 1, "lr": 0.5}', "pattern": "call /code/app.py:main"}
    needs = spec_of(command=call, cwd="/", gpu_mem="auto", point=point).needs
    assert (needs.recipe, json.loads(needs.parameters)) == ("call /code/app.py:main", {"x": "1", "lr": "0.5"})
    assert "api.call" in spec_of(command=call, gpu_mem="auto").needs.recipe  # nobody says which function that is


def test_the_gpus_of_a_line_win_over_those_of_the_options() -> None:
    assert spec_of_line('{"command": "true"}', OPTIONS, 2).gpus == 2
    assert spec_of_line('{"command": "true", "gpus": 1}', OPTIONS, 2).gpus == 1


@pytest.mark.parametrize(("timeout", "seconds"), [("90s", 90.0), (90, 90.0), (0.5, 0.5), (1e-5, 1e-5), ("none", None)])
def test_a_time_limit_is_a_text_or_a_number_of_seconds(timeout: Any, seconds: float | None) -> None:
    assert spec_of(timeout=timeout).timeout_s == seconds


def test_bytes_that_are_no_text_are_written_as_json_writes_them() -> None:
    assert os.fsencode(spec_of_line('{"command": "echo \\udcff"}', OPTIONS, None).command) == b"echo \xff"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("python train.py", "This line is not JSON"),
        ('{"command": "true"', "This line is not JSON"),
        ("[" * 100_000, "too deeply"),
        ('"true"', "A job is written as"),
        ("[1]", "A job is written as"),
        ("{}", "A job is written as"),
        ('{"cmd": "true"}', "A job is written as"),
    ],
)
def test_a_line_that_is_no_job_is_refused(line: str, said: str) -> None:
    assert said in complaint(line)


@pytest.mark.parametrize("line", ['{"command": "a", "command": "b"}', '{"command": "a", "env": {"A": "1", "A": "2"}}'])
def test_a_key_that_is_written_twice_is_refused(line: str) -> None:
    assert " stands twice in this line. Omit one of them." in complaint(line)


@pytest.mark.parametrize("folder", ["taken", "taken/below"])
def test_a_folder_that_cannot_be_made_is_refused_before_the_job_starts(tmp_path: Path, folder: str) -> None:
    (tmp_path / "taken").write_text("a file")
    said = complaint(json.dumps({"command": "true", "folder": f"{tmp_path}/{folder}"}))
    assert said.endswith(f"cannot be created: {tmp_path}/taken is not a folder. Choose another.")
    assert spec_of(folder=f"{tmp_path}/new/one").folder == f"{tmp_path}/new/one"


def test_two_jobs_of_a_list_have_not_the_same_folder() -> None:
    folders = OwnFolders()
    assert [folders.take(spec_of(folder=name)) for name in ("/tmp/a", "/tmp/b")]
    assert [folders.take(spec_of()) for _ in range(2)]
    with pytest.raises(UsageError, match="An earlier line has the folder /tmp/a too"):
        folders.take(spec_of(folder="/tmp/x/../a"))


def test_a_key_that_does_not_exist_is_refused_with_those_that_do() -> None:
    said = complaint('{"command": "true", "gpu": 1}')
    assert said.startswith("A job has no key 'gpu'.")
    assert all(key in said for key in KEYS)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("command", 5),
        ("command", None),
        ("command", "echo \ud800"),
        ("name", 5),
        ("gpus", True),
        ("gpus", "1"),
        ("gpus", 1.5),
        ("gpus", 10**30),
        ("retries", 10**30),
        ("priority", -(10**30)),
        ("timeout", float("nan")),
        ("timeout", float("inf")),
        ("timeout", []),
        ("cwd", ""),
        ("folder", "a\0b"),
        ("outfile", ""),
        ("outfile", "\udfff"),
        ("env", ["A=1"]),
        ("env", {"A": None}),
        ("env", {"A": True}),
        ("env", {"": "1"}),
        ("env", {"A=B": "1"}),
        ("env", {"A": "x\0"}),
        ("env", {"A": "\ud800"}),
        ("preload", 1),
    ],
)
def test_a_value_that_cannot_be_is_refused_before_anything_is_written(key: str, value: Any) -> None:
    assert complaint(json.dumps({"command": "true", key: value})).startswith(f"The '{key}' of a job cannot be ")


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ({"command": "  "}, "The command is empty"),
        ({"command": "a\0b"}, "NUL byte"),
        ({"command": "true", "name": "a/b"}, "'a/b' cannot be a name"),
        ({"command": "true", "project": "."}, "cannot be a project"),
        ({"command": "true", "retries": -1}, "cannot be negative"),
        ({"command": "true", "timeout": -1}, "cannot be negative"),
        ({"command": "true", "timeout": "soon"}, "'soon' is not a time"),
        ({"command": "true", "gpus": -1}, "A job cannot have -1 GPUs"),
        ({"command": "true", "preload": "a b"}, "'a b' cannot be a module"),
        ({"command": "true", "preload": [1]}, "'1' cannot be a module"),
        ({"command": "true", "cwd": "/no/such"}, "The folder /no/such does not exist"),
        ({"command": "true", "cwd": "no/such"}, "/no/such does not exist. Create it, or choose another."),
    ],
)
def test_what_no_job_may_have_is_refused_here_as_everywhere(job: dict[str, Any], said: str) -> None:
    assert said in complaint(json.dumps(job))


def test_a_job_that_no_device_could_hold_is_refused() -> None:
    assert "can never start. It asks for 3 GPUs" in complaint('{"command": "true", "gpus": 3}', gpus(2))
    assert "no CPU slot" in complaint('{"command": "true", "gpus": 0}', gpus(2))
    assert spec_of_line('{"command": "true", "gpus": 2}', OPTIONS, None, gpus(2)).gpus == 2


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ({"gpus": 4}, 'only 2 CPU slots. Omit "gpus".'),
        ({"gpu_mem": "4G"}, 'there is no GPU here. Omit "gpu_mem".'),
        ({"total_gpu_mem": "4G"}, 'there is no GPU here. Omit "total_gpu_mem".'),
        ({"gpu_mem": 1, "total_gpu_mem": 1}, 'Either "gpu_mem" (for each GPU) or "total_gpu_mem"'),
        ({"total_gpu_mem": 1, "gpus": 1}, '"total_gpu_mem" chooses how many GPUs there are. Omit "gpus", or use --gpu'),
        ({"gpu_mem": 0}, '"gpu_mem" must be more than 0.'),
        ({"cpus": 0}, '"cpus" must be more than 0.'),
        ({"mem": 0}, '"mem" must be more than 0.'),
    ],
)
def test_a_sentence_names_the_key_that_was_written(job: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        spec_of_line(json.dumps({"command": "true", **job}), OPTIONS, None, cpus(2), Machine())
    assert said in str(raised.value)


def test_what_was_typed_as_an_option_is_named_as_one() -> None:
    with pytest.raises(UsageError, match=r'^"total_gpu_mem" chooses .* Omit --gpus'):
        spec_of_line('{"command": "true", "total_gpu_mem": 1}', OPTIONS, 2)


def test_a_line_that_is_not_json_says_where() -> None:
    assert complaint('{"command": true x}') == (
        """This line is not JSON (Expecting ',' delimiter at character 18): {"command": true x}"""
    )


def test_a_run_refuses_wrong_lines_and_runs_the_others(duckrow: Duckrow) -> None:
    lines = [
        {"command": "echo $A $CUDA_VISIBLE_DEVICES", "env": {"A": "one"}, "outfile": "one.log", "name": "first"},
        {"command": "true", "priority": 10**30},
        {"command": "echo $DUCKROW_RUN_DIR; pwd", "folder": "own", "outfile": "two.log", "cwd": "/"},
    ]
    (duckrow.work / "jobs").write_text("".join(json.dumps(line) + "\n" for line in lines) + "\nnonsense\n")
    done = duckrow("run", "--devices", "0", "--format", "json", "jobs", ok=False)
    assert done.returncode == 1
    assert "2 succeeded, 2 refused" in done.stderr
    assert (duckrow.work / "one.log").read_text() == "one 0\n"
    assert (duckrow.work / "two.log").read_text() == f"{duckrow.work}/own\n/\n"
    assert duckrow.job(1)["name"] == "first"


# -- what is heard of a run -----------------------------------------------------------------------------------------


class Heard(io.StringIO):
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.getvalue().splitlines()]

    def words(self) -> list[tuple[str, int]]:
        return [(event["event"], event["id"]) for event in self.events()]


class Broken(io.StringIO):
    def flush(self) -> None:
        raise BrokenPipeError


def numbered(number: int, follows: LiveAttempt | None = None) -> LiveAttempt:
    return attempt(job(id=number), follows=None if follows is None else follows.id)


SUCCEEDED = Verdict(Outcome.SUCCEEDED, False)


def test_an_event_tells_which_job_where_when_and_how_it_ended() -> None:
    heard = Heard()
    writer = EventWriter(heard)
    live = attempt(job(id=7, name="n", folder="/f"), number=2, holds=(("0", 1), ("1", 1)), end=Exit(3))
    writer.starting(live)
    writer.started(live)
    writer.ended(live, Verdict(Outcome.FAILED, True, detail="failed, retry 1 of 3"), 1002.5)
    common = {"id": 7, "name": "n", "folder": "/f", "attempt": 2, "devices": ["0", "1"]}
    assert heard.events() == [
        {"event": "starting", "at": 1000.0, **common},
        {
            "event": "ended", "at": 1002.5, **common, "outcome": "failed", "again": True, "exit_code": 3,
            "signal": None, "detail": "failed, retry 1 of 3",
        },
    ]  # fmt: skip


def test_a_start_is_told_behind_the_end_that_made_room_for_it() -> None:
    heard = Heard()
    writer = EventWriter(heard)
    one, two = numbered(1), numbered(2)
    writer.started(one)
    writer.starting(two)  # on disk, while the end of the first is not yet told
    writer.ended(one, SUCCEEDED, 1001.0)
    writer.started(two)
    assert heard.words() == [("starting", 1), ("ended", 1), ("starting", 2)]


def test_the_start_of_a_job_in_a_line_is_told_when_its_turn_has_come() -> None:
    heard = Heard()
    writer = EventWriter(heard)
    one = numbered(1)
    two = numbered(2, follows=one)
    three = numbered(3, follows=two)
    for each in (one, two, three):
        writer.started(each)
    assert heard.words() == [("starting", 1)]
    two.follows, two.started = None, Now(1004.0, 4.0, 4.0)  # it has stepped up
    writer.ended(one, SUCCEEDED, 1003.0)
    assert heard.words() == [("starting", 1), ("ended", 1), ("starting", 2)]
    assert heard.events()[-1]["at"] == 1004.0
    writer.ended(two, SUCCEEDED, 1005.0)  # the third is queued again
    assert heard.words()[3:] == [("ended", 2)]


def test_an_announcement_has_the_command_and_the_gpus(capfd: pytest.CaptureFixture[str]) -> None:
    pair = (("0", 1), ("1", 1))
    Announcer("{gpus} runs {command}").starting(attempt(job(command="echo {gpus}"), holds=pair))
    Announcer("on [{gpus}]").starting(attempt(holds=(("cpu0", 1),)))
    assert capfd.readouterr().out == "0,1 runs echo {gpus}\non []\n"


def test_nobody_who_has_stopped_listening_ends_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = EventWriter(Broken())
    writer.started(attempt())
    writer.ended(attempt(), SUCCEEDED, 1001.0)
    monkeypatch.setattr("sys.stdout", None)
    Announcer("{command}").starting(attempt())


def test_all_watchers_hear_everything() -> None:
    class Witness(Observer):
        def __init__(self) -> None:
            self.heard: list[str] = []

        def starting(self, attempt: LiveAttempt) -> None:
            self.heard.append("starting")

        def started(self, attempt: LiveAttempt) -> None:
            self.heard.append("started")

        def ended(self, attempt: LiveAttempt, verdict: Verdict, at: float) -> None:
            self.heard.append("ended")

        def trouble(self, sentence: str) -> None:
            self.heard.append(sentence)

        def trouble_over(self) -> None:
            self.heard.append("over")

    pair = [Witness(), Witness()]
    watchers = Watchers(pair)
    watchers.starting(attempt())
    watchers.started(attempt())
    watchers.ended(attempt(), SUCCEEDED, 1.0)
    watchers.trouble("full")
    watchers.trouble_over()
    assert [witness.heard for witness in pair] == [["starting", "started", "ended", "full", "over"]] * 2


def test_a_file_of_events_is_appended_to_and_one_that_cannot_be_is_told(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_text("before\n")
    with open_events(str(path)) as file:
        EventWriter(file).started(attempt())
    assert path.read_text().startswith('before\n{"event": "starting"')
    with pytest.raises(UsageError, match=r"--events: .* cannot be written: Is a directory"):
        open_events(str(tmp_path))


def test_a_run_writes_its_events_in_the_order_in_which_things_happen(duckrow: Duckrow) -> None:
    (duckrow.work / "jobs").write_text("true\n" * 30 + "false\n")
    duckrow("run", "--devices", "0", "--events", "events", "jobs", ok=False)
    events = [json.loads(line) for line in (duckrow.work / "events").read_text().splitlines()]
    assert [(event["event"], event["id"]) for event in events] == [
        (what, number) for number in range(1, 32) for what in ("starting", "ended")
    ]
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)
    assert events[-1]["outcome"] == "failed"
    wrong = duckrow("run", "--devices", "0", "--events", "/nowhere/events", "jobs", ok=False)
    assert (wrong.returncode, wrong.stderr.count("cannot be written")) == (2, 1)
