"""The house as it is, for docs/architecture.md: its rooms, and a picture of who imports whom, read from the sources."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tests.sources import tree_of
from tests.test_architecture import MAY_IMPORT, SRC, all_imports, package_of, target_package

NOT_DRAWN = frozenset({"core", "kernel", "__init__", "__main__"})
"""Almost everyone imports `core` and `kernel`: arrows to them would hide all others."""


def rooms() -> Iterator[tuple[str, str]]:
    """Each folder of modules: its path, and what its docstring says."""
    for init in sorted(SRC.rglob("__init__.py")):
        if init.parent == SRC / "duckrow":
            continue
        text = ast.get_docstring(tree_of(init.read_text())) or ""
        yield path_of(str(init.parent.relative_to(SRC))), " ".join(text.split("\n\n")[0].split())


def path_of(room: str) -> str:
    return room.removeprefix("duckrow/") if room.startswith("duckrow/") else f"src/{room}"


def rooms_block() -> str:
    rows = [f"| `{room}/` | {text} |" for room, text in rooms()]
    return "\n".join(["| room | what it is about |", "| --- | --- |", *rows]) + "\n"


def arrows() -> Counter[tuple[str, str]]:
    """How many modules of a package import something of another one, lazy and type imports counted."""
    found: Counter[tuple[str, str]] = Counter()
    for importer, imports in all_imports().items():
        source = package_of(importer)
        for target in {target_package(each) for each in imports} - {None, source}:
            if target is not None and target in MAY_IMPORT and not {source, target} & NOT_DRAWN:
                found[source, target] += 1
    return found


def house_block() -> str:
    """As Mermaid, which GitHub draws, and which can be read as it is."""
    drawn = sorted(arrows())
    nodes = sorted({name for arrow in drawn for name in arrow})
    lines = [f"    {name}[{name}]" for name in nodes] + [f"    {source} --> {target}" for source, target in drawn]
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```"]) + "\n"
