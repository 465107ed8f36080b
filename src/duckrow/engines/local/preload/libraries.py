"""Which libraries a preloaded parent imports: what the project's modules import at their top, read from their source.

Nothing of the project is executed here. Each run imports its modules itself, with its own GPUs, variables and random
numbers.

This runs under the Python of the jobs, so it can use only the standard library.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec

_OURS = ("duckrow", "hydra_plugins.duckrow_launcher")  # whether installed or in somebody's clone
_FOLDERS = ("site-packages", "dist-packages")

LOADED_LATER = {"torch": ("torch._dynamo",)}
"""What a library imports only when runs use it, as nearly all do: torch when they make an optimizer. That takes as long
as `import torch` itself."""


class OwnModule(BaseException):
    """Something tried to import a module of the project. Not an Exception: a library must not catch it and continue."""

    def __init__(self, name: str) -> None:
        super().__init__(f"it needs {name}, a module of the project, which only jobs import")


class OnlyLibraries:
    """The first finder of a preloaded parent: it refuses to import any module of the project.

    `found` is called for each module that is imported, before its code is read or compiled.
    """

    def __init__(self, found: Callable[[ModuleSpec], object]) -> None:
        self._found = found

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        spec = _find(name, path)
        if spec is not None and not is_ours(name) and not _is_library(spec):
            raise OwnModule(name)
        if spec is not None:
            self._found(spec)
        return spec


def is_ours(name: str) -> bool:
    return any(f"{name}.".startswith(f"{ours}.") for ours in _OURS)


def is_library(name: str) -> bool:
    """Whether it may be imported before the runs. A missing module may: its import then says so."""
    return all(is_ours(part) or _is_library(spec) for part, spec in _chain(name))


def libraries_of(entries: Iterable[str]) -> list[tuple[str, tuple[str, ...]]]:
    """What these modules and scripts of the project import from outside of it, in that order: modules, and names."""
    reader = _Reader()
    try:
        for entry in entries:
            reader.enter(entry)
    except _ChangesEnvironment:
        pass
    return list(reader.found)


# -- whose a module is ------------------------------------------------------------------------------------------------


def _is_library(spec: ModuleSpec) -> bool:
    """Whether it is installed, or part of Python. A folder without an `__init__.py` executes nothing."""
    if not spec.has_location or spec.origin is None:
        return True
    folder = os.path.dirname(spec.origin)
    if folder not in _known:
        _known[folder] = _holds_libraries(os.path.realpath(folder) + os.sep)
    return _known[folder]


_known: dict[str, bool] = {}  # by the folder: torch alone has 1,500 modules


def _holds_libraries(folder: str) -> bool:
    if any(f"{os.sep}{name}{os.sep}" in folder for name in _FOLDERS):
        return True
    return folder.startswith((os.path.dirname(os.path.realpath(os.__file__)) + os.sep, *_targets()))


def _targets() -> Iterator[str]:
    """The folders of `pip install --target`, which a variable may name."""
    for place in map(os.path.realpath, sys.path):
        names = os.listdir(place) if place != os.getcwd() and os.path.isdir(place) else []
        if any(name.endswith(".dist-info") for name in names):
            yield place + os.sep


def _find(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """Find a module as Python does, but execute nothing."""
    for finder in sys.meta_path:
        if not isinstance(finder, OnlyLibraries) and hasattr(finder, "find_spec"):
            spec = finder.find_spec(name, path)
            if spec is not None:
                return spec
    return None


def _chain(name: str) -> Iterator[tuple[str, ModuleSpec]]:
    """`a.b.c`: what we find of a, a.b and a.b.c. Their packages need not be imported."""
    path: Sequence[str] | None = None
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        part = ".".join(parts[:count])
        spec = _find(part, path)
        if spec is None:
            return
        yield part, spec
        path = spec.submodule_search_locations
        if path is None:
            return


# -- what it imports --------------------------------------------------------------------------------------------------


class _ChangesEnvironment(Exception):
    """What is imported after this may be imported differently in the run."""


class _Reader:
    """Goes through modules in the order in which Python would execute them."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, tuple[str, ...]], None] = {}
        self._entered: set[str] = set()
        self._packages: set[str] = set()  # whose modules are the project's, even if they are installed

    def enter(self, entry: str) -> None:
        """A module by its name, or a script by its path."""
        if os.sep in entry:
            self._read(entry, "")
        else:
            self._packages.add(entry.partition(".")[0])
            self._import(entry)

    def _import(self, name: str, taken: tuple[str, ...] = ()) -> None:
        """`from name import taken`."""
        for part, spec in _chain(name):
            is_project = part.partition(".")[0] in self._packages or not (is_ours(part) or _is_library(spec))
            if not is_project and spec.origin is not None:
                self.found[name, taken] = None
                return
            if spec.origin is not None and part not in self._entered:
                self._entered.add(part)
                is_package = spec.submodule_search_locations is not None
                self._read(spec.origin, part if is_package else part.rpartition(".")[0])
        for each in taken:  # they may be modules too
            self._import(f"{name}.{each}")

    def _read(self, path: str, package: str) -> None:
        try:
            with open(path, "rb") as file:
                body = ast.parse(file.read()).body
        except (OSError, SyntaxError, ValueError, RecursionError):  # not Python, or a syntax error: its run will say so
            return
        for statement, is_certain in _executed(body):
            if is_certain and isinstance(statement, ast.Import):
                for alias in statement.names:
                    self._import(alias.name)
            elif is_certain and isinstance(statement, ast.ImportFrom):
                self._import_from(statement, package)
            elif _changes_environment(statement):
                raise _ChangesEnvironment

    def _import_from(self, statement: ast.ImportFrom, package: str) -> None:
        module = statement.module or ""
        if statement.level:
            parents = package.split(".")[: len(package.split(".")) - statement.level + 1]
            module = ".".join([*parents, *([module] if module else [])])
        if module and module != "__future__":
            self._import(module, tuple(alias.name for alias in statement.names if alias.name != "*"))


def _executed(body: Iterable[ast.stmt]) -> Iterator[tuple[ast.stmt, bool]]:
    """Statements in their order, and whether each is certainly executed: under `if` and `except` it may not be."""
    for statement in body:
        if isinstance(statement, ast.Try):
            yield from _executed(statement.body)
            for handler in statement.handlers:
                yield from ((each, False) for each in handler.body)
            yield from ((each, False) for each in [*statement.orelse, *statement.finalbody])
        elif isinstance(statement, ast.With):
            yield from _executed(statement.body)
        else:
            yield statement, not isinstance(statement, ast.If)


def _changes_environment(statement: ast.stmt) -> bool:
    """Whether it may set a variable, which a library that is imported later may read. Reading one is harmless."""
    read: set[ast.AST] = set()
    for node in ast.walk(statement):
        read.update(_read_by(node))
    return any(_may_change(node) for node in ast.walk(statement) if node not in read)


def _read_by(node: ast.AST) -> list[ast.expr]:
    """`x["A"]`, `x.get("A")`, `"A" in x`, `{**x}`: the x."""
    if isinstance(node, ast.Subscript):
        return [node.value] if isinstance(node.ctx, ast.Load) else []
    if isinstance(node, ast.Attribute):
        return [node.value] if node.attr in ("get", "items", "keys", "values", "copy") else []
    return node.comparators if isinstance(node, ast.Compare) else node.values if isinstance(node, ast.Dict) else []


def _may_change(node: ast.AST) -> bool:
    return _name_of(node) in ("environ", "environb", "putenv", "unsetenv", "load_dotenv")


def _name_of(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
