"""`duckrow show`: all that is known of a job."""

from __future__ import annotations

import time
from typing import Any

import click

from duckrow.api.client import Client
from duckrow.api.views import devices_text
from duckrow.cli.console import clean, print_json
from duckrow.cli.job_table import exit_text
from duckrow.core.errors import EXIT_OK
from duckrow.core.units import format_duration


@click.command(short_help="Show all that is known of a job.")
@click.argument("words", nargs=-1, required=True, metavar="IDS...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md describes it).")
def command(words: tuple[str, ...], as_json: bool) -> int:
    """Show all that is known of jobs: what they are, each attempt, and their story.

    \b
    duckrow show 12
    duckrow show last
    duckrow show 12 --json
    """
    client = Client()
    stories = [client.story(job_id) for job_id in client.select(words)]
    if as_json:
        print_json(stories)
        return EXIT_OK
    for number, story in enumerate(stories):
        if number:
            print()
        _print_story(story)
    return EXIT_OK


def _print_story(story: dict[str, Any]) -> None:
    print(f"job {story['id']}  {story['project']}/{story['name']}  {story['outcome'] or story['state']}")
    lines = {
        "command": clean(story["command"]),
        "folder": clean(story["cwd"]),
        "submitted": f"{_clock(story['created_at'])}, to {story['host']}",
        "needs": "any device" if story["gpus"] is None else f"{story['gpus']} GPUs",
        "priority": str(story["priority"]),
        "note": clean(story["detail"]),
    }
    for name, value in lines.items():
        if value:
            print(f"  {name:<10} {value}")
    for attempt in story["attempts_made"]:
        _print_attempt(attempt)
    for event in story["events"]:
        note = f"  ({clean(event['detail'])})" if event["detail"] else ""
        print(f"  {_clock(event['at'])}  {event['before']} -> {event['outcome'] or event['after']}{note}")


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
        clean(attempt["detail"]),
    ]
    print("  " + ", ".join(word for word in words if word))
    print(f"    log {clean(attempt['log'])}" if attempt["log"] else "    printed nothing")


def _clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
