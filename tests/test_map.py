"""The map, docs/architecture.md: what it names is there, and what it must name is named."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.cli.verbs import ALIASES, VERBS
from tests.house import arrows, rooms
from tests.sources import tree_of

pytestmark = pytest.mark.no_cover  # nothing of ours runs here

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src"
MAP = ROOT / "docs" / "architecture.md"
PAGES = [MAP, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
# Rooms whose every module has a line in the map.
COMPLETE = [
    "api/queue",
    "core/memory",
    "core/schedule",
    "hydra",
    "hydra/runs",
    "scheduler/life",
    "scheduler/memory",
    "scheduler/tick",
    "web",
    "web/answers",
    "web/gate",
    "web/routes",
    "web/routes/jobs",
    "web/schemas",
]
QUESTIONS = 26

_FILE = re.compile(r"`([a-z0-9_./-]+\.(?:py|js))`")  # not `commands/VERB.py`: that is a pattern
# A user's own.
NOT_OURS = frozenset({"train.py"})


def files_named(text: str) -> Iterator[tuple[str, Path | None]]:
    """Each file that a line names, and where it is; None: nowhere.

    A path starts at src/duckrow, at the root, or in the folder of the path before it in its line; a bare name there.
    """
    for line in text.split("\n"):
        folder: list[Path] = []
        for name in _FILE.findall(line):
            bases = [SRC / "duckrow", ROOT, *folder] if "/" in name else folder
            found = next((base / name for base in bases if (base / name).is_file()), None)
            folder = [found.parent] if found else folder
            if name not in NOT_OURS:
                yield name, found


def missing_files(text: str) -> list[str]:
    return [name for name, found in files_named(text) if found is None]


def questions() -> list[tuple[str, str, str]]:
    """(question, file, what to look for in it)"""
    section = MAP.read_text().split("\n## Where is ...?\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+\?) \| `([^`]+)` \| ([^|]+) \|", section, re.MULTILINE)
    return [(question, file, name) for question, file, names in rows for name in re.findall(r"`([^`]+)`", names)]


def names_in(source: str) -> set[str]:
    """What a module defines at its top, and the methods of its classes as `Class.method`."""
    names = set()
    for node in tree_of(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
            names |= {f"{node.name}.{method.name}" for method in methods}
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_is_named_is_there(page: Path) -> None:
    assert not missing_files(page.read_text())


def test_a_file_that_is_not_there_would_be_found() -> None:
    text = "| `api/jobs/kill.py`, `hold.py`, `slurm_fit.py` |\n| `hold.py` |\n`core/nothing.py` and `train.py`"
    assert missing_files(text) == ["slurm_fit.py", "hold.py", "core/nothing.py"]


@pytest.mark.parametrize("room", COMPLETE)
def test_every_module_of_a_room_has_a_line_in_the_map(room: str) -> None:
    named = {found for _, found in files_named(MAP.read_text())}
    modules = {path for path in (SRC / "duckrow" / room).glob("*.py") if path.name != "__init__.py"}
    assert modules
    assert not sorted(str(path.relative_to(SRC / "duckrow")) for path in modules - named)


@pytest.mark.parametrize(("question", "file", "name"), questions(), ids=lambda text: text[:30])
def test_where_is_it(question: str, file: str, name: str) -> None:
    assert name in names_in((SRC / "duckrow" / file).read_text()), (
        f"Where is {question} The map says `{name}` in {file}."
    )


def test_the_map_answers_all_questions() -> None:
    assert len({question for question, _, _ in questions()}) == QUESTIONS


def test_every_room_says_in_a_line_what_it_is_about() -> None:
    told = list(rooms())
    assert len(told) > 40
    assert not [room for room, text in told if len(text) < 10]


def test_a_folder_of_modules_is_a_package() -> None:
    """Else it would be a room that no table shows."""
    folders = {path.parent for path in SRC.rglob("*.py")} - {SRC, SRC / "hydra_plugins"}
    assert not [folder for folder in folders if not (folder / "__init__.py").is_file()]


def test_a_room_has_modules() -> None:
    rooms_with_nothing = [
        init.parent for init in SRC.rglob("__init__.py") if not [*init.parent.glob("*.py")][1:] and not is_parent(init)
    ]
    assert not rooms_with_nothing


def is_parent(init: Path) -> bool:
    return any(init.parent.glob("*/__init__.py"))


def test_the_picture_has_the_arrows_that_matter() -> None:
    drawn = arrows()
    assert ("cli", "api") in drawn
    assert ("scheduler", "engines") in drawn
    assert not [arrow for arrow in drawn if arrow[1] == "scheduler" and arrow[0] not in ("cli",)]


def test_the_table_of_verbs_has_all_of_them() -> None:
    text = (ROOT / "docs" / "cli.md").read_text()
    table = text.split("\n| verb | |\n")[1].split("\n\n")[0]
    assert sorted(re.findall(r"\[(\w+)\]\(#\w+\)", table)) == sorted(VERBS)


def test_the_table_of_other_words_has_all_of_them() -> None:
    section = (ROOT / "docs" / "cli.md").read_text().split("\n## Other words\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.+`) \| `(.+)` \|$", section, re.MULTILINE)
    assert {word: same for words, same in rows for word in re.findall(r"`(\w+)`", words)} == ALIASES


def test_nothing_that_can_happen_is_promised_for_later() -> None:
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    assert not [page.name for page in pages if re.search(r"nothing sets|sets it yet|kept for later", page.read_text())]
