"""The sources as the rules of the house read them.

Many rules look at the same modules. To parse one takes longer than to look at it, and so does to walk through its tree:
each is done once in a process.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

_TOKEN = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?P<comment>#[^\n]*)''',
    re.DOTALL,
)
"""A string, or a comment: a `#` that is not within a string. Python's `tokenize` takes twenty times as long."""


@cache
def tree_of(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def nodes_of(source: str) -> tuple[ast.AST, ...]:
    """All nodes of its tree, from the top down."""
    return tuple(ast.walk(tree_of(source)))


def comments_of(source: str) -> Iterator[tuple[int, str]]:
    """Every comment with its line, from its `#` on."""
    line, seen = 1, 0
    for found in _TOKEN.finditer(source):
        if found["comment"] is not None:
            line += source.count("\n", seen, found.start())
            seen = found.start()
            yield line, found["comment"]


def dotted(node: ast.expr) -> str:
    """`time.sleep` of the expression that says so, and `.wait` of one whose beginning is not a name."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    names.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(names))
