"""Old phrases do not come back, in pages, help texts, messages, docstrings or comments, of tests and statements too.

plain_english.yaml has them, with what to say instead.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from duckrow.cli.verbs import VERBS
from tests import sources
from tests.test_docs import help_block

pytestmark = pytest.mark.no_cover  # nothing of ours runs here but help texts, which have tests of their own

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PHRASES: Mapping[str, str] = yaml.safe_load((TESTS / "plain_english.yaml").read_text())
# Whether a text has any of them, which almost none has. Each begins with a word.
_ANY_PHRASE = re.compile(rf"\b(?=\w)(?:{'|'.join(PHRASES)})", re.IGNORECASE)
# Decisions are history and stay as they were written.
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
CODE = [
    *sorted(path for path in (ROOT / "src" / "duckrow").iterdir() if (path / "__init__.py").exists()),
    ROOT / "src" / "hydra_plugins",
    ROOT / "benchmarks",
    ROOT / "examples",
]
STATEMENTS = sorted((ROOT / "src").rglob("*.sql"))
SCRIPTS = sorted((ROOT / "src" / "duckrow" / "web" / "static").rglob("*.js"))

# Written into the folders of batches, where other versions of duckrow read it.
_KEPT = {"its SLURM job was told to end"}

_NOT_PROSE = [
    re.compile(r"<!-- (?:help: \w+|transitions) -->\n.*?<!-- end -->", re.DOTALL),  # the program's own words
    re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE),
    re.compile(r"``.+?``|`[^`\n]+`"),
    re.compile(r"\]\([^)]*\)"),
]


Reader = Callable[[ast.AST], Iterator[tuple[int, str]]]


def prose_of(markdown: str) -> str:
    """What somebody wrote to be read, its lines where they were."""
    for pattern in _NOT_PROSE:
        markdown = pattern.sub(lambda found: "\n" * found[0].count("\n") + "·", markdown)
    return markdown


def old_phrases(where: str, text: str) -> Iterator[str]:
    """Each old phrase in a text: where, what it is, what to say instead. A phrase may be broken over two lines."""
    if not has_old_phrase(text):
        return
    lines = _unindented(text)
    flowing = lines.replace("\n", " ")
    for pattern, instead in PHRASES.items():
        for found in re.finditer(pattern, flowing, re.IGNORECASE):
            yield f"{where}:{lines.count(chr(10), 0, found.start()) + 1}: '{found[0]}': say '{instead}'"


def has_old_phrase(text: str) -> bool:
    return _ANY_PHRASE.search(_unindented(text).replace("\n", " ")) is not None


def _unindented(text: str) -> str:
    return re.sub(r"\n[ \t]+", "\n", text)


def strings_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every string of a module with its line, docstrings and messages alike; what is filled in is a dot."""
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        yield tree.lineno, tree.value
    elif isinstance(tree, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "·" for part in tree.values)
        yield tree.lineno, "".join(map(str, parts))
        for part in tree.values:
            if isinstance(part, ast.FormattedValue):
                yield from strings_of(part.value)
    else:
        for child in ast.iter_child_nodes(tree):
            yield from strings_of(child)


def docstrings_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Strings that are there only to be read: other strings of a test are what it gives and expects."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
        elif not isinstance(node, ast.expr):  # in which there is no statement
            yield from docstrings_of(node)


def comments_of(source: str) -> Iterator[tuple[int, str]]:
    """Every comment with the line where it begins; a comment over several lines is one."""
    first, last, lines = 0, -1, list[str]()
    for line, comment in sources.comments_of(source):
        if line != last + 1 and lines:
            yield first, "\n".join(lines)
            lines = []
        first = first if lines else line
        last = line
        lines.append(comment.lstrip("# "))
    if lines:
        yield first, "\n".join(lines)


def comments_of_sql(statements: str) -> str:
    """Its comments, each at its line."""
    return "\n".join(line.partition("--")[2].strip() for line in statements.split("\n"))


def old_phrases_in_code(where: str, source: str, strings: Reader = strings_of) -> Iterator[str]:
    texts = [(line, prose_of(text)) for line, text in [*strings(ast.parse(source)), *comments_of(source)]]
    if not has_old_phrase("\0".join(text for _, text in texts)):  # all at once: most are short
        return
    for line, text in texts:
        if text in _KEPT:
            continue
        for found in old_phrases("", text):
            _, below, rest = found.split(":", 2)
            yield f"{where}:{line + int(below) - 1}:{rest}"


@pytest.mark.parametrize("place", CODE, ids=lambda place: place.name)
def test_no_message_docstring_or_comment_has_an_old_phrase(place: Path) -> None:
    found = [
        complaint
        for module in sorted(place.rglob("*.py"))
        for complaint in old_phrases_in_code(str(module.relative_to(ROOT)), module.read_text())
    ]
    assert not found, "\n".join(found)


def test_no_docstring_or_comment_of_a_test_has_an_old_phrase() -> None:
    found = [
        complaint
        for module in sorted(TESTS.rglob("*.py"))
        for complaint in old_phrases_in_code(str(module.relative_to(ROOT)), module.read_text(), docstrings_of)
    ]
    assert not found, "\n".join(found)


def test_no_comment_of_a_statement_has_an_old_phrase() -> None:
    found = [
        phrase
        for file in STATEMENTS
        for phrase in old_phrases(str(file.relative_to(ROOT)), comments_of_sql(file.read_text()))
    ]
    assert not found, "\n".join(found)


def test_no_help_has_an_old_phrase() -> None:
    """Once more as it is shown: a phrase may be put together from several strings."""
    found = [phrase for verb in ["duckrow", *VERBS] for phrase in old_phrases(verb, help_block(verb))]
    assert not found, "\n".join(found)


def test_no_script_of_the_page_has_an_old_phrase() -> None:
    found = [phrase for script in SCRIPTS for phrase in old_phrases(script.name, prose_of(script.read_text()))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        '"""This is no setting."""',
        'say("Draw it "\n    "anew.")',
        'say(f"{count} jobs told to end.")',
        "x = 1  # its\n# like",
        "# one line\n# that is done anew",
    ],
)
def test_an_old_phrase_would_be_found_in_code(source: str) -> None:
    assert list(old_phrases_in_code("module", source))


def test_an_old_phrase_would_be_found_in_a_statement() -> None:
    statements = "-- name: jobs\nSELECT 'anew' -- those that\n-- are made anew\nFROM jobs"
    assert list(old_phrases("jobs.sql", comments_of_sql(statements))) == ["jobs.sql:3: 'anew': say 'again'"]


def test_of_a_test_only_what_is_there_to_be_read_is_read() -> None:
    source = '"""Good."""\n\ntext = "anew"\n"""anew"""\n'
    assert list(old_phrases_in_code("test", source, docstrings_of)) == ["test:4: 'anew': say 'again'"]


def test_each_alternative_of_a_phrase_begins_with_a_word() -> None:
    """By that they are looked for, all at once."""
    alternatives = [each for pattern in PHRASES for each in re.split(r"\|(?=\\b|\(\?<!)", pattern)]
    assert not [each for each in alternatives if not re.match(r"(\(\?<!.+?\))*\\b[\w(]", each)]


def test_a_comment_is_not_looked_for_within_a_string() -> None:
    source = 'x = "# anew"  # good\ny = """\n# anew\n"""  # "quoted\n# anew, it\'s\n'
    assert list(comments_of(source)) == [(1, "good"), (4, "\"quoted\nanew, it's")]


def test_an_old_phrase_in_code_is_found_at_its_line() -> None:
    source = '"""Good.\n\nThis is no setting."""\n\nx = 1  # again\n'
    assert list(old_phrases_in_code("module", source)) == ["module:3: 'is no': say 'is not a'"]


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
