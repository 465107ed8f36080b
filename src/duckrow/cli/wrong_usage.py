"""What click refuses, in our words: one line with what is wrong, what was meant, and where the options are."""

from __future__ import annotations

import click

from duckrow.cli.help_all import FLAG
from duckrow.core.nearest_word import nearest_word

_OF_CLICK = {"a valid integer range": "a whole number", "a valid integer": "a whole number"}


def refusal_of(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    if isinstance(error, click.NoSuchOption):
        message = _no_such_option(error.option_name, context)
    else:
        message = error.format_message()
    if isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter):
        return _bad_value(message)
    message = message if message.endswith((".", "?", "?)")) else f"{message}."
    return f"{message}{_where_options_are(context)}"


def _bad_value(message: str) -> str:
    """It says itself what to write."""
    for theirs, ours in _OF_CLICK.items():
        message = message.replace(theirs, ours)
    return message


def _no_such_option(name: str, context: click.Context | None) -> str:
    """Nobody is pointed to an option that the help does not show."""
    params = [] if context is None else context.command.params
    shown = [param for param in params if isinstance(param, click.Option) and not param.hidden]
    known = {each.lstrip("-"): each for param in shown for each in (*param.opts, *param.secondary_opts)}
    near = nearest_word(name.lstrip("-"), known)  # the dashes would make all of them alike
    return f"There is no option {name}." + (f" Did you mean {known[near]}?" if near else "")


def _where_options_are(context: click.Context | None) -> str:
    if context is None or context.parent is None:
        return ""
    flag = FLAG if getattr(context.command, "common", ()) else "--help"
    return f" See: {context.command_path} {flag}"
