"""Texts with many jobs in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.jobs.job import check_name
from duckrow.core.jobs.job_lines import Entry, read_batch, tidy_name


def test_a_command_stands_on_each_line() -> None:
    assert read_batch("# none\n\npython a.py\npython b.py \\\n  --long\n") == [
        Entry("python a.py"),
        Entry("python b.py \\\n  --long"),
    ]


def test_the_form_of_gpupeasy_has_a_name_a_file_and_a_command() -> None:
    text = "one;;/tmp/1.txt;;python a.py;;;\n two ;; 2.txt ;; echo 'a;b' ;;;\n"
    assert read_batch(text) == [
        Entry("python a.py", "one", "/tmp/1.txt", is_program=True),
        Entry("echo 'a;b'", "two", "2.txt", is_program=True),
    ]
    assert read_batch("one;;1.txt;;ls") == [Entry("ls", "one", "1.txt", is_program=True)]  # the last needs no end


@pytest.mark.parametrize(
    "text", ["a;;b;;;", "a;;b;;c;;d;;;", ";;b;;c;;;", "a;;;;c;;;", "only;;two", "only;;", "ls\na;;b", "echo it's;;"]
)
def test_what_lacks_a_part_is_told(text: str) -> None:
    assert any(entry.problem for entry in read_batch(text))


@pytest.mark.parametrize("text", ["case $x in a) b;; esac", "echo 'a;;b'", 'echo ";;"', "echo a; echo b", "echo \\;;"])
def test_the_semicolons_of_a_shell_are_none_of_that_form(text: str) -> None:
    assert read_batch(text) == [Entry(text)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("first job!", "first-job"),
        ("../../my run (1)", "my-run-1"),
        ("Größe", "Gr-e"),
        ("日本語", ""),  # it is named after its command, as one without a name
        ("..", ""),
        ("12", "job-12"),
        ("last", "job-last"),
    ],
)
def test_the_name_nearest_to_a_text(text: str, name: str) -> None:
    assert tidy_name(text) == name


@given(st.text())
def test_every_text_has_a_name_near_it_that_a_job_can_have_or_none(text: str) -> None:
    if name := tidy_name(text):
        check_name("name", name)


@given(st.text())
def test_every_text_can_be_read(text: str) -> None:
    for entry in read_batch(text):
        assert entry.command.strip() or entry.problem
