"""`duckrow why`: why a job is not running."""

from __future__ import annotations

import click

from duckrow.api.queue.why import why
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import clean, print_json
from duckrow.cli.opening import client_of_verb
from duckrow.core.errors import EXIT_OK


@click.command(short_help="Say why a job is not running.")
@click.argument("words", nargs=-1, metavar="[IDS]...", shell_complete=complete_jobs)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md describes it).")
def command(words: tuple[str, ...], as_json: bool) -> int:
    """Say why jobs are not running (by default the last one), by the same rules that start them.

    \b
    duckrow why 12
    duckrow why last
    """
    client = client_of_verb()
    client.tender.copy()
    client.tender.look()
    reasons = {job_id: why(client, job_id) for job_id in client.select(words or ("last",))}
    if as_json:
        print_json([{"id": job_id, "reasons": sentences} for job_id, sentences in reasons.items()])
        return EXIT_OK
    names = {view.id: view.words for view in client.views(list(reasons))}
    for job_id, sentences in reasons.items():
        print(f"{names[job_id]}: {clean(sentences[0])}")
        for sentence in sentences[1:]:
            print(f"  {clean(sentence)}")
    return EXIT_OK
