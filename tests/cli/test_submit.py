"""`duckrow submit`: what becomes a job, and the `#DUCKROW` lines of scripts."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from duckrow.cli import submitting
from duckrow.cli.main import run_cli
from duckrow.core.jobs.job import DEFAULT_PRIORITY, JobSpec
from duckrow.core.jobs.output_names import OutputNames
from duckrow.core.life.dependencies import ANY, FAILED, OK, Dependency


class Counter:
    """Takes jobs over the counter in place of the client, and remembers them."""

    def __init__(self) -> None:
        self.specs: list[JobSpec] = []
        self.environment: dict[str, str | None] = {}
        self.output: OutputNames | None = None
        self.after: list[Dependency] = []
        self.array_limit: int | None = None

    def __call__(self) -> Counter:
        return self

    def __enter__(self) -> Counter:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit_jobs(
        self,
        _client: Counter,
        specs: Sequence[JobSpec],
        environment: Mapping[str, str | None],
        after: Sequence[Dependency],
        array_limit: int | None,
        output: OutputNames | None,
    ) -> range:
        self.specs += specs
        self.output = output
        self.environment = dict(environment)
        self.after = list(after)
        self.array_limit = array_limit
        return range(41, 41 + len(specs))

    @property
    def commands(self) -> list[str]:
        return [spec.command for spec in self.specs]


class Input(io.TextIOWrapper):
    def __init__(self, data: bytes, is_terminal: bool = False) -> None:
        super().__init__(io.BytesIO(data))
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.fixture(autouse=True)
def counter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Counter:
    taken = Counter()
    monkeypatch.setattr(submitting, "Client", taken)
    monkeypatch.setattr(submitting, "submit_jobs", taken.submit_jobs)
    monkeypatch.setattr(sys, "stdin", Input(b"", is_terminal=True))
    monkeypatch.chdir(tmp_path)
    return taken


def write(name: str, text: str, executable: bool = False) -> None:
    Path(name).write_text(text)
    Path(name).chmod(0o755 if executable else 0o644)


def test_the_words_of_a_command_are_kept_apart(counter: Counter, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["submit", "--gpus", "2", "--", "python", "train.py", "--name", "a b"]) == 0
    assert counter.commands == ["python train.py --name 'a b'"]
    assert (counter.specs[0].gpus, counter.specs[0].name) == (2, "train")
    assert capsys.readouterr().out == "41\n"


def test_options_behind_the_command_belong_to_the_command(counter: Counter) -> None:
    run_cli(["submit", "--name", "mine", "python", "train.py", "--name", "theirs", "--help"])
    assert counter.commands == ["python train.py --name theirs --help"]
    assert counter.specs[0].name == "mine"


def test_one_word_is_shell_text(counter: Counter) -> None:
    run_cli(["submit", "python prep.py && python fit.py"])
    assert counter.commands == ["python prep.py && python fit.py"]


def test_variables_are_taken_along(counter: Counter) -> None:
    run_cli(["submit", "-e", "A=1", "--env", "B=x=y", "--", "true"])
    assert counter.environment == {"A": "1", "B": "x=y"}


def test_a_plain_job_waits_for_nothing(counter: Counter) -> None:
    assert run_cli(["submit", "--", "true"]) == 0
    (spec,) = counter.specs
    assert (spec.priority, spec.held, spec.not_before, spec.array_index) == (DEFAULT_PRIORITY, False, None, None)
    assert spec.if_broken == "skip"
    assert (counter.after, counter.array_limit) == ([], None)


@pytest.mark.parametrize("priority", [50, 0, -5])
def test_a_job_has_the_priority_that_is_asked_for(counter: Counter, priority: int) -> None:
    assert run_cli(["submit", "--priority", str(priority), "--", "true"]) == 0
    assert counter.specs[0].priority == priority


def test_each_job_of_a_file_is_held_and_prioritised(counter: Counter) -> None:
    write("list.txt", "echo a\necho b\n")
    assert run_cli(["submit", "--file", "list.txt", "--hold", "--priority", "7"]) == 0
    assert [(spec.held, spec.priority) for spec in counter.specs] == [(True, 7)] * 2


def test_a_job_begins_when_it_is_told(counter: Counter) -> None:
    assert run_cli(["submit", "--begin", "+2h", "--", "true"]) == 0
    assert run_cli(["submit", "--begin", "2030-01-01", "--", "true"]) == 0
    assert [(spec.not_before, spec.delay_s) for spec in counter.specs] == [
        (None, 7200),
        (datetime(2030, 1, 1).timestamp(), None),
    ]


def test_an_array_is_a_job_for_each_index(counter: Counter, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["submit", "--array", "1,3-5%2", "--name", "fit", "--gpus", "2", "train $DUCKROW_ARRAY_INDEX"]) == 0
    assert [spec.array_index for spec in counter.specs] == [1, 3, 4, 5]
    assert counter.commands == ["train $DUCKROW_ARRAY_INDEX"] * 4
    assert {(spec.name, spec.gpus) for spec in counter.specs} == {("fit", 2)}
    assert counter.array_limit == 2
    assert capsys.readouterr().out == "41-44\n"


def test_an_array_without_a_limit_has_none(counter: Counter) -> None:
    assert run_cli(["submit", "--array", "0-1", "--", "true"]) == 0
    assert counter.array_limit is None


def test_what_a_job_waits_for_is_gathered(counter: Counter) -> None:
    assert run_cli(["submit", "--after", "12,13", "--after", "any:prep", "--after", "afternotok:9", "--", "true"]) == 0
    expected = [Dependency("12", OK), Dependency("13", OK), Dependency("prep", ANY), Dependency("9", FAILED)]
    assert counter.after == expected


def test_a_script_can_say_what_it_waits_for(counter: Counter) -> None:
    write("train.sh", "#!/bin/sh\n#DUCKROW --after 12 --array 0-2%1 --hold --priority 3\ntrue\n")
    assert run_cli(["submit", "--priority", "4", "train.sh"]) == 0
    assert [(spec.array_index, spec.held, spec.priority) for spec in counter.specs] == [
        (0, True, 4),
        (1, True, 4),
        (2, True, 4),
    ]
    assert (counter.after, counter.array_limit) == ([Dependency("12", OK)], 1)


def test_each_line_of_a_file_is_a_job(counter: Counter, capsys: pytest.CaptureFixture[str]) -> None:
    write("list.txt", "# jobs\necho a\n\necho b\n")
    assert run_cli(["submit", "--file", "list.txt", "--retries", "2"]) == 0
    assert counter.commands == ["echo a", "echo b"]
    assert {spec.retries for spec in counter.specs} == {2}
    out, err = capsys.readouterr()
    assert out == "41-42\n"
    assert err == "duckrow: 2 jobs submitted.\n"


def test_a_delimiter_makes_jobs_of_several_lines(counter: Counter) -> None:
    write("list.txt", "cd x\nmake\n%\necho b\n")
    run_cli(["submit", "--file", "list.txt", "--delimiter", "%"])
    assert counter.commands == ["cd x\nmake", "echo b"]


def test_lines_come_from_standard_input_too(counter: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Input(b"echo a\necho \xff\n"))
    run_cli(["submit", "-F", "-"])
    assert counter.commands == ["echo a", "echo \udcff"]


def test_the_ids_are_printed_as_json_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    write("list.txt", "echo a\nmake\n")
    run_cli(["submit", "--file", "list.txt", "--json"])
    out, err = capsys.readouterr()
    assert json.loads(out) == [{"id": 41, "name": "echo"}, {"id": 42, "name": "make"}]
    assert err == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "There is nothing to submit."),
        (["--file", "nowhere.txt"], "The file nowhere.txt cannot be read: No such file or directory."),
        (["--file", "empty.txt"], "There is no command in empty.txt."),
        (["--file", "two.txt", "--", "true"], "Either --file or a command, not both."),
        (["--file", "two.txt", "--outfile", "o"], "--outfile is for one job"),
        (["--name", "a/b", "--", "true"], "'a/b' cannot be a name"),
        (["--gpus", "-1", "--", "true"], "-1"),
        (["--file", "two.txt", "--array", "0-3"], "--array is for one command"),
        (["--array", "0-3", "--outfile", "o", "--", "true"], "--outfile is for one job"),
        (["--array", "3-0", "--", "true"], "--array 3-0: 3-0 is in the wrong order"),
        (["--begin", "whenever", "--", "true"], "'whenever' is not a start time"),
        (["--after", "soon:12", "--", "true"], "'soon' is not a condition"),
        (["--if-broken", "panic", "--", "true"], "panic"),
    ],
)
def test_what_cannot_be_submitted_is_told_and_nothing_is(
    counter: Counter, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    write("empty.txt", "# nothing\n")
    write("two.txt", "echo a\necho b\n")
    assert run_cli(["submit", *words]) == 2
    assert said in capsys.readouterr().err
    assert counter.specs == []


# -- scripts --------------------------------------------------------------------------------------------------------

SCRIPT = "#!/bin/bash -e\n#DUCKROW --gpus 2 --name big\n#DUCKROW --env 'A=b c'\n\npython train.py\n#DUCKROW --gpus 9\n"


def test_the_options_of_a_script_count(counter: Counter) -> None:
    write("train.sh", SCRIPT)
    assert run_cli(["submit", "train.sh", "--lr", "1"]) == 0
    (spec,) = counter.specs
    assert (spec.gpus, spec.name) == (2, "big")
    assert counter.environment == {"A": "b c"}


def test_what_is_typed_wins_over_the_script(counter: Counter) -> None:
    write("train.sh", SCRIPT)
    run_cli(["submit", "--gpus", "1", "train.sh"])
    (spec,) = counter.specs
    assert (spec.gpus, spec.name) == (1, "big")


def test_a_script_that_cannot_be_executed_is_run_by_its_interpreter(counter: Counter) -> None:
    write("train.sh", SCRIPT)
    write("plain", "#DUCKROW --gpus 1\ntrue\n")
    run_cli(["submit", "train.sh", "--lr", "1"])
    run_cli(["submit", "./plain"])
    assert counter.commands == ["/bin/bash -e train.sh --lr 1", "/bin/sh ./plain"]


def test_a_script_that_can_be_executed_is_run_itself(counter: Counter) -> None:
    write("train.sh", SCRIPT, executable=True)
    run_cli(["submit", "train.sh", "--lr", "1"])
    run_cli(["submit", "./train.sh"])
    assert counter.commands == ["./train.sh --lr 1", "./train.sh"]


def test_a_file_that_is_no_script_is_a_word_like_any_other(counter: Counter) -> None:
    write("data", "nothing to run")
    run_cli(["submit", "data", "x"])
    assert counter.commands == ["data x"]


def test_a_script_on_standard_input_is_one_job(counter: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Input(b"#DUCKROW --gpus 3\ncd x\n\npython train.py\n"))
    assert run_cli(["submit", "--name", "piped"]) == 0
    (spec,) = counter.specs
    assert spec.command == "#DUCKROW --gpus 3\ncd x\n\npython train.py"
    assert (spec.gpus, spec.name) == (3, "piped")


def test_standard_input_without_a_command_is_nothing_to_submit(
    counter: Counter, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Input(b"# only a remark\n"))
    assert run_cli(["submit"]) == 2
    assert "There is nothing to submit." in capsys.readouterr().err
    assert counter.specs == []


def test_a_command_leaves_standard_input_alone(counter: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = Input(b"echo not a job\n")
    monkeypatch.setattr(sys, "stdin", stdin)
    run_cli(["submit", "--", "cat"])
    assert counter.commands == ["cat"]
    assert stdin.read() == "echo not a job\n"


def test_a_line_of_options_that_cannot_be_read_is_told(counter: Counter, capsys: pytest.CaptureFixture[str]) -> None:
    write("train.sh", '#!/bin/sh\n#DUCKROW --gpus 2\n#DUCKROW --name "x\ntrue\n')
    assert run_cli(["submit", "train.sh"]) == 2
    assert "The line '#DUCKROW --name \"x' cannot be read: No closing quotation." in capsys.readouterr().err
    assert counter.specs == []


def test_a_line_of_options_may_end_in_a_remark(counter: Counter) -> None:
    write("train.sh", "#!/bin/sh\n#DUCKROW --gpus 2 # it's big\n#DUCKROW --name fit\ntrue\n")
    assert run_cli(["submit", "train.sh"]) == 0
    (spec,) = counter.specs
    assert (spec.command, spec.gpus, spec.name) == ("/bin/sh train.sh", 2, "fit")


def test_a_remark_that_begins_like_our_prefix_is_no_option(counter: Counter) -> None:
    write("train.sh", "#!/bin/sh\n#DUCKROWING is nice\ntrue\n")
    assert run_cli(["submit", "train.sh"]) == 0
    (spec,) = counter.specs
    assert (spec.command, spec.gpus) == ("/bin/sh train.sh", None)


def test_a_wrong_option_in_a_script_is_told(counter: Counter, capsys: pytest.CaptureFixture[str]) -> None:
    write("train.sh", "#!/bin/sh\n#DUCKROW --gpu-count 2\ntrue\n")
    assert run_cli(["submit", "train.sh"]) == 2
    assert "--gpu-count" in capsys.readouterr().err
    assert counter.specs == []
