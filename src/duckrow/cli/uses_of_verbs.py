"""In which uses of `run`, `sweep` and `up` each option has a meaning. One that has none there is refused if typed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, auto

import click
from click.core import ParameterSource

from duckrow.cli.options.slurm_options import NAMES as OF_SLURM
from duckrow.cli.options.slurm_options import NOT_ON_CLUSTER
from duckrow.core.devices.policy import KNOBS
from duckrow.core.errors import UsageError
from duckrow.core.named_tuple import NamedTuple


class VerbUse(Enum):
    """A way to use a verb. Several may hold at a time; the first one that refuses an option says why."""

    RESUMED = auto()  # run --resume
    ONE_COMMAND = auto()  # run -- COMMAND
    ONE_HERE = auto()  # the same on this machine: its output is that of the terminal
    PASSTHROUGH = auto()  # run --passthrough
    RESUMED_BATCH = auto()  # run --resume --on
    PRINTED = auto()  # a sweep that runs nowhere
    RESUMED_SWEEP = auto()  # sweep --resume
    KNOWN_SWEEP = auto()  # the same without a command: its points are known
    WATCHED = auto()  # sweep --run
    SUBMITTED = auto()  # sweep --submit, or a --resume of one that was
    QUEUED = auto()  # the same, to the daemon
    ON_CLUSTER = auto()  # run and sweep --on
    ONLY_SLOTS = auto()  # run, sweep and up --slots, without GPUs


class Row(NamedTuple):
    """Options, by click's names. They have a meaning in every use but these."""

    options: tuple[str, ...]
    refused: Mapping[VerbUse, str] = {}  # use -> what to say


_FOR_LIST = "{option} is for a list of jobs. Omit it with a command after --."
_NEEDS_RUN = "{option} is for a sweep that runs. Add --run or --submit, or omit it."
_NEEDS_RUN_HERE = "{option} is for a sweep that runs here. Add --run, or omit it."
_NEEDS_WATCHING = "{option} goes with --run, which waits for the runs; --submit queues them and is done."
_DAEMONS = "{option}: a queued sweep uses the GPUs of the daemon (`duckrow gpus`)."
_OLD_LIST = "A batch is resumed without reading its list again. Omit {option}."
_OLD_JOBS = "{option} is for new jobs, and on a cluster --resume runs the same ones again. Omit it."
_NO_GPU = "{option} is about GPUs, and with --slots alone there is none. Omit it, or name GPUs: --devices 0,1."
_NO_DRY_RESUME = (
    "--dry-run does not go with --resume. To see what is left of a sweep, type its command with --run --dry-run."
)
_NOT_BOTH = "Either --follow, which says whose each line is, or --passthrough, which changes no line; not both."
_IN_TERMINAL = "{option}: a command after -- writes to this terminal. Omit it."
_NO_LOG = "{option} is for logs, and here the output is that of the terminal. Omit it."


def _elsewhere(advice: str) -> str:
    return f"{{option}} {NOT_ON_CLUSTER} {advice}"


_PARALLEL = _elsewhere("Say how many run at a time: --parallel-runs.")
_CHOSEN_BY_SLURM = _elsewhere("SLURM chooses the devices.")
_IN_LS = _elsewhere("`duckrow ls` shows what runs.")
_OF_JOBS = {VerbUse.PRINTED: _NEEDS_RUN, VerbUse.RESUMED_BATCH: _OLD_JOBS}
_OF_DAEMON = {
    VerbUse.PRINTED: _NEEDS_RUN_HERE,
    VerbUse.QUEUED: f"{_DAEMONS} Choose it there: duckrow up {{option}}.",
}

TABLE = (
    # What to run.
    Row(("_param", "_or", "file", "here", "queue", "resume")),
    Row(
        ("mode", "n_samples", "seed"),
        {VerbUse.KNOWN_SWEEP: "{option} chooses the points of a sweep; --resume alone takes those it has. Omit it."},
    ),
    Row(("resumed",), {VerbUse.ONE_COMMAND: _FOR_LIST}),
    Row(("delimiter", "form"), {VerbUse.ONE_COMMAND: _FOR_LIST, VerbUse.RESUMED_BATCH: _OLD_LIST}),
    Row(("blocks",), {VerbUse.ONE_COMMAND: _FOR_LIST, VerbUse.ON_CLUSTER: _elsewhere("Use --delimiter.")}),
    Row(
        ("once",),
        {
            VerbUse.ONE_COMMAND: _FOR_LIST,
            VerbUse.RESUMED: "--once keeps nothing that could be resumed. Omit --resume, or omit --once.",
            VerbUse.ON_CLUSTER: _elsewhere("Only the batch is kept."),
        },
    ),
    Row(
        ("dry_run",),
        {
            VerbUse.RESUMED: "--dry-run shows a whole list, not what is left of one. Omit --resume, or omit --dry-run.",
            VerbUse.RESUMED_SWEEP: _NO_DRY_RESUME,
            VerbUse.SUBMITTED: "--dry-run shows what --run would do here. Omit --submit, or omit --dry-run.",
        },
    ),
    # Each job.
    Row(
        (
            *("name", "project", "gpus", "without_gpu", "cpus", "mem", "mem_limit", "timeout", "notice", "grace"),
            *("retries", "backoff", "requeue_lost", "variables", "cwd", "shell", "preload"),
        ),
        _OF_JOBS,
    ),
    Row(("gpu_mem", "total_gpu_mem", "pack", "memory_params"), {**_OF_JOBS, VerbUse.ONLY_SLOTS: _NO_GPU}),
    Row(("max_log",), {VerbUse.ONE_HERE: _NO_LOG, VerbUse.PASSTHROUGH: _NO_LOG, **_OF_JOBS}),
    Row(("root", "snapshot"), {VerbUse.PRINTED: _NEEDS_RUN}),
    # Where it runs, and what is left to others.
    Row(
        ("devices",),
        {
            VerbUse.PRINTED: _NEEDS_RUN_HERE,
            VerbUse.QUEUED: f"{_DAEMONS} How many each run gets is --gpus.",
            VerbUse.ON_CLUSTER: _elsewhere("Say what each SLURM job gets: --gres gpu:4."),
        },
    ),
    Row(
        ("slots",),
        {
            VerbUse.PRINTED: _NEEDS_RUN_HERE,
            VerbUse.QUEUED: f"{_DAEMONS} A run without a GPU asks for --cpu.",
            VerbUse.ON_CLUSTER: _PARALLEL,
        },
    ),
    Row(("jobs_per_gpu",), {**_OF_DAEMON, VerbUse.ON_CLUSTER: _PARALLEL, VerbUse.ONLY_SLOTS: _NO_GPU}),
    # On CPU slots nobody waits for other people's processes.
    Row(("share_gpus",), {**_OF_DAEMON, VerbUse.ON_CLUSTER: _CHOSEN_BY_SLURM}),
    Row(
        tuple(knob.option for knob in KNOBS.values() if knob.option != "share_gpus"),
        {**_OF_DAEMON, VerbUse.ON_CLUSTER: _CHOSEN_BY_SLURM, VerbUse.ONLY_SLOTS: _NO_GPU},
    ),
    Row(("lifo",), {VerbUse.ON_CLUSTER: _CHOSEN_BY_SLURM}),
    Row(("fill",)),
    Row(("as_written",), {VerbUse.ONE_COMMAND: _FOR_LIST}),
    Row(("on",), {VerbUse.PRINTED: "{option} says where they run. Add --submit, or --run to watch them."}),
    Row(OF_SLURM),
    # What it tells.
    Row(
        ("follow",),
        {
            VerbUse.ONE_HERE: _IN_TERMINAL,
            VerbUse.PASSTHROUGH: _NOT_BOTH,
            VerbUse.PRINTED: _NEEDS_RUN_HERE,
            VerbUse.SUBMITTED: _NEEDS_WATCHING,
        },
    ),
    Row(("passthrough",), {VerbUse.ON_CLUSTER: _elsewhere("Use --follow.")}),
    Row(
        ("max_failures",),
        {VerbUse.ONE_COMMAND: _FOR_LIST, VerbUse.PRINTED: _NEEDS_RUN_HERE, VerbUse.SUBMITTED: _NEEDS_WATCHING},
    ),
    Row(
        ("table",),
        {
            VerbUse.ONE_COMMAND: _FOR_LIST,
            VerbUse.PRINTED: _NEEDS_RUN_HERE,
            VerbUse.SUBMITTED: _NEEDS_WATCHING,
            VerbUse.ON_CLUSTER: _IN_LS,
        },
    ),
    Row(("announce",), {VerbUse.ONE_COMMAND: _FOR_LIST, VerbUse.ON_CLUSTER: _IN_LS}),
    Row(
        ("events",),
        {VerbUse.ONE_COMMAND: _FOR_LIST, VerbUse.ON_CLUSTER: _elsewhere("`duckrow ls --json` shows what runs.")},
    ),
    Row(("as_json",), {VerbUse.WATCHED: "--json is for a sweep that is printed or queued. Omit it with --run."}),
    # Of `up` alone.
    Row(("foreground", "quiet", "with_page", "service", "print_unit", "remove")),
    Row(("settle", "by_default", "named_before", "ready_fd", "keep")),
    Row(("help_all",)),
)
ROWS = {option: row for row in TABLE for option in row.options}


def refuse_meaningless(ctx: click.Context, uses: Iterable[VerbUse]) -> None:
    """Refuse what was typed and has no meaning in one of these uses. What a setting says may have none."""
    for use in uses:
        for name, written in _typed(ctx):
            sentence = ROWS[name].refused.get(use)
            if sentence is not None:
                raise UsageError(sentence.format(option=written))


def any_typed(ctx: click.Context, use: VerbUse) -> bool:
    """Whether any option was typed that this use would refuse."""
    return any(use in ROWS[name].refused for name, _ in _typed(ctx))


def _typed(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """Click's name of each option that was typed, and how it is written. A `--no-table` is done where none is."""
    for param in ctx.command.params:
        name = param.name or ""
        is_typed = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if isinstance(param, click.Option) and is_typed and not (param.secondary_opts and ctx.params[name] is False):
            yield name, max(param.opts, key=len)
