"""What the page's JavaScript knows of the server is what the server says: types of answers, states, outcomes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import duckrow.web
from duckrow.core.life.states import LIVE, Outcome, State
from tests.web.page_types import ANSWERS, COMMAND, LIFECYCLE, ROOT, answers, lifecycle

STATIC = Path(duckrow.web.__file__).parent / "static"
CHECK = ROOT / "tools/page/check"
OUT_OF_DATE = f"out of date: .venv/bin/{COMMAND}"

WORDS = [*State, *Outcome]
ANY = "|".join(WORDS)
# "running", "failed" and "lost" mean other things too.
PLAIN = "|".join(word for word in WORDS if word not in (State.RUNNING, State.DONE, Outcome.FAILED, Outcome.LOST))
# As a text of its own, compared with a state or an outcome, or in a text with several such words.
WRITTEN = re.compile(rf"""["'`]({PLAIN})["'`]|\b(state|outcome)\s*(===|!==|\?\?)\s*["'`]({ANY})|({ANY}) ({PLAIN})\b""")


def test_the_types_of_answers_are_as_the_description_says() -> None:
    assert ANSWERS.read_text() == answers(), OUT_OF_DATE


def test_the_page_has_the_states_and_outcomes_of_core() -> None:
    assert LIFECYCLE.read_text() == lifecycle(), OUT_OF_DATE


def test_a_state_is_written_in_one_module_of_the_page() -> None:
    modules = [path for path in sorted(STATIC.rglob("*.js")) if path not in (LIFECYCLE, STATIC / "js/states.js")]
    found = [(path.name, hit.group()) for path in modules for hit in WRITTEN.finditer(path.read_text())]
    assert not found, "take it from lifecycle.js, or ask states.js"


def test_every_state_and_outcome_has_its_colour_in_both_themes() -> None:
    table, tokens = ((STATIC / "css" / f"{sheet}.css").read_text() for sheet in ("table", "tokens"))
    shown = [word.value for word in WORDS if word not in LIVE and word is not State.DONE]
    for word in shown:
        assert re.search(rf"^\.is-{word} {{\s*--state: var\(--{word}\)", table, re.MULTILINE), word
        assert len(re.findall(rf"^\s*--{word}: ", tokens, re.MULTILINE)) == 2, word
    assert re.search(r"^\.is-active {\s*--state: ", table, re.MULTILINE)


def test_the_page_is_served_no_files_of_its_checks() -> None:
    assert {path.suffix for path in STATIC.rglob("*") if path.is_file()} == {".js", ".css", ".svg"}


def test_what_checks_the_page_is_pinned_and_names_no_server() -> None:
    folder = CHECK.parent
    wanted = json.loads((folder / "package.json").read_text())["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values())
    lock = (folder / "package-lock.json").read_text()
    packages = json.loads(lock)["packages"]
    assert packages[""]["devDependencies"] == wanted
    assert all("integrity" in told for name, told in packages.items() if name)
    assert "://" not in lock, f"npm adds addresses: .venv/bin/{COMMAND}"


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
def test_without_npm_the_page_is_not_checked_and_ci_fails(tmp_path: Path, ci: str, code: int) -> None:
    for tool in ("sh", "dirname"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    env = {**os.environ, "PATH": str(tmp_path), "CI": ci}
    done = subprocess.run([CHECK], env=env, capture_output=True, text=True)
    assert done.returncode == code
    assert "not checked: there is no npm (apt install npm)." in done.stderr
