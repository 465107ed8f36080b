"""A wish is a type: its name stands in core/life/wishes.py, and nowhere else as a string."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.core.life.wishes import DeviceWish, Wish, is_kill, kill_wish, signal_of, signal_wish
from tests.sources import nodes_of

SRC = Path(__file__).parent.parent / "src"
HOME = SRC / "duckrow/core/life/wishes.py"
# Words that mean nothing but the wish; the others are verbs of the command line and actions of the page as well.
ONLY_WISHES = frozenset({Wish.KILL_NOW, Wish.SUSPEND, Wish.LEND, Wish.TAKE_BACK, "signal:"})
ALL = frozenset({*Wish, *DeviceWish})


def strings(node: ast.AST) -> Iterator[ast.Constant]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str))


def typed_wishes(source: str) -> list[str]:
    """`line: the word` of each wish that is written as a string."""
    found = []
    for node in nodes_of(source):
        if isinstance(node, ast.Constant) and node.value in ONLY_WISHES:
            found.append(node)
        elif isinstance(node, ast.Call) and _is_named_wish(node.func):
            found += [each for argument in node.args for each in strings(argument) if each.value in ALL]
        elif isinstance(node, ast.Compare) and any(map(_is_named_wish, [node.left, *node.comparators])):
            found += [each for each in strings(node) if each.value in ALL]
    return sorted({f"{node.lineno}: {node.value!r}" for node in found})


def _is_named_wish(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return "wish" in name.lower()


@pytest.mark.no_cover
def test_no_wish_is_typed_as_a_string() -> None:
    sources = [path for path in sorted(SRC.rglob("*.py")) if path != HOME]
    assert len(sources) > 50
    typed = [f"{path.relative_to(SRC)}:{place}" for path in sources for place in typed_wishes(path.read_text())]
    assert not typed, "Use duckrow.core.life.wishes here:\n" + "\n".join(typed)


@pytest.mark.no_cover
def test_a_wish_for_a_job_is_written_down_by_its_verb_alone() -> None:
    """So that the command line, the page, Hydra and the drop-ins cannot drift apart."""
    front = [SRC / "duckrow" / room for room in ("api", "cli", "web", "dropin", "hydra")]
    verbs = {"api/jobs", "api/python/lending.py", "api/session.py"}
    sources = [path for room in front for path in sorted(room.rglob("*.py"))]
    others = [path for path in sources if not any(f"/duckrow/{verb}" in str(path) for verb in verbs)]
    assert len(others) < len(sources)
    found = [f"{path.relative_to(SRC)}:{line}" for path in others for line in written_wishes(path.read_text())]
    assert not found, "Call the verb in duckrow.api.jobs instead:\n" + "\n".join(found)


def written_wishes(source: str) -> list[int]:
    """The lines that call `something.wish(...)`."""
    calls = [node.func for node in nodes_of(source) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if isinstance(call, ast.Attribute) and call.attr == "wish"]


def test_one_that_writes_a_wish_down_by_itself_is_found() -> None:
    assert written_wishes("ids = []\nself._client.wish(ids, Wish.KILL)") == [2]


@pytest.mark.parametrize(
    "source",
    [
        "client.wish(ids, 'kill')",
        "client.wish(ids, 'kill-now' if now else 'kill')",
        "at_once = how == 'kill-now'",
        "client.wish(ids, f'signal:{number}')",
        "if wish == 'rerun': pass",
        "if wish in ('drain', 'remove'): pass",
        "LEND = 'lend'",
        "control.wish_of_device('0', 'add')",
    ],
)
def test_a_wish_that_is_typed_as_a_string_is_found(source: str) -> None:
    assert typed_wishes(source)


@pytest.mark.parametrize("source", ["VERBS = {'kill': 'End jobs.'}", "act(client, 'rerun', ids)", "run('pause')"])
def test_a_verb_with_the_name_of_a_wish_is_let_through(source: str) -> None:
    assert not typed_wishes(source)


def test_a_wish_for_a_signal_tells_its_number() -> None:
    assert signal_of(signal_wish(10)) == 10
    assert [wish for wish in Wish if signal_of(wish) is not None] == []


def test_only_the_two_ways_to_kill_are_kills() -> None:
    assert [wish for wish in Wish if is_kill(wish)] == [kill_wish(at_once=False), kill_wish(at_once=True)]
    assert not is_kill(signal_wish(9))
