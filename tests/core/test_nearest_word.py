"""Which word was probably meant."""

from __future__ import annotations

import pytest

from duckrow.core.nearest_word import nearest_word

WORDS = ("submit", "status", "kill", "max_gpus", "project", "lr", "logs", "retries")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("sumbit", "submit"),
        ("stats", "status"),
        ("Kill", "kill"),
        ("kil", "kill"),
        ("max-gpu", "max_gpus"),
        ("proj", "project"),
        ("lrr", "lr"),
        ("lx", "lr"),
        ("lgos", "logs"),
        ("retry", "retries"),
        ("tsatus", "status"),
        ("gpu.lr", None),
        ("elephant", None),
        ("", None),
        ("p", None),
    ],
)
def test_the_word_that_was_probably_meant(typed: str, meant: str | None) -> None:
    assert nearest_word(typed, WORDS) == meant


def test_of_no_words_none_is_near() -> None:
    assert nearest_word("kill", ()) is None
