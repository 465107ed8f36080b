"""What a command is called with: its options, settings and words, each with a name."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from duckrow.core.late_pattern import late_pattern

_WORD = late_pattern(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*"|['"\\])+""", re.DOTALL)
_QUOTED = late_pattern(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)""", re.DOTALL)
_SETTING = late_pattern(r"\+{0,2}([A-Za-z_][\w.@/-]*)=(.*)", re.DOTALL)
_OPTION = late_pattern(r"--?([A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)
_PLACEHOLDER = late_pattern(r"\{(\w+)\}")
_MOST = 64  # parameters of a command: the rest count as one
_LONGEST = 100  # characters of a value that is kept as it is


def words_of(command: str) -> list[str]:
    """Roughly as a shell splits them."""
    return [_QUOTED.sub(lambda found: found[1] or found[2] or found[3] or "", word) for word in _WORD.findall(command)]


def name_of(written: str) -> str:
    """`batch-size` and `batch_size` are the same."""
    return written.replace("-", "_")


_BARE = "word "


def parameters_in(words: Sequence[str]) -> dict[str, str]:
    """`--lr 0.1`, `--lr=0.1`, `lr=0.1`, `--fast`; other words are named by their position."""
    found: dict[str, str] = {}
    bare = 0
    left = list(words)
    while left:
        word = left.pop(0)
        option, setting = _OPTION.fullmatch(word), _SETTING.fullmatch(word)
        if option is not None:
            name, value = option[1], option[2]
            if value is None:
                value = left.pop(0) if left and not _OPTION.fullmatch(left[0]) else ""
        elif setting is not None:
            name, value = setting[1], setting[2]
        else:
            bare += 1
            name, value = f"{_BARE}{bare}", word
        name = name_of(name)
        found[name] = f"{found[name]} {value}" if name in found else value
    return found


def is_bare(name: str) -> bool:
    """Whether it is a word that has no name of its own, as the number in `sleep 60`."""
    return name.startswith(_BARE)


def named_by(pattern: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """A word that is a placeholder in the template gets its name. `pattern`: the parameters of the template."""
    renamed = {name: placeholder for name, placeholder in placeholders(pattern).items() if is_bare(name)}
    return {renamed.get(name, name): value for name, value in found.items()}


def placeholders(pattern: Mapping[str, str]) -> dict[str, str]:
    """Which parameters of a template are just a placeholder, and which one."""
    whole = ((name, _PLACEHOLDER.fullmatch(value)) for name, value in pattern.items())
    return {name: match[1] for name, match in whole if match is not None}


def shortened(parameters: Mapping[str, str]) -> dict[str, str]:
    """Short enough to store, and still equal only for equal parameters."""
    names = sorted(parameters)
    kept = {name[:_LONGEST]: _short(parameters[name]) for name in names[:_MOST]}
    if len(names) > _MOST:
        kept["..."] = _digest(repr([(name, parameters[name]) for name in names[_MOST:]]))
    return kept


def text_of(parameters: Mapping[str, str]) -> str:
    """The same text for the same parameters, in whatever order they were written."""
    return json.dumps(parameters, sort_keys=True, separators=(",", ":")) if parameters else ""


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST else f"{value[:40]}... {_digest(value)}"


def _digest(text: str) -> str:
    from hashlib import sha256  # few commands are that long

    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
