"""`duckrow doctor`: checks this installation and suggests fixes."""

from __future__ import annotations

import sys

import click

from duckrow.api.machine.doctor import examine
from duckrow.api.machine.finding import OK, PROBLEM, WARN
from duckrow.cli.console import clean, paint, print_json, say
from duckrow.core.errors import EXIT_FAILED, EXIT_OK
from duckrow.core.units import plural

_COLOURS = {OK: "green", WARN: "yellow", PROBLEM: "red"}


@click.command(short_help="Check this installation and suggest fixes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: check, level, found, advice.")
def command(as_json: bool) -> int:
    """Check versions, state folder, database, daemon, settings and GPUs. Changes nothing.

    \b
    duckrow doctor
    duckrow doctor --json

    The exit code is 0 if there is no problem, else 1.
    """
    findings = []
    for finding in examine():
        findings.append(finding)
        if not as_json:
            print(f"{paint(f'{finding.level:<7}', _COLOURS[finding.level], sys.stdout)}  ", end="")
            print(f"{finding.check:<12}  {clean(finding.found)}", flush=True)
            if finding.advice:
                print(f"{'':<7}  {'':<12}  -> {clean(finding.advice)}", flush=True)
    problems = sum(finding.level == PROBLEM for finding in findings)
    if as_json:
        print_json([finding._asdict() for finding in findings])
    else:
        say(f"duckrow: {plural(problems, 'problem')}." if problems else "duckrow: no problem was found.")
    return EXIT_FAILED if problems else EXIT_OK
