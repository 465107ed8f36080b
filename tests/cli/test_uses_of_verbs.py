"""Every option of `run`, `sweep` and `up` says where it has a meaning; elsewhere it is refused, and nothing happens."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from duckrow.cli.commands import run, sweep, up
from duckrow.cli.help_all import with_help_all
from duckrow.cli.uses_of_verbs import ROWS, TABLE, VerbUse, refuse_meaningless
from duckrow.core.errors import UsageError
from tests.cli.test_plain import HELP
from tests.cli.typed.conftest import duckrow, new_database
from tests.cli.typed.dry_duckrow import DryDuckrow

__all__ = ["duckrow", "new_database"]

VERBS = {"run": with_help_all(run.command), "sweep": with_help_all(sweep.command), "up": with_help_all(up.command)}

_ONE, _LIST, _SWEEP = ["--", "true"], ["jobs.txt"], ["true {x}", "-p", "x", "1"]
# Verb -> use -> the words before and after the option.
TYPED: dict[str, dict[VerbUse, tuple[list[str], list[str]]]] = {
    "run": {
        VerbUse.RESUMED: (["--slots", "1", "--resume"], _LIST),
        VerbUse.ONE_COMMAND: (["--devices", "0"], _ONE),
        VerbUse.ONE_HERE: (["--devices", "0"], _ONE),
        VerbUse.PASSTHROUGH: (["--devices", "0", "--passthrough"], _LIST),
        VerbUse.RESUMED_BATCH: (["--on", "slurm", "--resume"], _LIST),
        VerbUse.ON_CLUSTER: (["--on", "slurm"], _LIST),
        VerbUse.ONLY_SLOTS: (["--slots", "1"], _LIST),
    },
    "sweep": {
        VerbUse.PRINTED: (_SWEEP, []),
        VerbUse.RESUMED_SWEEP: ([*_SWEEP, "--run", "--resume"], []),
        VerbUse.KNOWN_SWEEP: (["--resume"], []),
        VerbUse.WATCHED: ([*_SWEEP, "--run"], []),
        VerbUse.SUBMITTED: ([*_SWEEP, "--submit"], []),
        VerbUse.QUEUED: ([*_SWEEP, "--submit"], []),
        VerbUse.ON_CLUSTER: ([*_SWEEP, "--run", "--on", "slurm"], []),
        VerbUse.ONLY_SLOTS: ([*_SWEEP, "--run", "--slots", "1"], []),
    },
    "up": {VerbUse.ONLY_SLOTS: (["--slots", "1"], [])},
}
_GPUS = {"devices": "0", "prefer": "0", "ignore_processes": "Xorg", "mem_margin": "1G"}
_TIMES = {"backoff": "1s", "timeout": "1h", "notice": "USR2@30s", "grace": "1s"}
_SIZES = dict.fromkeys(("max_log", "gpu_mem", "total_gpu_mem", "mem"), "1G")
VALUES = {**_GPUS, **_TIMES, **_SIZES, "variables": "A=1", "preload": "numpy"}


def options_of(verb: str) -> dict[str, click.Option]:
    return {param.name or "": param for param in VERBS[verb].params if isinstance(param, click.Option)}


def words_of(option: click.Option) -> list[str]:
    """The option as a person types it."""
    flag = max(option.opts, key=len)
    if option.is_flag:
        return [flag]
    if isinstance(option.type, click.Choice):
        return [flag, str(option.type.choices[-1])]
    return [flag, VALUES.get(option.name or "", "1")]


def refusals() -> Iterator[tuple[str, str, VerbUse]]:
    for verb in VERBS:
        for name in options_of(verb):
            for use in ROWS[name].refused if name in ROWS else ():
                if use in TYPED[verb]:
                    yield verb, name, use


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_says_where_it_has_a_meaning(verb: str) -> None:
    unknown = options_of(verb).keys() - ROWS.keys()
    assert not unknown, f"in which uses of `duckrow {verb}` do these have a meaning? Add a row to TABLE"


def test_no_option_is_in_two_rows_and_none_is_there_that_no_verb_has() -> None:
    listed = [name for row in TABLE for name in row.options]
    assert len(listed) == len(ROWS)
    assert set(listed) == {name for verb in VERBS for name in options_of(verb)}


@pytest.mark.parametrize(("verb", "name", "use"), list(refusals()))
def test_what_has_no_meaning_is_refused_and_nothing_happens(
    duckrow: DryDuckrow, verb: str, name: str, use: VerbUse
) -> None:
    (duckrow.work / "jobs.txt").write_text("true\n")
    before, after = TYPED[verb][use]
    words = words_of(options_of(verb)[name])
    refused = duckrow(verb, *before, *words, *after, ok=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"duckrow: {ROWS[name].refused[use].format(option=words[0])}\n"
    assert duckrow.sql("SELECT (SELECT count(*) FROM jobs), (SELECT count(*) FROM sweeps)") == [(0, 0)]


@pytest.mark.parametrize(
    ("words", "use"),
    [
        (["--no-table", "--no-follow"], VerbUse.PASSTHROUGH),
        (["--no-table"], VerbUse.ONE_COMMAND),
        (["--no-share-gpus"], VerbUse.ON_CLUSTER),
    ],
)
def test_what_is_switched_off_where_it_is_off_is_done(words: list[str], use: VerbUse) -> None:
    refuse_meaningless(run.command.make_context("run", words, help_option_names=HELP), [use])


def test_what_a_setting_says_may_have_no_meaning(duckrow: DryDuckrow) -> None:
    settings = {"DUCKROW__RUN__JOBS_PER_GPU": "2", "DUCKROW__JOB__MAX_LOG": "1M", "DUCKROW__RUN__FOLLOW": "true"}
    duckrow("run", "--slots", "1", "--", "true", env=settings)
    duckrow("run", "--slots", "1", "--passthrough", stdin="true\n", env=settings)
    assert duckrow("sweep", "f {x}", "-p", "x", "1", env=settings).stdout == "f 1\n"


def test_slots_from_the_settings_are_slots_too(duckrow: DryDuckrow) -> None:
    words = ["run", "--max-gpus", "1", "--dry-run"]
    assert "--max-gpus is about GPUs" in duckrow(*words, env={"DUCKROW__RUN__SLOTS": "2"}, ok=False).stderr
    duckrow(*words, env={"DUCKROW__RUN__SLOTS": "2", "DUCKROW__RUN__DEVICES": "0,1"})
    duckrow(*words, "--devices", "0", env={"DUCKROW__RUN__SLOTS": "2"})


def test_the_output_of_one_command_cannot_be_left_out(duckrow: DryDuckrow) -> None:
    refused = duckrow("run", "--slots", "1", "--no-follow", "--", "true", ok=False)
    assert (refused.returncode, "Omit it, and redirect" in refused.stderr) == (2, True)


@pytest.mark.parametrize("words", [["--devices", "0"], ["--max-gpus", "1"], ["--follow"], ["--table"]])
def test_a_sweep_that_continues_in_the_queue_refuses_what_is_for_a_run_here(
    duckrow: DryDuckrow, words: list[str]
) -> None:
    duckrow.up("--slots", "1")
    duckrow("sweep", "exit {x}", "-p", "x", "1", "--submit")
    duckrow("wait", "1", ok=False)
    refused = duckrow("sweep", "--resume", *words, ok=False)
    assert (refused.returncode, refused.stderr.startswith(f"duckrow: {words[0]}")) == (2, True)
    assert duckrow.state(1) == "failed"
    assert "1 that did not succeed run again" in duckrow("sweep", "--resume").stderr


def test_a_command_without_context_is_not_refused_by_another_use() -> None:
    words = ["f {x}", "-p", "x", "1", "--timeout", "1h"]
    context = sweep.command.make_context("sweep", words, help_option_names=HELP)
    refuse_meaningless(context, [VerbUse.WATCHED, VerbUse.SUBMITTED, VerbUse.QUEUED])
    with pytest.raises(UsageError, match="Add --run or --submit, or omit it"):
        refuse_meaningless(context, [VerbUse.PRINTED])
