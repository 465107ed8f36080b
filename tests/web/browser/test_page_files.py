"""The files of the page: nothing in them can make HTML of a text, and none is longer than one likes to read."""

from __future__ import annotations

import re
from pathlib import Path

import duckrow.web

WEB = Path(duckrow.web.__file__).parent
SCRIPTS = sorted((WEB / "static").rglob("*.js"))
SHEETS = sorted((WEB / "static").rglob("*.css"))
TEMPLATES = sorted((WEB / "templates").glob("*.html"))

# What parses a text as HTML or as code, or sets what a content security policy has to forbid.
DANGEROUS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|setHTMLUnsafe"
    r"|\beval\(|new Function|setTimeout\(\s*[\"'`]|javascript:|\.cssText|setAttribute\(\s*[\"']style"
)
ELSEWHERE = re.compile(r"[\"'(=]\s*(https?:)?//[a-z]", re.IGNORECASE)


def test_no_script_makes_html_or_code_of_a_text() -> None:
    assert len(SCRIPTS) > 20
    assert not [(path.name, found.group()) for path in SCRIPTS if (found := DANGEROUS.search(path.read_text()))]


def test_nothing_comes_from_elsewhere() -> None:
    files = [*SCRIPTS, *SHEETS, *TEMPLATES]
    found = [(path.name, hit.group()) for path in files if (hit := ELSEWHERE.search(path.read_text()))]
    assert not [hit for hit in found if hit[0] != "dom.js"]  # which has the name of SVG's namespace


def test_templates_have_no_script_of_their_own() -> None:
    for path in TEMPLATES:
        text = path.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)", text), path
        assert not re.search(r"\son\w+\s*=", text), path
        assert not re.search(r"<style(?![^>]*\bnonce=)|\sstyle=", text), path
        assert "|safe" not in text.replace(" ", ""), path


def test_modules_are_short_and_say_what_they_are_for() -> None:
    for path in SCRIPTS:
        lines = path.read_text().splitlines()
        assert len(lines) <= 220, f"{path.name} has {len(lines)} lines"
        assert lines[0].startswith(("/**", "//")), f"{path.name} does not say what it is for"
        assert max(map(len, lines)) <= 120, f"{path.name} has a long line"


def test_every_export_is_used() -> None:
    texts = {path: path.read_text() for path in SCRIPTS}
    for path, text in texts.items():
        for name in re.findall(r"^export (?:async )?(?:function|class|const) (\w+)", text, re.MULTILINE):
            used = any(re.search(rf"\b{name}\b", other) for place, other in texts.items() if place != path)
            assert used, f"nobody uses {name} of {path.name}"


def test_every_sheet_is_used_and_every_import_exists() -> None:
    page = (WEB / "templates" / "page.html").read_text()
    assert not [path.stem for path in SHEETS if not re.search(rf"\b{path.stem}\b", page)]
    for path in SCRIPTS:
        for target in re.findall(r"""(?:from|import)\s*\(?["'](\.[^"']+)["']""", path.read_text()):
            assert (path.parent / target).is_file(), f"{path.name} imports {target}"
