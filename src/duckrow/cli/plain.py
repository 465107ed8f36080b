"""What people type most, verbs with no options or the simplest: answered without click.

To load click takes as long as everything else that such a verb does. Without options there is nothing to parse: each
has its default, which is also that of the values (`ListOptions()`) that the verb is given. Of the options of `ls`, this
knows those without a value, and the number of jobs to show; of `run`, a list, its devices and slots.
"""

from __future__ import annotations

import os

from duckrow.cli.completing import is_completing
from duckrow.cli.verbs import ALIASES

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

_FLAGS = {"--all": "show_all", "-a": "show_all", "--failed": "failed", "--json": "as_json"}
_LIMIT = ("--limit", "-l")
_LONGEST_NUMBER = 18  # digits: the database knows no larger ones


def answer(arguments: list[str]) -> int | None:
    """The exit code of a verb that needs no parsing; None: click must parse it."""
    verb, words = ALIASES.get(arguments[0], arguments[0]) if arguments else "", arguments[1:]
    if is_completing():
        return None
    if verb == "ls" and (options := _list_options(words)) is not None:
        from duckrow.cli.views.job_list import ListOptions, list_jobs

        return list_jobs(options=ListOptions(**options))
    if verb == "submit" and (command := _command_in(words)):
        from duckrow.cli.submitting import submit_plainly

        return submit_plainly(command)
    if verb == "run" and (typed := _devices_and_file(words)) is not None:
        from duckrow.cli.runs.local import run_plainly

        return run_plainly(*typed)
    return None


def _list_options(words: list[str]) -> dict[str, Any] | None:
    """What was typed; None: something that is not known here."""
    options: dict[str, Any] = {}
    left = iter(words)
    for word in left:
        if word in _LIMIT and _is_number(number := next(left, "")):
            options["limit"] = int(number)
        elif word in _FLAGS:
            options[_FLAGS[word]] = True
        else:
            return None
    return options


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
        if word == "--slots" and words and _is_number(words[0]) and slots is None:
            slots = int(words.pop(0))
        elif word == "--devices" and words and _is_number_list(words[0]) and not devices:
            devices = [words.pop(0)]
        elif file is None and os.path.isfile(word) and not word.startswith("-") and not _is_number_list(word):
            file = word
        else:
            return None
    return file, devices, slots


def _is_number(word: str) -> bool:
    """Whether it is one of 1, 2, ..., typed as people do."""
    return word.isascii() and word.isdecimal() and len(word) <= _LONGEST_NUMBER and int(word) > 0


def _is_number_list(word: str) -> bool:
    return word.isascii() and word.replace(",", "").isdecimal()
