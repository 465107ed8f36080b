"""Texts with many jobs in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.batch import Entry, read_batch, tidy_name
from duckrow.core.job import check_name


def test_a_command_stands_on_each_line() -> None:
    assert read_batch("# none\n\npython a.py\npython b.py \\\n  --long\n") == [
        Entry("python a.py"),
        Entry("python b.py \\\n  --long"),
    ]


def test_the_form_of_gpupeasy_has_a_name_a_file_and_a_command() -> None:
    text = "one;;/tmp/1.txt;;python a.py;;;\n two ;; 2.txt ;; echo 'a;b' ;;;\n"
    assert read_batch(text) == [Entry("python a.py", "one", "/tmp/1.txt"), Entry("echo 'a;b'", "two", "2.txt")]


@pytest.mark.parametrize("text", ["a;;b;;;", "a;;b;;c;;d;;;", ";;b;;c;;;", "a;;;;c;;;"])
def test_what_lacks_a_part_is_told(text: str) -> None:
    assert any(entry.problem for entry in read_batch(text))


@given(st.text())
def test_every_text_has_a_name_near_it_that_a_job_can_have(text: str) -> None:
    check_name("name", tidy_name(text))


@given(st.text())
def test_every_text_can_be_read(text: str) -> None:
    for entry in read_batch(text):
        assert entry.command.strip() or entry.problem
