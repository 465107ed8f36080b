"""`--help-all`: every option of a verb. `--help` shows the common ones where a verb has more than fit a screen."""

from __future__ import annotations

import click

_META = "duckrow.help_all"
FLAG = "--help-all"


def shows_all(ctx: click.Context) -> bool:
    """Whether all options are to be shown."""
    return _META in ctx.meta


def with_help_all(command: click.Command) -> click.Command:
    """Every verb has the option, so that nobody has to know which verb needs it."""
    if not any(FLAG in param.opts for param in command.params):
        command.params.append(_option(hidden=not getattr(command, "common", ())))
    return command


def _option(hidden: bool) -> click.Option:
    return click.Option(
        [FLAG],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        hidden=hidden,
        callback=_show_all,
        help="Show all options and exit.",
    )


def _show_all(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    ctx.meta[_META] = True
    click.echo(ctx.get_help(), color=ctx.color)
    ctx.exit()
