"""`duckrow show`: everything about a job."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import click

from duckrow.api.client import Client
from duckrow.api.devices.paces import best_of_job
from duckrow.api.queue.job_story import story_of
from duckrow.api.queue.listing import annotate, left_job_command, variable_names
from duckrow.api.queue.views import devices_text, exit_text
from duckrow.api.results.metric_curves import metrics_of
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import OUTCOME_COLOURS, clean, paint, print_json
from duckrow.cli.opening import client_of_verb
from duckrow.cli.views.job_table import eta_text
from duckrow.cli.views.sparkline import sparkline
from duckrow.core.devices.needs import Needs, ask_of
from duckrow.core.errors import EXIT_OK
from duckrow.core.jobs.title import full_name, without_call
from duckrow.core.life.dependencies import AwaitedJob, awaited_in_words
from duckrow.core.schedule.explain import wanted
from duckrow.core.sweeps.results import cell_text, json_ready, short_text
from duckrow.core.units import format_duration, format_mb, plural


@click.command(short_help="Show everything about a job.")
@click.argument("words", nargs=-1, metavar="[IDS]...", shell_complete=complete_jobs)
@click.option("--env", "with_names", is_flag=True, help="The names of its variables too; never their values.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md describes it).")
def command(words: tuple[str, ...], with_names: bool, as_json: bool) -> int:
    """Show everything about jobs: what they are, each attempt, and their history. By default, the last job.

    \b
    duckrow show
    duckrow show 12
    duckrow show last --env
    duckrow show 12 --json
    """
    client = client_of_verb()
    client.tender.copy()
    stories = [_story(client, job_id, with_names) for job_id in client.select(words or ["last"])]
    if as_json:
        print_json(stories)
        return EXIT_OK
    for number, story in enumerate(stories):
        if number:
            print()
        _print_story(client, story)
    return EXIT_OK


def _story(client: Client, job_id: int, with_names: bool) -> dict[str, Any]:
    story = story_of(client, job_id)
    if story["state"] != "done":
        view = client.job(job_id)
        annotate(client, [view])
        story.update(eta_s=view.eta_s, run_ended=view.run_ended)
    pace = best_of_job(client, job_id, Needs(**story["needs"]))
    story["pace"] = None if pace is None else pace.words
    story["metrics"] = json_ready(metrics_of(client, story))
    if with_names:
        story["variables"] = variable_names(client, job_id)
    return story


def _print_story(client: Client, story: dict[str, Any]) -> None:
    status = story["outcome"] or story["state"]
    painted = paint(status, OUTCOME_COLOURS.get(status, ""), sys.stdout)
    label = full_name(story["name"], story["array_index"])
    print(f"job {story['id']}  {story['project']}/{label}  {painted}")
    for name, value in _facts(client, story).items():
        if value:
            print(f"  {name:<10} {value}")
    for attempt in story["attempts_made"]:
        _print_attempt(attempt)
    for event in story["events"]:
        print(f"  {_clock(event['at'])}  {_event_text(event)}")


def _event_text(event: dict[str, Any]) -> str:
    """A change of state, or a note about an attempt that continued."""
    if event["before"] == event["after"]:
        return f"note: {clean(event['detail'])}"
    why = f"  ({clean(event['detail'])})" if event["detail"] else ""
    return f"{event['before']} -> {event['outcome'] or event['after']}{why}"


def _facts(client: Client, story: dict[str, Any]) -> dict[str, str]:
    limit, retries, not_before = story["timeout_s"], story["retries"], story["not_before"]
    peak = story["peak_memory_mb"]
    variables = story.get("variables")
    parameters = story["parameters"] or {}
    return {
        "call": clean(story["title"]) if story["title"] != story["command"] else "",
        "command": clean(without_call(story["command"])),
        "array": _array(story),
        "folder": clean(story["cwd"]),
        "sweep": story["sweep"] or "",
        "parameters": clean(" ".join(f"{name}={cell_text(value)}" for name, value in parameters.items())),
        "output": clean(story["outfile"] or ""),
        "run folder": clean(story["folder"] or ""),
        "submitted": f"{_clock(story['created_at'])}, to {story['host']}",
        "needs": _needs(story),
        "priority": str(story["priority"]),
        "time limit": "" if limit is None else format_duration(limit),
        "retries": str(retries) if retries else "",
        "if lost": "requeue" if story["requeue_lost"] else "",
        "held": f"yes (duckrow release {story['id']})" if story["held"] else "",
        "suspended": f"yes, because it was paused (duckrow resume {story['id']})" if story["suspended"] else "",
        "not before": "" if not_before is None else _clock(not_before),
        "waits for": _lost_run(client, story),
        "after": ", ".join([*_after(story, met=False), *(f"{job} (met)" for job in _after(story, met=True))]),
        "done in": eta_text(story["eta_s"]),
        "metrics": clean(" ".join(f"{name}={short_text(value)}" for name, value in story["metrics"].items())),
        "pace": story["pace"] or "",
        "memory": "" if peak is None else f"{peak} MB at most",
        "variables": "" if variables is None else clean(" ".join(variables)) or "none",
        "note": clean(story["detail"]),
    }


def _after(story: dict[str, Any], met: bool) -> list[str]:
    """The jobs that it waits for, or waited for."""
    return awaited_in_words(AwaitedJob(on["id"], on["condition"]) for on in story["after"] if on["met"] == met)


def _needs(story: dict[str, Any]) -> str:
    needs = Needs(**story["needs"])
    cores = plural(needs.cpus, "core") if needs.cpus else ""
    memory = f"{format_mb(needs.mem_mb)} of memory" if needs.mem_mb else ""
    devices = wanted(ask_of(story["gpus"], needs.as_text()))
    if needs.auto and needs.gpu_mem_mb is None and not needs.alone:  # duckrow finds out how much that is
        gpus = "a GPU" if (story["gpus"] or 1) == 1 else f"each of {story['gpus']} GPUs"
        devices = f"as much memory of {gpus} as similar jobs take"
    return ", ".join(filter(None, [devices, cores, memory]))


def _array(story: dict[str, Any]) -> str:
    index = story["array_index"]
    return "" if index is None else f"index {index} of the array that begins with job {story['array_id']}"


def _lost_run(client: Client, story: dict[str, Any]) -> str:
    return f"a run that has ended ({left_job_command(client, story['id'])})" if story["run_ended"] else ""


def _print_attempt(attempt: dict[str, Any]) -> None:
    ended = attempt["ended_at"]
    lasted = format_duration((ended or time.time()) - attempt["started_at"])
    end = exit_text(attempt["exit_code"], attempt["signal"])
    words = [
        f"attempt {attempt['number']}",
        f"on {devices_text(attempt['devices'])}",
        f"{_clock(attempt['started_at'])} for {lasted}",
        attempt["outcome"] or f"running as process {attempt['pid']}",
        f"exit {end}" if end else "",
        "" if attempt["peak_memory_mb"] is None else f"{attempt['peak_memory_mb']} MB at most",
        "" if attempt["host_peak_mb"] is None else f"{attempt['host_peak_mb']} MB of main memory at most",
        "" if attempt["utilization"] is None else f"{attempt['utilization']:.0f}% busy",
        f"{format_duration(attempt['gpu_seconds'])} of GPU time" if attempt["gpu_seconds"] else "",
        clean(attempt["detail"]),
    ]
    print("  " + ", ".join(word for word in words if word))
    for title, curve in _curves(attempt):
        print(f"    {title:<7}{curve}")
    print(f"    log {clean(attempt['log'])}" if attempt["log"] else "    no output")


def _curves(attempt: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Its memory and GPU utilisation over time, if there is more than one reading."""
    points = attempt["curve"]
    if len(points) < 2:
        return
    most_mb = max(mb for _, mb, _ in points)
    if most_mb:
        memory = sparkline([(at, mb) for at, mb, _ in points], most_mb)
        yield "memory", f"{memory} up to {format_mb(most_mb)} in {format_duration(points[-1][0])}"
    if any(busy for *_, busy in points):
        yield "busy", f"{sparkline([(at, busy) for at, _, busy in points], 100)} of 100%"


def _clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
