"""`duckrow sweep`: one command for every point of a grid: printed, run here, queued, or sent to a cluster."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from duckrow.api.sweeps.files import SweepFile, read_sweep_file
from duckrow.api.sweeps.listing import handle_of
from duckrow.api.sweeps.sweeps import DEFAULT_ROOT, SweepRow, Sweeps, Todo, parameters_of
from duckrow.cli.console import print_json, say, tell
from duckrow.cli.opening import client_of_verb
from duckrow.cli.options.command_words import command_of
from duckrow.cli.options.gpu_options import DeviceCommand, gpu_count, gpu_count_options
from duckrow.cli.options.job_options import device_options, run_options
from duckrow.cli.options.slurm_options import slurm_options, take_slurm_options
from duckrow.cli.options.typed_job_options import JobOptions, read_job_options, take_job_values
from duckrow.cli.options.verb_options import SweepOptions, has_only_slots, take_sweep_options
from duckrow.cli.runs.slurm_sweep import read_cluster, watch_sweep
from duckrow.cli.uses_of_verbs import VerbUse, any_typed, refuse_meaningless
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.jobs.job import JobSpec
from duckrow.core.life.failures import compact_ids
from duckrow.core.sweeps.sweep import MODES, Grid, Point, expand, parse_axis
from duckrow.core.sweeps.template import placeholders, render, unused_note
from duckrow.core.units import plural

if TYPE_CHECKING:
    from duckrow.api.clusters.submit import ClusterRequest

_PARAMETER = ("-p", "--param")
_OR = "--or"


class SweepCommand(DeviceCommand):
    """`-p NAME V...` takes all the words up to the next option; `--or` begins another grid."""

    common = (
        *("_param", "file", "n_samples", "here", "queue", "resume", "name"),
        *("devices", "slots", "gpus", "gpu_mem", "pack", "timeout", "retries", "on"),
    )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        rest, grids = _take_parameters(args[:end])
        ctx.meta["duckrow.grids"] = grids
        return super().parse_args(ctx, rest + args[end:])


def _take_parameters(args: Sequence[str]) -> tuple[list[str], list[dict[str, list[str]]]]:
    """(the other words, the words of each parameter of each grid)."""
    rest: list[str] = []
    grids: list[dict[str, list[str]]] = [{}]
    words = list(args)
    while words:
        word = words.pop(0)
        if word == _OR:
            grids.append({})
        elif word in _PARAMETER:
            if not words or _is_option(words[0]):
                raise UsageError("-p takes a name and its values: -p lr 0.1 0.01.")
            name = words.pop(0)
            if name in grids[-1]:
                raise UsageError(f"The parameter '{name}' is given twice. Write all its values after one -p.")
            grids[-1][name] = []
            while words and not _is_option(words[0]):
                grids[-1][name].append(words.pop(0))
        else:
            rest.append(word)
    return rest, grids


def _is_option(word: str) -> bool:
    """A word with a minus in front is an option, unless it is a number or a range."""
    return re.match(r"-[A-Za-z-]", word) is not None


@click.command(cls=SweepCommand, short_help="Run a command for every combination of its parameters.")
@click.argument("pattern", required=False)
@click.option(
    "-p", "--param", "_param", metavar="NAME VALUE...", help="A parameter: values, 0..9, log:1e-5..1e-1, int:1..9."
)
@click.option("--or", "_or", is_flag=True, help="Begin another grid with the -p that follow; its points are added.")
@click.option("--from", "file", metavar="FILE", help="Read the sweep from a .yaml, .toml or .csv file.")
@click.option(
    "--mode", type=click.Choice(MODES), help="All points in order, all shuffled, or random points.  [default: grid]"
)
@click.option("--n-samples", type=click.IntRange(1), metavar="N", help="Only N points, drawn at random.")
@click.option("--seed", type=int, metavar="N", help="Same seed, same points in the same order.  [default: 0]")
@click.option("--run", "here", is_flag=True, help="Run them here and now, like `duckrow run`.")
@click.option("--submit", "queue", is_flag=True, help="Add them to the daemon's queue.")
@click.option("--dry-run", is_flag=True, help="With --run: show what would run where.")
@click.option("--resume", is_flag=True, help="Continue the last sweep of this folder, or the one given with --name.")
@click.option("--root", type=click.Path(), help=f"Where to create the runs' folders.  [default: ./{DEFAULT_ROOT}]")
@click.option("--snapshot", is_flag=True, help="Copy the code first, so that later edits do not change it.")
@device_options
@slurm_options
@gpu_count_options("each run gets")
@click.option("--follow/--no-follow", "-f", default=None, help="With --run: print all output.")
@click.option(
    "--max-failures", type=click.IntRange(1), metavar="N", help="With --run: start nothing more after N failures."
)
@click.option("--table/--no-table", default=None, help="With --run: a table of all jobs at the end.")
@click.option("--json", "as_json", is_flag=True, help="Print the points, or what was queued, as JSON.")
@run_options
@click.pass_context
def command(ctx: click.Context, /, pattern: str | None, **values: Any) -> int:
    """Fill every combination of the parameters into a command. Prints the commands, unless you run or submit them.

    \b
    duckrow sweep 'python train.py --lr {lr} --seed {seed}' -p lr 0.1 0.01 -p seed 0..4
    duckrow sweep ... --run --devices 0,1            run them here, one per GPU at a time
    duckrow sweep ... --submit                       queue them as one sweep
    duckrow sweep ... --submit --on slurm --gres gpu:4 --time 2h      as runs of SLURM jobs
    duckrow sweep ... | duckrow run --devices 0,1    or pipe them to whatever runs commands
    duckrow sweep 'train --lr {lr}' -p lr log:1e-5..1e-1 --n-samples 20 --run
    duckrow sweep --from sweep.yaml --submit         grids, command and mode from a file
    duckrow sweep --resume                           the missing and failed runs of the last sweep

    The same command again runs what is missing or failed, and skips what succeeded. Each run has
    its own folder, named after its parameters, with its log, parameters, metrics and code version;
    `duckrow results` shows them all in a table. Values are quoted for the shell.
    """
    gpus = gpu_count(values)
    job_values = take_job_values(values)
    on, asked = take_slurm_options(values)
    words, grids = ctx.meta.get("duckrow.command"), ctx.meta["duckrow.grids"]
    given = take_sweep_options(values, gpus, pattern=pattern, command_words=words, grids=grids)
    if given.here and given.queue:
        raise UsageError("Either --run or --submit, not both.")
    refuse_meaningless(ctx, _uses(ctx, given, on))
    cluster = read_cluster(on, asked)
    wish = None if _continues_last(given) else _wish(given)
    if wish is not None and not (given.here or given.queue or given.resume):
        return _print_commands(wish, given.as_json)
    file = wish.file if wish else SweepFile()
    project = job_values["project"] = job_values["project"] or file.project
    options = read_job_options(job_values)
    root = os.path.abspath(given.root or DEFAULT_ROOT)
    name = options.name or file.name
    if wish is not None and given.dry_run:
        return _dry_run(wish, name, root, options, given, cluster)
    sweeps = Sweeps(client_of_verb())
    sweeps.client.tender.copy()
    if wish is None:
        sweep = sweeps.resumable(name, project, root)
    else:
        sweep = sweeps.open(wish.pattern, options.project, name, root)
    if cluster is None and given.resume and not (given.here or given.queue):
        cluster = _earlier_cluster(sweeps, sweep)
    queues = given.queue or (given.resume and not given.here and sweeps.hosted_by_daemon(sweep))
    with _forgotten_if_refused(sweeps, sweep):
        refuse_meaningless(ctx, _uses_of_resumed(given, queues, cluster))
    todo = _todo(sweeps, sweep, wish.points if wish else None, cluster)
    say(f"duckrow: sweep {sweep.name}: {todo.in_words()}.")
    if not todo.count:
        if given.as_json:
            _print_queued(sweep, [])
        return EXIT_OK
    if cluster is not None:
        return _send(sweeps, sweep, todo, options, given, cluster)
    return (_submit if queues else _run)(sweeps, sweep, todo, options, given)


def _uses(ctx: click.Context, given: SweepOptions, on: str | None) -> list[VerbUse]:
    """What is known before a sweep is looked for."""
    holds = {
        VerbUse.PRINTED: not (given.here or given.queue or given.resume),
        VerbUse.RESUMED_SWEEP: given.resume,
        VerbUse.KNOWN_SWEEP: _continues_last(given),
        VerbUse.WATCHED: given.here,
        VerbUse.SUBMITTED: given.queue,
        VerbUse.QUEUED: given.queue and on is None,
        VerbUse.ON_CLUSTER: on is not None,
        VerbUse.ONLY_SLOTS: any_typed(ctx, VerbUse.ONLY_SLOTS) and has_only_slots("run", given.devices),
    }
    return [use for use, does in holds.items() if does]


def _uses_of_resumed(given: SweepOptions, queues: bool, cluster: ClusterRequest | None) -> list[VerbUse]:
    """Where a resumed sweep continues, unless it was said."""
    if given.here or given.queue or not (queues or cluster):
        return []
    return [VerbUse.SUBMITTED, VerbUse.QUEUED if cluster is None else VerbUse.ON_CLUSTER]


def _earlier_cluster(sweeps: Sweeps, sweep: SweepRow) -> ClusterRequest | None:
    """A sweep continues on its cluster, with the same request."""
    if not sweeps.on_cluster(sweep):
        return None
    from duckrow.api.clusters.sweeps import earlier_request

    return earlier_request(sweeps, sweep)


def _todo(sweeps: Sweeps, sweep: SweepRow, points: Sequence[Point] | None, cluster: ClusterRequest | None) -> Todo:
    if cluster is None:
        return sweeps.todo(sweep, points)
    from duckrow.api.clusters.sweeps import todo_on_cluster

    return todo_on_cluster(sweeps, sweep, points)


@dataclass(slots=True)
class WantedSweep:
    """The sweep that was asked for."""

    pattern: str
    points: list[Point]
    commands: list[str]
    file: SweepFile


def _continues_last(given: SweepOptions) -> bool:
    """`--resume` without a command: continue the last sweep, whatever it was."""
    asked = given.pattern or given.command_words or given.file or any(given.grids)
    return bool(given.resume) and not asked


def _wish(given: SweepOptions) -> WantedSweep:
    file = SweepFile() if given.file is None else read_sweep_file(given.file)
    pattern = given.pattern or file.command
    if given.command_words:
        if given.pattern:
            raise UsageError("Give either a command in quotes or one after --, not both.")
        pattern = command_of(given.command_words)
    if not pattern:
        raise UsageError("There is no command. Put it first: duckrow sweep 'python train.py --lr {lr}' -p lr 0.1 0.01")
    points = _points(given, file, pattern)
    unused = sorted({name for point in points for name in point} - set(placeholders(pattern)))
    if unused:
        say(f"duckrow: {unused_note(unused)}")
    return WantedSweep(pattern, points, [render(pattern, point) for point in points], file)


def _points(given: SweepOptions, file: SweepFile, pattern: str) -> list[Point]:
    typed = [{name: parse_axis(name, words) for name, words in grid.items()} for grid in given.grids]
    mode = given.mode or file.mode
    seed = next((seed for seed in (given.seed, file.seed) if seed is not None), 0)
    grids = _united(typed, file)
    if not any(grids) and placeholders(pattern):
        raise UsageError(
            f"The command has the placeholder {{{placeholders(pattern)[0]}}}, but there is no value for it. "
            f"Write: -p {placeholders(pattern)[0]} VALUE..."
        )
    return expand(grids, mode, given.n_samples or file.n_samples, seed)


def _united(typed: list[dict[str, Any]], file: SweepFile) -> Sequence[Grid]:
    """Typed parameters replace the file's values of the same names, in each of its grids."""
    if not file.grids:
        return typed
    if len(typed) > 1:
        raise UsageError("--or separates grids on the command line. The grids of a file are already combined.")
    return [{**grid, **typed[0]} for grid in file.grids]


def _print_commands(wish: WantedSweep, as_json: bool) -> int:
    if as_json:
        pairs = zip(wish.commands, wish.points, strict=True)
        print_json([{"command": text, "parameters": parameters_of(point)} for text, point in pairs])
        return EXIT_OK
    sys.stdout.write("".join(f"{text}\n" for text in wish.commands))
    if sys.stdout.isatty() and sys.stderr.isatty():
        say(f"duckrow: {plural(len(wish.commands), 'command')}; --run runs them here, --submit queues them.")
    return EXIT_OK


def _run(sweeps: Sweeps, sweep: SweepRow, todo: Todo, options: JobOptions, given: SweepOptions) -> int:
    from duckrow.api.machine.settings import Settings
    from duckrow.cli.runs.local import check_devices, keeps_devices, run_sweep

    settings = Settings()
    with _forgotten_if_refused(sweeps, sweep):
        keeps = keeps_devices(sweep.id, given.devices, options)
        offer = check_devices(given.devices, settings, given.gpu_count, options, keeps_devices=keeps)
    sweeps.leave_clusters(todo)
    specs = _prepare(sweeps, sweep, todo, options, given)
    handle = handle_of(sweeps.client, sweep)
    sweeps.client.close()  # before the run opens its own
    again = ["duckrow", "sweep", "--resume", "--name", handle]
    watch = given.watch.with_settings(settings)
    code = run_sweep(offer, sweep.id, sweep.name, specs, todo, given.devices, watch, options, again)
    say(f"duckrow: `duckrow results {shlex.quote(handle)}` shows the results.")
    return code


def _dry_run(
    wish: WantedSweep, name: str, root: str, options: JobOptions, given: SweepOptions, cluster: ClusterRequest | None
) -> int:
    """What --run would do, by the same code, but nothing is written."""
    from duckrow.api.sweeps.preview import preview_sweep

    sweep, todo, earlier = preview_sweep(wish.pattern, options.project, name, root, wish.points)
    make_spec = _spec_maker(wish.pattern, options, given)
    specs = [*earlier, *(make_spec(point, "") for point in todo.missing)]
    if sweep is not None:
        say(f"duckrow: sweep {sweep.name}: {todo.in_words()}.")
    if cluster is not None:
        from duckrow.cli.runs.slurm import print_script

        return print_script(cluster, specs, name)
    from duckrow.api.machine.settings import Settings
    from duckrow.cli.runs.local import check_devices, dry_run_sweep, keeps_devices

    sweep_id = None if sweep is None else sweep.id
    keeps = keeps_devices(sweep_id, given.devices, options)
    offer = check_devices(given.devices, Settings(), given.gpu_count, options, keeps_devices=keeps)
    return dry_run_sweep(offer, sweep_id, specs, given.devices, options)


def _send(
    sweeps: Sweeps, sweep: SweepRow, todo: Todo, options: JobOptions, given: SweepOptions, cluster: ClusterRequest
) -> int:
    from duckrow.api.clusters.sweeps import submit_sweep

    specs = _prepare(sweeps, sweep, todo, options, given)
    variables = dict(options.variables)
    if given.here:
        return watch_sweep(sweeps, sweep, todo, specs, cluster, variables, given.watch)
    return _tell_of(sweep, submit_sweep(sweeps, sweep, specs, todo, cluster, variables, tell), given.as_json)


def _submit(sweeps: Sweeps, sweep: SweepRow, todo: Todo, options: JobOptions, given: SweepOptions) -> int:
    specs = _prepare(sweeps, sweep, todo, options, given)
    with _forgotten_if_refused(sweeps, sweep):
        ids = sweeps.submit(specs, todo, dict(options.variables))
    return _tell_of(sweep, ids, given.as_json)


@contextmanager
def _forgotten_if_refused(sweeps: Sweeps, sweep: SweepRow) -> Iterator[None]:
    """A sweep without runs would be the one that --resume finds."""
    try:
        yield
    except UsageError:
        sweeps.forget_empty(sweep)
        raise


def _tell_of(sweep: SweepRow, ids: list[int], as_json: bool) -> int:
    if as_json:
        _print_queued(sweep, ids)
    else:
        print(compact_ids(ids))
        say(f"duckrow: {plural(len(ids), 'job')} submitted; `duckrow results {shlex.quote(sweep.name)}` shows them.")
    return EXIT_OK


def _print_queued(sweep: SweepRow, ids: list[int]) -> None:
    print_json({"sweep": sweep.name, "id": sweep.id, "folder": sweep.folder, "jobs": ids})


def _prepare(sweeps: Sweeps, sweep: SweepRow, todo: Todo, options: JobOptions, given: SweepOptions) -> list[JobSpec]:
    # A sweep that is continued from another folder has its code where it began.
    cwd = (None if todo.missing else sweeps.cwd_of(sweep)) or os.path.abspath(options.cwd or os.getcwd())
    with _forgotten_if_refused(sweeps, sweep):
        return sweeps.prepare(sweep, todo, _spec_maker(sweep.pattern, options, given), cwd, given.snapshot)


def _spec_maker(pattern: str, options: JobOptions, given: SweepOptions) -> Callable[[Point, str], JobSpec]:
    """A function that makes the job of a point, given its folder."""
    options.name = ""  # that was the sweep's name; each run is named after its point

    def make_spec(point: Point, _folder: str) -> JobSpec:
        return options.spec(render(pattern, point), given.gpu_count, pattern=pattern, point=point)

    return make_spec
