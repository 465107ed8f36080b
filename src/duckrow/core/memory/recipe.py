"""What makes two jobs similar for memory: the script, by its real path, and what it is called with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from duckrow.core.errors import UsageError
from duckrow.core.memory.parameters import (
    name_of,
    named_by,
    parameters_in,
    placeholders,
    shortened,
    text_of,
    words_of,
)
from duckrow.core.named_tuple import NamedTuple

_MOST_WORDS = 4
_SCRIPT = re.compile(r"^(?!-)[^=]+\.(py|sh|jl|R|ipynb)$")
_INTERPRETER = re.compile(r"(?:.*/)?(?:python[\d.]*|sh|bash|zsh|dash|julia|Rscript|env|exec)")
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*")
_SHELL = re.compile(r"(?:.*/)?(?:sh|bash|zsh|dash)")
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
_FROM_ROOT_OR_HOME = re.compile(r"/|~|\$HOME\b|\$\{HOME\}")
_LAUNCHER = "launcher"
_LAUNCHER_MODULES = ("torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch")
"""Modules that start a script, as torchrun does."""


class JobRecipe(NamedTuple):
    """What is known about a job before it runs. It is stored with the job's needs."""

    recipe: str
    parameters: str = ""  # what it is called with, as `parameters.text_of` writes it
    deciding: str = ""  # which of them a person says decide its memory, separated by commas; empty: learned


class _Command(NamedTuple):
    cwd: str
    what: str  # the script, or the program with its first words
    is_path: bool  # it is a file, relative to cwd
    launcher: str  # what runs the script, unless that is just its interpreter
    arguments: list[str]  # including variables in front


def recipe_of(
    cwd: str,
    command: str,
    pattern: str | None = None,
    deciding: Iterable[str] = (),
    point: Mapping[str, Any] | None = None,
    real_path: Callable[[str], str] | None = None,
    is_file: Callable[[str], bool] | None = None,
) -> JobRecipe:
    """`pattern`: the template of a sweep, or the name of a function. `deciding`: names of parameters.

    `real_path`: follows links; without it, paths are used as written. `is_file`: finds the file of a module (`-m`);
    without it, a module belongs to the folder in which it is called.
    """
    real_path = real_path or _plain_path
    if pattern is not None and pattern.startswith("call "):
        found = {str(name): str(value) for name, value in (point or {}).items()}
        place = "" if pattern.startswith("call /") else f"{cwd}: "  # a script is the same wherever it is called from
        return JobRecipe(f"{place}{pattern}", text_of(shortened(found)), _chosen(deciding, found, {}, command))
    taken = _taken_apart(cwd, command, is_file)
    recipe = real_path(_joined(taken.cwd, taken.what)) if taken.is_path else f"{real_path(taken.cwd)}: {taken.what}"
    found = parameters_in(taken.arguments)
    template: dict[str, str] = {}
    if pattern is not None:
        template = parameters_in(_taken_apart(cwd, pattern, is_file).arguments)
        found = named_by(template, found)
        if not taken.is_path and " -m " not in f" {taken.what} ":
            recipe = f"{real_path(cwd)}: {pattern}"
            found |= {name: str(value) for name, value in (point or {}).items()}
    if taken.launcher:
        found[_LAUNCHER] = taken.launcher
    chosen = _chosen(deciding, found, template, command, point)  # may add to what was found
    return JobRecipe(recipe, text_of(shortened(found)), chosen)


def script_of(cwd: str, command: str, is_file: Callable[[str], bool] | None = None) -> str | None:
    """The path of the Python script that a command runs; None: it runs none, or a launcher starts it.

    `is_file`: as for `recipe_of`.
    """
    taken = _taken_apart(cwd, command, is_file)
    is_plain = taken.is_path and taken.what.endswith(".py") and not taken.launcher
    return _joined(taken.cwd, taken.what) if is_plain else None


def _chosen(
    deciding: Iterable[str],
    found: dict[str, str],
    template: Mapping[str, str],
    command: str,
    point: Mapping[str, Any] | None = None,
) -> str:
    """The names that a person gave, as the parameters spell them. One that only the point has is added to `found`."""
    by_placeholder = {placeholder: name for name, placeholder in placeholders(template).items()}
    names = []
    for written in deciding:
        name = next((name for name in (written, name_of(written)) if name in found), by_placeholder.get(written))
        if name is None and point is not None and written in point:
            name, found[written] = written, str(point[written])
        if name is None:
            raise UsageError(f"The parameter '{written}', which decides the memory, is not in: {command.strip()}")
        names.append(name)
    return ",".join(names)


def _taken_apart(cwd: str, command: str, is_file: Callable[[str], bool] | None) -> _Command:
    cwd, words = _entered(cwd, words_of(command))
    variables = []
    while words and (words[0] in ("exec", "env") or _VARIABLE.match(words[0])):
        variables += [words[0]] if "=" in words[0] else []
        words = words[1:]
    if len(words) > 2 and _SHELL.fullmatch(words[0]) and re.fullmatch(r"-[a-z]*c", words[1]):
        inner = _taken_apart(cwd, words[2], is_file)
        return inner._replace(arguments=[*variables, *inner.arguments, *words[3:]])
    number = next((number for number, word in enumerate(words) if _SCRIPT.search(word)), None)
    module = _module_in(words)
    if module is not None and (number is None or module < number):
        return _of_module(cwd, words[:module], words[module], variables + words[module + 1 :], is_file)
    if number is not None:
        before, options = _launcher(words[:number])
        return _Command(cwd, words[number], True, before, variables + options + words[number + 1 :])
    program = _program(words)
    is_path = len(program) == 1 and "/" in program[0] and not _INTERPRETER.fullmatch(program[0])
    return _Command(cwd, " ".join(program) or command.strip(), is_path, "", variables + words[len(program) :])


def _module_in(words: Sequence[str]) -> int | None:
    """Which word is the module that is run (`-m`), unless that only starts a script."""
    found = (number for number in range(2, len(words)) if words[number - 1] == "-m" and _is_module(words[number]))
    number = next(found, None)
    return None if number is None or words[number] in _LAUNCHER_MODULES else number


def _of_module(
    cwd: str, before: Sequence[str], module: str, arguments: list[str], is_file: Callable[[str], bool] | None
) -> _Command:
    """A module whose file is in the folder is the same script as that file."""
    programs = ["python" if _PYTHON.fullmatch(word) else word for word in before if not word.startswith("-")]
    path = module.replace(".", "/")
    for file in (f"{path}.py", f"{path}/__main__.py"):
        if programs == ["python"] and is_file is not None and is_file(_joined(cwd, file)):
            return _Command(cwd, file, True, "", arguments)
    return _Command(cwd, " ".join([*programs, "-m", module]), False, "", arguments)


def _entered(cwd: str, words: list[str]) -> tuple[str, list[str]]:
    """`cd code && python train.py` runs in that folder."""
    while len(words) > 2 and words[0] == "cd" and (words[2] == "&&" or words[1].endswith(";")):
        cwd = _joined(cwd, words[1].rstrip(";"))
        words = words[3:] if words[2] == "&&" else words[2:]
    return cwd, words


def _launcher(words: Sequence[str]) -> tuple[str, list[str]]:
    """(programs that start the script, their options). An interpreter and its own options make no difference."""
    programs = [word for word in words if not word.startswith("-") and "=" not in word]
    if all(_INTERPRETER.fullmatch(word) for word in programs):
        return "", [word for word in words if _VARIABLE.match(word)]
    names = (word.rsplit("/", 1)[-1] for word in programs if not _INTERPRETER.fullmatch(word))
    return " ".join(names), [word for word in words if word not in programs]


def _program(words: Sequence[str]) -> list[str]:
    """The program with the words that say what it does: no option, setting or number."""
    first: list[str] = []
    for word in words[:_MOST_WORDS]:
        if first and (word.startswith("-") or "=" in word or not re.match(r"[A-Za-z_./]", word)):
            break
        first.append(word)
    return first


def _is_module(word: str) -> bool:
    return re.fullmatch(r"\w+(\.\w+)*", word) is not None


def _joined(folder: str, path: str) -> str:
    return path if _FROM_ROOT_OR_HOME.match(path) else f"{folder}/{path}"


def _plain_path(path: str) -> str:
    """Without `.` and `..`, judged by the text alone: links are not followed."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)
