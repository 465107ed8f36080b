"""`duckrow submit` in the words of sbatch: its letters, and the `#SBATCH` lines of scripts."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from duckrow.cli.main import run_cli
from duckrow.cli.options.sbatch_script import UNDERSTOOD
from duckrow.core.life.dependencies import ANY, OK, Dependency
from tests.cli.test_submit import Counter, Input, counter, write

__all__ = ["counter"]


def script(*lines: str, name: str = "sl.sh") -> None:
    write(name, "\n".join(["#!/bin/bash", *lines, "hostname", ""]))


def test_the_usual_lines_are_understood(counter: Counter, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "there").mkdir()
    script(
        "#SBATCH --gres=gpu:2 --time=90",
        "#SBATCH -J 'my fit' --mem=8G -c 4",
        "#SBATCH --signal=B:USR1@120",
        "#SBATCH --hold --begin=now+1hour",
        "#SBATCH --dependency=afterok:12:13,afterany:14",
        "#SBATCH --chdir=there",
    )
    assert run_cli(["submit", "sl.sh"]) == 0
    (spec,) = counter.specs
    assert (spec.command, spec.name, spec.cwd) == (
        f"/bin/bash {tmp_path}/sl.sh",
        "my-fit",
        str(tmp_path / "there"),
    )
    assert (spec.gpus, spec.needs.cpus, spec.needs.mem_mb) == (2, 4, 8192)
    assert (spec.timeout_s, spec.notice_signal, spec.notice_s) == (5400, 10, 120)
    assert (spec.held, spec.delay_s) == (True, 3600)
    assert counter.after == [Dependency("12", OK), Dependency("13", OK), Dependency("14", ANY)]
    assert capsys.readouterr() == ("41\n", "")


def test_an_array_of_a_script_has_its_limit_and_its_steps(counter: Counter) -> None:
    script("#SBATCH --array=0-20:5%2 --output=%x-%A_%a.out")
    assert run_cli(["submit", "sl.sh"]) == 0
    assert ([spec.array_index for spec in counter.specs], counter.array_limit) == ([0, 5, 10, 15, 20], 2)
    assert counter.environment["SLURM_ARRAY_TASK_STEP"] == "5"


def test_a_script_on_standard_input_is_read_too_and_run_by_what_it_names(
    counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "#!/bin/bash -l\n#SBATCH --gpus=3\npython train.py\n"
    monkeypatch.setattr("sys.stdin", Input(text.encode()))
    assert run_cli(["submit"]) == 0
    (spec,) = counter.specs
    assert (spec.gpus, spec.name) == (3, "train")
    assert spec.command == f"exec /bin/bash -l -c '{text.rstrip()}'"


@pytest.mark.parametrize(
    ("lines", "typed", "found"),
    [
        ("--time=90", ["--timeout", "5m"], {"timeout_s": 300}),
        ("--gres=gpu:2", ["--gpus", "1"], {"gpus": 1}),
        ("--gres=gpu:2", ["-G", "1"], {"gpus": 1}),
        ("--gres=gpu:2", ["--cpu"], {"gpus": 0}),
        ("--job-name=a", ["-J", "b"], {"name": "b"}),
        ("--job-name=a", ["-n", "b"], {"name": "b"}),
        ("--output=a", ["-o", "/b"], {"outfile": "/b"}),
        ("--array=1-3", ["-a", "7"], {"array_index": 7}),
        ("--chdir=/nowhere", ["-D", "/"], {"cwd": "/"}),
        ("--signal=USR1@60", ["--signal", "TERM@5s"], {"notice_signal": 15, "notice_s": 5.0}),
    ],
)
def test_what_is_typed_wins_over_the_lines(
    counter: Counter, lines: str, typed: list[str], found: dict[str, object]
) -> None:
    script(f"#SBATCH {lines}")
    assert run_cli(["submit", *typed, "sl.sh"]) == 0
    (spec,) = counter.specs
    assert {name: getattr(spec, name) for name in found} == found


def test_what_is_typed_wins_over_a_dependency_and_a_file_for_errors(counter: Counter) -> None:
    script("#SBATCH -d afterok:12 --error=a.err")
    for typed in (["-d", "afterany:9", "--error", "b.err"], ["--after", "any:9", "--error", "b.err"]):
        assert run_cli(["submit", *typed, "sl.sh"]) == 0
        assert counter.after == [Dependency("9", ANY)]
        assert counter.output is not None
        assert counter.output.error == os.path.abspath("b.err")


def test_our_own_lines_win_over_those_of_sbatch(counter: Counter) -> None:
    script("#SBATCH --gpus=2 --time=90", "#DUCKROW --gpus 1")
    assert run_cli(["submit", "sl.sh"]) == 0
    assert (counter.specs[0].gpus, counter.specs[0].timeout_s) == (1, 5400)


def test_files_in_the_lines_are_below_the_folder_of_the_job(counter: Counter, tmp_path: Path) -> None:
    (tmp_path / "50%j").mkdir()
    os.chdir(tmp_path / "50%j")
    (tmp_path / "50%j" / "there").mkdir()
    script("#SBATCH --chdir=there -o out-%j -e err-%j")
    assert run_cli(["submit", "sl.sh"]) == 0
    assert counter.output is not None
    here = str(tmp_path / "50%j" / "there")
    assert counter.output.files(41, 41, None, "sl") == (f"{here}/out-41", f"{here}/err-41")


def test_what_is_slurms_own_is_named_in_one_line(counter: Counter, capsys: pytest.CaptureFixture[str]) -> None:
    script(
        "#SBATCH --partition=dev --account=me --mail-type=ALL",
        "#SBATCH --nodes=1 --ntasks=1 --parsable --open-mode=append --exclusive",
        "#SBATCH --gres=gpu:a100:2,shard:1 --mem=0 --of-a-plugin=1 -Z",
    )
    assert run_cli(["submit", "sl.sh"]) == 0
    assert capsys.readouterr().err == (
        "duckrow: These #SBATCH options are SLURM's own and were not used here: --partition, --account, --mail-type, "
        "--exclusive, the model in --gres=gpu:a100:2, --gres=shard:1, --mem=0, --of-a-plugin, -Z\n"
    )
    assert (counter.specs[0].gpus, counter.specs[0].needs.mem_mb) == (2, None)
    script("#SBATCH -N 2")
    run_cli(["submit", "sl.sh"])
    told = "duckrow: This #SBATCH option is SLURM's own and was not used here: --nodes\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("--time=2h", "--time=2h: sbatch has no such time. Write 90 (minutes), 1:30:00 or 1-12:00:00."),
        ("--array=a-b", "--array a-b cannot be read."),
        ("--array=1-3 --output=x.out", "several would overwrite each other's output. Put %j"),
        ("--array=1-3 --output=%j --error=x.err", "several would overwrite each other's output. Put %j"),
        ("--dependency=singleton", "duckrow does not support singleton (after all jobs of the same name)."),
        ("--begin=whenever", "'whenever' is not a start time."),
        ("--signal=NOSUCH@9", "'NOSUCH' is not a signal."),
        ("--chdir=/no/such", "The folder /no/such does not exist."),
        ("--mem=much", "'much' is not a size."),
        ("-c many", "many"),
        ("--time", "--time in a #SBATCH line has no value."),
    ],
)
def test_a_line_that_cannot_be_done_is_told_and_nothing_is_submitted(
    counter: Counter, capsys: pytest.CaptureFixture[str], lines: str, said: str
) -> None:
    script(f"#SBATCH {lines}")
    assert run_cli(["submit", "sl.sh"]) == 2
    assert said in capsys.readouterr().err
    assert counter.specs == []


def test_a_script_that_calls_srun_where_there_is_none_is_told_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    script("#SBATCH --time=9", "srun python train.py")
    told = "duckrow: The script calls srun, which this machine does not have. Put this line before: "
    assert run_cli(["submit", "sl.sh"]) == 0
    assert capsys.readouterr().err == f'{told}command -v srun >/dev/null || srun() {{ "$@"; }}\n'
    script("#SBATCH --time=9", 'command -v srun >/dev/null || srun() { "$@"; }', "srun python train.py")
    assert run_cli(["submit", "sl.sh"]) == 0
    assert capsys.readouterr().err == ""


def test_every_option_that_is_understood_is_explained() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sbatch-scripts.md").read_text()
    rows = "".join(line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `-"))
    missing = [name for name in UNDERSTOOD if not re.search(rf"`--{name}[`=]", rows)]
    assert not missing


# -- the command line -----------------------------------------------------------------------------------------------


def test_the_letters_of_sbatch_are_other_spellings_of_ours(counter: Counter, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    ours = ["--name", "fit", "--cpus", "4", "--outfile", "o", "--cwd", "d", "--hold", "--begin", "+1h", "--gpus", "2"]
    theirs = ["-J", "fit", "-c", "4", "-o", "o", "-D", "d", "-H", "-b", "+1h", "-G", "2"]
    spelled = ["--job-name", "fit", "-c4", "--output", "o", "--chdir", "d", "-H", "-b+1h", "-G2"]
    for words in (ours, theirs, spelled):
        assert run_cli(["submit", *words, "--", "python", "train.py"]) == 0
    assert counter.specs[0] == counter.specs[1] == counter.specs[2]
    assert counter.specs[0].outfile == str(tmp_path / "o")


def test_a_dependency_is_written_as_in_sbatch(counter: Counter) -> None:
    assert run_cli(["submit", "-d", "afterok:12:13", "--dependency=14", "--", "true"]) == 0
    assert counter.after == [Dependency("12", OK), Dependency("13", OK), Dependency("14", ANY)]
    assert run_cli(["submit", "-d", "afterok:12", "--if-broken", "wait", "--", "true"]) == 0


def test_wrap_is_shell_text_and_finds_the_variables_of_sbatch(
    counter: Counter, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["submit", "--wrap", "python prep.py && python fit.py"]) == 0
    assert counter.commands == ["python prep.py && python fit.py"]
    assert counter.environment["SLURM_JOB_ID"] == "%j"
    assert run_cli(["submit", "--wrap=hostname", "--", "true"]) == 2
    assert "Either --wrap or a command, not both." in capsys.readouterr().err


def test_a_plain_command_finds_none_of_them(counter: Counter) -> None:
    assert run_cli(["submit", "--", "true"]) == 0
    assert counter.environment == {}


def test_e_is_a_variable_and_who_means_a_file_is_told(counter: Counter, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["submit", "-e", "A=1", "-e", "PATH", "--", "true"]) == 0
    assert counter.environment == {"A": "1", "PATH": os.environ["PATH"]}
    assert run_cli(["submit", "-e", "logs/%j.err", "--", "true"]) == 2
    told = "there is no variable logs/%j.err. Write NAME=VALUE; for a file of errors: --error logs/%j.err\n"
    assert capsys.readouterr().err.endswith(told)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--time", "2h"],
            "--time is for runs on a cluster. Say which: --on slurm. For a time limit here: --timeout 2h.",
        ),
        (["--time", "90"], "For a time limit here: --timeout 90m."),
        (["--time", "1:30"], "For a time limit here: --timeout 90s."),
        (["--time", "1:30:00"], "For a time limit here: --timeout 1:30:00."),
        (["--gres", "gpu:2"], "--gres is for runs on a cluster. Say which: --on slurm. For GPUs here: --gpus 2."),
        (["--cpus-per-task", "3"], "Say which: --on slurm. For cores here: --cpus 3."),
        (["--partition", "x"], "--partition is for runs on a cluster. Say which: --on slurm."),
        (["--on", "slurm", "-o", "a%j"], "--outfile a%j: a % does not go with --on. Each run has its own log"),
        (["--on", "slurm", "--error", "a"], "--error does not go with --on. Each run has its own log"),
        (["--on", "slurm", "-d", "afterok:1", "--hold"], "--hold does not go with --after on a cluster"),
    ],
)
def test_an_option_that_means_nothing_there_is_refused_with_what_does(
    counter: Counter, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert run_cli(["submit", *words, "--", "true"]) == 2
    assert said in capsys.readouterr().err
    assert counter.specs == []


def test_errors_of_their_own_do_not_go_with_a_shell_that_writes_them_otherwise(
    counter: Counter, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    fish = tmp_path / "fish"
    fish.touch(0o755)
    assert run_cli(["submit", "--shell", str(fish), "--error", "a", "--", "true"]) == 2
    assert "--error does not go with --shell fish" in capsys.readouterr().err
    assert counter.specs == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--devices", "0,1"], "Choose the GPUs once, for all jobs: duckrow up --devices"),
        (["--slots", "4"], "Set --slots once, for all jobs: duckrow up --slots"),
        (["--share-gpus"], "Set --share-gpus once, for all jobs: duckrow up --share-gpus"),
        (["--gpus-per-node", "2"], "--gpus-per-node is an option of sbatch. In duckrow, use --gpus."),
        (["--gpus-per-task=2"], "--gpus-per-task is an option of sbatch. In duckrow, use --gpus."),
        (["--nodes=2"], "--nodes is for runs on a cluster. Say which: --on slurm."),
        (["-N", "2"], "--nodes is for runs on a cluster: --on slurm --nodes 2."),
        (
            ["--mail-user=me"],
            "--mail-user is an option of sbatch and has no meaning here. On a cluster: --on slurm --sbatch=--mail-user",
        ),
        (["-t", "90"], "--time is an option of sbatch. In duckrow, use --timeout, with its unit (--timeout 90m)."),
        (["--export=A=1"], "--export is an option of sbatch. In duckrow, use --env."),
        (["--follow"], "duckrow logs -f"),
        (["--no-such"], "duckrow: There is no option --no-such. See: duckrow submit --help-all\n"),
    ],
)
def test_an_option_of_another_command_is_refused_with_that_command(
    counter: Counter, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert run_cli(["submit", *words, "--", "true"]) == 2
    assert said in capsys.readouterr().err
    assert counter.specs == []
