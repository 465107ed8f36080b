"""Old phrases do not come back: plain_english.yaml has them, with what to say instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PHRASES: Mapping[str, str] = yaml.safe_load((TESTS / "plain_english.yaml").read_text())
# Decisions are history and stay as they were written.
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_NOT_PROSE = [
    re.compile(r"<!-- (?:help: \w+|transitions) -->\n.*?<!-- end -->", re.DOTALL),  # the program's own words
    re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE),
    re.compile(r"``.+?``|`[^`\n]+`"),
    re.compile(r"\]\([^)]*\)"),
]


def prose_of(markdown: str) -> str:
    """What somebody wrote to be read, its lines where they were."""
    for pattern in _NOT_PROSE:
        markdown = pattern.sub(lambda found: "\n" * found[0].count("\n") + "·", markdown)
    return markdown


def old_phrases(where: str, text: str) -> Iterator[str]:
    """Each old phrase in a text: where, what it is, what to say instead. A phrase may be broken over two lines."""
    lines = re.sub(r"\n[ \t]+", "\n", text)
    flowing = lines.replace("\n", " ")
    for pattern, instead in PHRASES.items():
        for found in re.finditer(pattern, flowing, re.IGNORECASE):
            yield f"{where}:{lines.count(chr(10), 0, found.start()) + 1}: '{found[0]}': say '{instead}'"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_has_an_old_phrase(page: Path) -> None:
    found = list(old_phrases(page.name, prose_of(page.read_text())))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "sentence",
    [
        "Leave --gpus away.",
        "Show the second so many.",
        "This is no setting.",
        "Draw it anew every second",
        "Job 1 is succeeded",
        "3 jobs told to end",
        "Running jobs go on.",
        "The daemon runs already, as process 7.",
        "Mend that line.",
        "sound, of form 6",
        "port 8000 cannot be listened at",
        "Be an older tool",
        "who restarts a program is not overrun",
        "what its like have taken",
        "by its last words",
        "and none of them ever\nlost",
    ],
)
def test_an_old_phrase_would_be_found(sentence: str) -> None:
    assert list(old_phrases("page", sentence))


@pytest.mark.parametrize(
    "sentence",
    ["There is no GPU here.", "A drained GPU is no longer used.", "Copy the code, so that you can go on editing."],
)
def test_good_english_is_left_alone(sentence: str) -> None:
    assert not list(old_phrases("page", sentence))


def test_code_and_the_help_of_the_program_are_not_prose() -> None:
    page = "Say `anew`.\n\n```text\nanew\n```\n\n<!-- help: run -->\nanew\n<!-- end -->\nanew\n"
    assert [found.split(":")[1] for found in old_phrases("page", prose_of(page))] == ["10"]
