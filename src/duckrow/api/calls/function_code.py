"""Fingerprints the code of a function, to detect edits.

What counts: its bytecode, the user's functions and classes that it uses, and plain values (numbers, texts, lists of
them) in its closure, its defaults and its module. Libraries, comments and the place in the file do not count.
"""

from __future__ import annotations

import dis
import enum
import functools
import hashlib
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import PurePath
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from duckrow.api.calls.signature import shown_name

Code = Mapping[str, str]  # its parts by name, each as a short hash

# Bytecode can only be compared within one Python version.
_PYTHON = "(python)"
_DEEPEST = 20
_MOST_NAMES, _FAR_AWAY = 100, "other functions"
_LONGEST = 100_000  # only this much of a longer list counts: hand edits change its beginning or its length
_PLAIN = (int, float, complex, bool, str, bytes, type(None), type(...))


def code_of_function(function: Callable[..., Any]) -> Code:
    walk = _Walk(function)
    walk.visit(shown_name(function), function)
    walk.go()
    return {_PYTHON: f"{sys.implementation.cache_tag}-O{sys.flags.optimize}", **walk.parts}


def what_changed(before: Code | None, now: Code) -> list[str]:
    """The names of the parts that changed, are new or are gone; empty if the earlier code is unknown."""
    if before is None or before.get(_PYTHON) != now[_PYTHON]:
        return []
    return [name for name in {**now, **before} if before.get(name) != now.get(name)]


class _Walk:
    """Walks from a function to what it uses, nearest first. It does not recurse, however deep a project is."""

    def __init__(self, root: Any) -> None:
        self.parts: dict[str, str] = {}
        self._root = root
        self._seen: set[int] = set()
        self._ahead: deque[tuple[str, Any, frozenset[str]]] = deque()

    def go(self) -> None:
        while self._ahead:
            self._visit_object(*self._ahead.popleft())

    def visit(self, name: str, thing: Any, used: frozenset[str] = frozenset()) -> None:
        """`used`: the names in the code that uses this; of a module, only these count."""
        if isinstance(thing, _PLAIN) or type(thing) in (list, tuple, dict, set, frozenset) or _is_word(thing):
            self._note(name, text_of(thing))
        elif id(thing) not in self._seen:
            self._seen.add(id(thing))
            self._ahead.append((name, thing, used))

    def _visit_object(self, name: str, thing: Any, used: frozenset[str]) -> None:
        if isinstance(thing, functools.partial):
            self.visit(name, thing.func, used)
            self._note(f"the arguments of {name}", text_of((thing.args, thing.keywords)))
        elif isinstance(thing, MethodType):
            self.visit(name, thing.__func__)
            self.visit(type(thing.__self__).__name__, thing.__self__)
        elif isinstance(thing, staticmethod | classmethod):
            self.visit(name, thing.__func__)
        elif isinstance(thing, property):
            for part in (thing.fget, thing.fset, thing.fdel):
                self.visit(name, part)
        elif isinstance(thing, ModuleType):
            for attribute in sorted(used & vars(thing).keys()) if _is_own(thing.__name__) else ():
                self.visit(f"{name}.{attribute}", vars(thing)[attribute], used)
        elif thing is self._root or _is_own(getattr(thing, "__module__", None)):
            self._visit_own(name, thing)

    def _visit_own(self, name: str, thing: Any) -> None:
        if isinstance(thing, FunctionType):
            self._visit_function(name, thing)
        elif isinstance(thing, type):
            for base in thing.__bases__:
                self.visit(base.__name__, base)
            for attribute, value in vars(thing).items():
                if isinstance(value, FunctionType) or not _is_pythons_own(attribute):
                    self.visit(f"{name}.{attribute}", value)
        else:  # an object of one of the user's classes
            self.visit(type(thing).__name__, type(thing))
            for attribute, value in getattr(thing, "__dict__", {}).items():
                self.visit(f"{name}.{attribute}", value)

    def _visit_function(self, name: str, function: FunctionType) -> None:
        code = function.__code__
        wrapped = getattr(function, "__wrapped__", None)
        defaults = (function.__defaults__, function.__kwdefaults__)
        self._note(name, f"{_code_text(code, function.__doc__)} {text_of(defaults)}")
        used = frozenset(_names_in(code))
        if wrapped is not None:
            self.visit(name, wrapped)
        for variable, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                self.visit(variable, cell.cell_contents, used)
            except ValueError:  # it has no value yet
                pass
        for variable in sorted(_globals_in(code)):
            if variable in function.__globals__ and not _is_pythons_own(variable):
                self.visit(variable, function.__globals__[variable], used)

    def _note(self, name: str, text: str) -> None:
        """Parts with the same name count together. In a large project the farthest do too: each run keeps the list."""
        if name not in self.parts and len(self.parts) >= _MOST_NAMES:
            name = _FAR_AWAY
        digest = hashlib.blake2b(digest_size=8)
        digest.update(f"{self.parts.get(name, '')} {text}".encode("utf-8", "surrogatepass"))
        self.parts[name] = digest.hexdigest()


def text_of(value: Any, depth: int = 0) -> str:
    """Equal for equal plain values in every process; for anything else, its type."""
    kind = type(value)
    if depth > _DEEPEST:
        return "..."
    if kind in (str, bytes) and len(value) > _LONGEST:
        data = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
        return f"{kind.__name__} {hashlib.blake2b(data, digest_size=16).hexdigest()}"
    if kind in (tuple, list):
        few = islice(value, _LONGEST)
        return f"{kind.__name__} of {len(value)}({','.join(text_of(each, depth + 1) for each in few)})"
    if kind in (set, frozenset):
        return f"{kind.__name__}({','.join(sorted(text_of(each, depth + 1) for each in value))})"
    if kind is dict:
        return f"dict({','.join(f'{text_of(k, depth + 1)}:{text_of(v, depth + 1)}' for k, v in value.items())})"
    if kind is CodeType:
        return _code_text(value, None)
    if kind in _PLAIN:
        return repr(value)
    if _is_word(value):
        return f"{kind.__qualname__} {value._name_ if isinstance(value, enum.Enum) else value}"
    return f"<{kind.__module__}.{kind.__qualname__}>"


def _is_word(value: Any) -> bool:
    return isinstance(value, PurePath | enum.Enum)


def _code_text(code: CodeType, doc: str | None) -> str:
    """The code without its docstring and line numbers."""
    constants = code.co_consts
    if doc is not None and constants and constants[0] == doc:
        constants = (None, *constants[1:])
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return text_of((code.co_code, getattr(code, "co_exceptiontable", b""), counts, names, constants))


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes_in(constant)


def _names_in(code: CodeType) -> Iterator[str]:
    for each in _codes_in(code):
        yield from each.co_names


def _globals_in(code: CodeType) -> set[str]:
    """The globals that it reads; not those that it writes, because they change by themselves."""
    read, written = set(), set()
    for each in _codes_in(code):
        for instruction in dis.get_instructions(each):
            if instruction.opname == "LOAD_GLOBAL":
                read.add(str(instruction.argval))
            elif instruction.opname == "STORE_GLOBAL":
                written.add(str(instruction.argval))
    return read - written


def _is_pythons_own(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_own(module: Any) -> bool:
    """Whether it is the user's own code, not a library."""
    if not isinstance(module, str):
        return False
    top = module.partition(".")[0]
    if top == "__main__":
        return True
    if not top or top in sys.stdlib_module_names or top == "duckrow":
        return False
    path = getattr(sys.modules.get(module), "__file__", None) or ""
    return bool(path) and not {"site-packages", "dist-packages"} & set(PurePath(path).parts)
