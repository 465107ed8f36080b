"""A late pattern behaves like one of re; it only is compiled later."""

from __future__ import annotations

import re
from typing import Any

import pytest

from duckrow.core.late_pattern import late_pattern


def test_it_finds_what_one_of_re_finds() -> None:
    late, usual = late_pattern(r"(?P<name>[a-z]+)=\d", re.IGNORECASE), re.compile(r"(?P<name>[a-z]+)=\d", re.IGNORECASE)
    text = "x=1 LR=2 seed=x"
    assert late.sub("_", text) == usual.sub("_", text)
    assert late.findall(text) == usual.findall(text) == ["x", "LR"]
    assert late.fullmatch(text) is None
    assert [found["name"] for found in late.finditer(text)] == ["x", "LR"]
    assert (late.pattern, late.flags) == (usual.pattern, usual.flags)


def test_it_is_compiled_at_its_first_use_and_never_again(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    real = re.compile

    def noting(*pattern: Any) -> re.Pattern[str]:
        compiled.append(pattern)
        return real(*pattern)

    monkeypatch.setattr(re, "compile", noting)
    pattern = late_pattern("[0-9]+")
    assert compiled == []
    assert pattern.match("12")
    assert pattern.match("x") is None
    assert compiled == [("[0-9]+",)]
