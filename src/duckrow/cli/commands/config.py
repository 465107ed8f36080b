"""`duckrow config`: each setting, its value, and where it comes from."""

from __future__ import annotations

import json
from typing import Any

import click

from duckrow.api.machine.settings import Settings
from duckrow.api.machine.settings_files import user_file
from duckrow.cli.console import print_json, print_table, say
from duckrow.core.errors import EXIT_OK
from duckrow.core.jobs.job import check_name
from duckrow.core.settings import DEFAULT


@click.command(short_help="Show the settings and where they come from.")
@click.option("--project", "-p", help="Show what applies to jobs of this project.")
@click.option("--path", is_flag=True, help="Print the path of your settings file, whether it exists or not.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: setting, value, source, help.")
def command(project: str | None, path: bool, as_json: bool) -> int:
    """Show each setting, its value, and where it comes from: a file, a variable, or the default.

    \b
    duckrow config
    duckrow config --project thesis
    $EDITOR "$(duckrow config --path)"

    Later ones win: your file, [tool.duckrow] in pyproject.toml, DUCKROW__SECTION__KEY variables, flags.
    """
    if path:
        print(user_file())
        return EXIT_OK
    if project is not None:
        check_name("project", project)
    settings = Settings()
    values = settings.values(project)
    if as_json:
        print_json(
            [
                {"setting": name, "value": value.written, "source": value.source, "help": value.setting.help}
                for name, value in values.items()
            ]
        )
        return EXIT_OK
    rows = [(name, _shown(value.written), value.source) for name, value in values.items()]
    print_table(("SETTING", "VALUE", "FROM"), rows, ["dim" if row[2] == DEFAULT else "" for row in rows])
    others = [name for name in settings.projects() if name != (project or settings["job.project"])]
    if others:
        say(
            f"duckrow: {', '.join(others)} {'has its' if len(others) == 1 else 'have their'} own settings "
            "(duckrow config --project NAME)."
        )
    return EXIT_OK


def _shown(written: Any) -> str:
    return "-" if written is None else written if isinstance(written, str) else json.dumps(written, default=str)
