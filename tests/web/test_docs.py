"""What docs/security.md says was tried, was."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent.parent
ATTACKS = TESTS.parent / "docs" / "security.md"


def test_every_attack_names_a_test_that_there_is() -> None:
    tests = {
        name for path in TESTS.rglob("test_*.py") for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)
    }
    rows = re.findall(r"^\| (?!they try|---)(.+) \|$", ATTACKS.read_text(), re.MULTILINE)
    assert len(rows) > 15
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row)
        assert named or row.endswith("| the same"), row
        assert set(named) <= tests, row
