"""`duckrow simulate`: how a trace of jobs would go on other GPUs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from duckrow.cli.console import print_json, print_table, say
from duckrow.cli.options.option_values import TIME
from duckrow.cli.options.trace_file import read_trace
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.simulation.figures import Figures, figures, lower_bound_s
from duckrow.core.simulation.search import search
from duckrow.core.simulation.trace_job import JobSpans, SimulatedGpus, TraceJob, check_fits, parse_simulated_gpus
from duckrow.core.units import format_duration, plural
from duckrow.scheduler.simulation.play import play

_SEARCHED_S = 5.0


@click.command(short_help="Simulate how a trace of jobs would go on other GPUs.")
@click.option("--devices", required=True, metavar="NxGPU", help="How many GPUs, and their memory: 8xH100-80G.")
@click.option(
    "--trace", required=True, type=click.Path(path_type=Path), metavar="FILE", help="CSV or JSON; - is stdin."
)
@click.option("--at-once", is_flag=True, help="All jobs come at once, instead of when they came.")
@click.option("--jobs", "most", type=click.IntRange(1), metavar="N", help="Only the first N jobs.")
@click.option("--search", "search_s", type=TIME, default=_SEARCHED_S, help="How long to search for a better schedule.")
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE.svg", help="Draw which job was where when.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md describes it).")
def command(
    devices: str, trace: Path, at_once: bool, most: int | None, search_s: float, picture: Path | None, as_json: bool
) -> int:
    """Let a trace of jobs pass through duckrow's own scheduler, in seconds instead of days. Nothing runs.

    duckrow sees a job's run time only when it has ended, and learns from it. Beside it: jobs in the order in which
    they come; the best schedule that a search finds that knows all run times; and a bound that no schedule can beat.

    \b
    duckrow ls --all --json > trace.json
    duckrow simulate --devices 8xH100-80G --trace trace.json
    duckrow simulate --devices 4x24G --trace helios.csv --jobs 500 --picture timeline.svg
    """
    if picture is not None:
        _check_picture(picture)
    gpus = parse_simulated_gpus(devices)
    found = read_trace(_text(trace), str(trace), gpus.memory_mb)
    jobs = found.jobs[:most]
    jobs = [job._replace(comes_at=0.0) for job in jobs] if at_once else jobs
    check_fits(jobs, gpus)
    if found.left_out:
        say(f"duckrow: left out: {plural(found.left_out, 'job')} that did not succeed, did not run, or had no GPU.")
    spans = play(jobs, gpus)
    schedules = {
        "duckrow": spans,
        "in order": play(jobs, gpus, learns=False),
        "search": search(jobs, gpus, _until(search_s)),
    }
    told = {name: figures(jobs, each, gpus) for name, each in schedules.items()}
    _print(jobs, gpus, told, as_json)
    if picture is not None:
        _draw(picture, jobs, spans, gpus)
    return EXIT_OK


def _text(path: Path) -> str:
    try:
        with click.open_file(str(path), encoding="utf-8-sig") as file:
            text: str = file.read()
            return text
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a text file. Give a CSV, or what duckrow ls --all --json prints.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None


def _until(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


def _print(jobs: Sequence[TraceJob], gpus: SimulatedGpus, told: dict[str, Figures], as_json: bool) -> None:
    bound_s = lower_bound_s(jobs, gpus)
    if as_json:
        of_all = {"jobs": len(jobs), "devices": gpus.words, "lower_bound_s": bound_s}
        print_json([{"schedule": name, **of_all, **each._asdict()} for name, each in told.items()])
        return
    say(f"duckrow: {plural(len(jobs), 'job')} on {gpus.words}, simulated.")
    header = ("", "MAKESPAN", "OF BOUND", "WAIT: MEAN", "MEDIAN", "95 %", "LONGEST", "GPUS IN USE")
    rows = [_row(name, each, bound_s) for name, each in told.items()]
    print_table(header, [*rows, ("bound", format_duration(bound_s), "1.00", "", "", "", "", "")])


def _row(name: str, told: Figures, bound_s: float) -> tuple[str, ...]:
    waits = (told.wait_mean_s, told.wait_median_s, told.wait_p95_s, told.wait_max_s)
    share = f"{told.makespan_s / bound_s:.2f}" if bound_s else "-"
    return name, format_duration(told.makespan_s), share, *map(format_duration, waits), f"{told.utilisation:.0%}"


def _check_picture(path: Path) -> None:
    """Before the search, which takes long."""
    if path.suffix.lower() != ".svg":
        raise UsageError(f"--picture draws an SVG file: --picture {path.with_suffix('.svg')}")
    if path.is_dir() or not path.parent.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{path} cannot be written. Give a file in a folder that exists and is yours.")


def _draw(path: Path, jobs: Sequence[TraceJob], spans: JobSpans, gpus: SimulatedGpus) -> None:
    from duckrow.cli.views.timeline_picture import timeline_picture

    title = f"{plural(len(jobs), 'job')} on {gpus.words}"
    try:
        path.write_text(timeline_picture(title, jobs, spans, gpus))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from None
    say(f"duckrow: drawn into {path}")
