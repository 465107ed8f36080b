"""Verbs as people type them most, without options or only with devices: answered without click.

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
    if verb == "run" and (typed := _devices_and_file(words)) is not None:
        from duckrow.cli.running import run_plainly

        return run_plainly(*typed)
    return None


def _command_in(words: list[str]) -> list[str]:
    """The command, if there is nothing else. A file may be a script with options in its lines."""
    if words[:1] == ["--"]:
        words = words[1:]
    elif words and words[0].startswith("-"):
        return []
    return [] if words and os.path.isfile(words[0]) else words


def _devices_and_file(words: list[str]) -> tuple[str | None, list[str], int | None] | None:
    """The file of commands, the devices and the slots, if nothing else is there and none needs a second look."""
    file, devices, slots = None, list[str](), None
    while words:
        word, *words = words
        if word == "--slots" and words and words[0].isdecimal() and int(words[0]) and slots is None:
            slots = int(words.pop(0))
        elif word == "--devices" and words and _is_number_list(words[0]) and not devices:
            devices = [words.pop(0)]
        elif file is None and os.path.isfile(word) and not word.startswith("-") and not _is_number_list(word):
            file = word
        else:
            return None
    return file, devices, slots


def _is_number_list(word: str) -> bool:
    return word.replace(",", "").isdecimal()
