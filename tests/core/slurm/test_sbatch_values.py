"""What the values of sbatch's options mean."""

from __future__ import annotations

import pytest

from duckrow.core.errors import UsageError
from duckrow.core.slurm.sbatch_values import after, exported, gpus_asked, time_limit, warning
from duckrow.core.slurm.sbatch_variables import left_behind, variables_of


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("90", "5400s"),
        ("1:30", "90s"),
        ("1:30:00", "5400s"),
        ("02:00:00", "7200s"),
        ("1-12", "129600s"),
        ("1-12:30", "131400s"),
        ("1-12:30:15", "131415s"),
        ("0", "none"),
        ("UNLIMITED", "none"),
    ],
)
def test_a_time_is_read_as_slurm_reads_it(text: str, limit: str) -> None:
    assert time_limit(text) == limit


@pytest.mark.parametrize("text", ["2h", "", "1:2:3:4", "-5"])
def test_what_slurm_would_not_read_as_a_time_is_told(text: str) -> None:
    with pytest.raises(UsageError, match=r"sbatch has no such time"):
        time_limit(text)


@pytest.mark.parametrize(
    ("text", "told"), [("USR1@300", "USR1@300s"), ("B:USR1@300", "USR1@300s"), ("10", "10@60s"), ("R:TERM", "TERM@60s")]
)
def test_a_warning_comes_a_minute_before_the_end_unless_it_says_when(text: str, told: str) -> None:
    assert warning(text) == told


@pytest.mark.parametrize(
    ("options", "gpus"),
    [
        ({"gres": "gpu:2"}, 2),
        ({"gres": "gpu"}, 1),
        ({"gres": "gpu:a100:4"}, 4),
        ({"gres": "gpu:a100:4,shard:1"}, 4),
        ({"gres": "gres/gpu:2"}, 2),
        ({"gres": "shard:1"}, None),
        ({"gres": "gpu:0"}, 0),
        ({"gpus": "3"}, 3),
        ({"gpus": "volta:3,kepler:1"}, 4),
        ({"gpus-per-node": "a100:2"}, 2),
        ({"gpus-per-task": "1", "ntasks": "4"}, 4),
        ({"gpus-per-task": "1", "ntasks-per-node": "2"}, 2),
        ({"gpus-per-task": "2"}, 2),
        ({"gpus": "4", "gpus-per-node": "4"}, 4),
        ({"time": "4"}, None),
    ],
)
def test_a_script_asks_for_gpus_in_several_ways(options: dict[str, str], gpus: int | None) -> None:
    assert gpus_asked(options) == gpus


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("afterok:12", "ok:12"),
        ("afterok:12:13,afterany:14", "ok:12:13,any:14"),
        ("afternotok:12", "failed:12"),
        ("12", "any:12"),
        ("ok:prep", "ok:prep"),
    ],
)
def test_a_dependency_is_one_of_ours(text: str, words: str) -> None:
    assert after(text) == words


@pytest.mark.parametrize("text", ["singleton", "after:12", "after:12+5", "aftercorr:12", "afterok:12?afterok:13"])
def test_a_dependency_that_is_not_done_here_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"duckrow does not support"):
        after(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ALL", (True, {})),
        ("NONE", (False, {})),
        ("A", (False, {"A": "1"})),
        ("A,NEW=2", (False, {"A": "1", "NEW": "2"})),
        ("MISSING", (False, {})),
        ("ALL,NEW=2", (True, {"NEW": "2"})),
        ("ALL,A=2", (True, {"A": "2"})),
        ("NEW='x,y',A=5", (False, {"NEW": "x,y", "A": "5"})),
    ],
)
def test_variables_are_exported_as_sbatch_does_it(text: str, found: tuple[bool, dict[str, str]]) -> None:
    assert exported(text, {"A": "1", "B": "2"}) == found


def test_a_script_finds_what_tells_it_who_it_is_and_nothing_that_tells_of_an_allocation() -> None:
    assert variables_of("fit", "/work", (), None) == {
        "SLURM_JOB_ID": "%j", "SLURM_JOB_NAME": "fit", "SLURM_SUBMIT_DIR": "/work",
    }  # fmt: skip
    array = variables_of("fit", "/work", (1, 4, 7), 8)
    assert {name: value for name, value in array.items() if "ARRAY" in name or "CPUS" in name} == {
        "SLURM_CPUS_PER_TASK": "8", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "1",
        "SLURM_ARRAY_TASK_MAX": "7", "SLURM_ARRAY_TASK_STEP": "3",
    }  # fmt: skip
    assert variables_of("fit", "/work", (1, 2, 9), None)["SLURM_ARRAY_TASK_STEP"] == "1"


def test_the_allocation_of_whoever_submits_is_left_behind() -> None:
    here = {"SLURM_NTASKS": "4", "SLURM_JOBID": "7", "SLURM_CONF": "/c", "A": "1", "PATH": "/bin", "DUCKROW_HOME": "/h"}
    assert left_behind(here, export_all=True) == {"SLURM_NTASKS": None, "SLURM_JOBID": None}
    assert left_behind(here, export_all=False) == {"SLURM_NTASKS": None, "SLURM_JOBID": None, "A": None}
