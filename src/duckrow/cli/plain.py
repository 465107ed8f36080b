"""Verbs without options, which are what people type most: answered without click.

To load click takes as long as everything else that such a verb does. Without options there is nothing to parse: each
has its default, which is also that of the values (`ListOptions()`) that the verb is given.
"""

from __future__ import annotations

import os

from duckrow.cli.completing import is_completing
from duckrow.cli.verbs import ALIASES


def answer(arguments: list[str]) -> int | None:
    """The exit code of a verb without options; None: click must parse it."""
    verb, words = ALIASES.get(arguments[0], arguments[0]) if arguments else "", arguments[1:]
    if is_completing():
        return None
    if verb == "ls" and not words:
        from duckrow.cli.views.job_list import list_jobs

        return list_jobs()
    if verb == "submit" and (command := _command_in(words)):
        from duckrow.cli.submitting import submit_plainly

        return submit_plainly(command)
    return None


def _command_in(words: list[str]) -> list[str]:
    """The command, if there is nothing else. A file may be a script with options in its lines."""
    if words[:1] == ["--"]:
        words = words[1:]
    elif words and words[0].startswith("-"):
        return []
    return [] if words and os.path.isfile(words[0]) else words
