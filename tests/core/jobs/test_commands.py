"""How text becomes commands."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duckrow.core.errors import UsageError
from duckrow.core.jobs.command_list import CommandList
from duckrow.core.jobs.commands import (
    ONE_PER_LINE,
    CommandReader,
    ListForm,
    has_code,
    read_commands,
    script_options,
)


def read(text: str, delimiter: str | None = None) -> list[str]:
    reader = CommandReader(delimiter)
    return [*reader.feed(text), *reader.finish()]


def test_each_line_is_a_command() -> None:
    assert read("echo a\necho b\n") == ["echo a", "echo b"]


def test_the_last_line_needs_no_newline() -> None:
    assert read("echo a\necho b") == ["echo a", "echo b"]


def test_blank_lines_and_comments_are_no_commands() -> None:
    assert read("\n# a list\n   \n  # indented\necho a\n\t\n#\n") == ["echo a"]


def test_a_hash_within_a_line_is_part_of_the_command() -> None:
    assert read("echo a # b\n") == ["echo a # b"]


def test_white_space_is_kept_in_front_and_stripped_behind() -> None:
    assert read("  echo a \t \n") == ["  echo a"]


def test_a_line_that_ends_in_a_backslash_continues() -> None:
    assert read("python train.py \\\n  --lr 1 \\\n  --seed 2\necho b\n") == [
        "python train.py \\\n  --lr 1 \\\n  --seed 2",
        "echo b",
    ]


def test_an_even_number_of_backslashes_does_not_continue() -> None:
    assert read("echo a\\\\\necho b\n") == ["echo a\\\\", "echo b"]
    assert read("echo a\\\\\\\necho b\n") == ["echo a\\\\\\\necho b"]


def test_a_backslash_before_a_blank_does_not_continue() -> None:
    assert len(read("echo a \\ \necho b\n")) == 2


def test_a_comment_or_blank_within_a_continued_command_belongs_to_it() -> None:
    assert read("echo a \\\n# b\necho c\n") == ["echo a \\\n# b", "echo c"]
    assert read("echo a \\\n\necho c\n") == ["echo a \\", "echo c"]


def test_a_comment_that_ends_in_a_backslash_does_not_continue() -> None:
    assert read("# a \\\necho b\n") == ["echo b"]


def test_the_end_of_the_input_completes_a_continued_command() -> None:
    assert read("echo a \\") == ["echo a \\"]
    assert read("echo a \\\n  b") == ["echo a \\\n  b"]


def test_lines_from_windows_are_read_too() -> None:
    assert read("echo a\r\n\r\n# no\r\necho b \\\r\n  c\r\necho d") == ["echo a", "echo b \\\n  c", "echo d"]


def test_a_delimiter_makes_jobs_of_several_lines() -> None:
    assert read("cd x\n\nmake # all\n---\necho b\n---\n", "---") == ["cd x\n\nmake # all", "echo b"]


def test_the_last_job_needs_no_delimiter() -> None:
    assert read("echo a\n---\necho b\necho c", "---") == ["echo a", "echo b\necho c"]


def test_a_delimiter_may_have_blanks_around_it_but_no_company() -> None:
    assert read("echo a\n --- \necho --- b\n", "---") == ["echo a", "echo --- b"]


def test_a_job_of_nothing_but_blanks_and_comments_is_left_out() -> None:
    assert read("---\n\n# nothing\n---\necho a\n---\n---\n", "---") == ["echo a"]


def test_with_a_delimiter_a_backslash_is_left_to_the_shell() -> None:
    assert read("echo a \\\n  b\n---\n", "---") == ["echo a \\\n  b"]


def test_a_command_is_given_as_soon_as_its_line_is_complete() -> None:
    reader = CommandReader()
    assert reader.feed("echo a\nec") == ["echo a"]
    assert reader.feed("ho b") == []
    assert reader.feed("\n") == ["echo b"]
    assert reader.finish() == []


def test_nothing_is_given_twice() -> None:
    reader = CommandReader()
    reader.feed("echo a")
    assert reader.finish() == ["echo a"]
    assert reader.finish() == []


PIECES = st.sampled_from(["echo a", "b", " ", "\t", "#", "\\", "\n", "\n", "\r\n", "\r", "---", "é", "\udcff"])


@given(st.lists(PIECES, max_size=30), st.lists(st.integers(0, 60), max_size=6), st.sampled_from([None, "---", "#"]))
@example(["echo a", "\r\n", "b"], [7], None)
def test_the_chunks_in_which_text_arrives_do_not_matter(
    pieces: list[str], cuts: list[int], delimiter: str | None
) -> None:
    text = "".join(pieces)
    reader = CommandReader(delimiter)
    got: list[str] = []
    begin = 0
    for cut in [*sorted(cuts), len(text)]:
        got += reader.feed(text[begin:cut])
        begin = max(begin, cut)
    assert got + reader.finish() == read(text, delimiter)


@given(st.lists(PIECES, max_size=30), st.sampled_from([None, "---"]))
def test_every_command_has_something_to_run(pieces: list[str], delimiter: str | None) -> None:
    for command in read("".join(pieces), delimiter):
        assert command.strip()
        assert command == command.rstrip()
        assert has_code(command)


@pytest.mark.parametrize(
    ("text", "has"), [("", False), ("# a\n\n  # b", False), ("# a\ntrue", True), ("true", True), (" \n\t", False)]
)
def test_code_is_what_is_neither_blank_nor_comment(text: str, has: bool) -> None:
    assert has_code(text) is has


def test_the_options_of_a_script_stand_before_its_first_command() -> None:
    script = "#!/bin/bash\n#DUCKROW --gpus 2\n# a remark\n\n#DUCKROW --name big\npython train.py\n#DUCKROW --gpus 9\n"
    assert script_options(script) == "--gpus 2\n--name big"


def test_a_word_that_only_begins_like_the_prefix_is_a_remark() -> None:
    assert script_options("#DUCKROWING is nice\n#DUCKROW --gpus 2\n") == "--gpus 2"


def test_a_script_without_options_has_none() -> None:
    assert script_options("#!/bin/sh\necho '#DUCKROW --gpus 2'\n") == ""
    assert script_options("") == ""


def test_the_options_of_a_script_from_windows_are_read_too() -> None:
    assert script_options("#!/bin/sh\r\n#DUCKROW --gpus 2\r\n\r\ntrue\r\n") == "--gpus 2"


def test_another_prefix_reads_other_options() -> None:
    assert script_options("#SBATCH --time 1\n#DUCKROW --gpus 2\n", "#SBATCH") == "--time 1"


@given(st.lists(st.text(alphabet="a #\\\r\t\x1c")).map("\n".join))
def test_a_list_is_read_as_its_lines_are_one_by_one(text: str) -> None:
    reader = CommandReader()
    lines = [command for line in text.split("\n")[:-1] if (command := reader._line(line)) is not None]
    assert CommandReader().feed(text) == lines


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_mark_with_which_some_editors_begin_a_file_is_not_part_of_a_command(mark: str) -> None:
    reader = CommandReader()
    assert reader.feed(mark) + reader.feed("echo a\necho \ufeff") + reader.finish() == ["echo a", "echo \ufeff"]


@pytest.mark.parametrize(
    ("form", "text", "lines"),
    [
        (ListForm(), "a\nb\n", [1, 2]),
        (ListForm(), "\n# one\na\n\nb \\\n  c\nd", [3, 5, 7]),
        (ListForm(), "a \\\n  b", [1]),
        (ListForm(delimiter="%%"), "a\nb\n%%\nc\n%%\n%%\nd", [1, 4, 7]),
        (ListForm(blocks=True), "a\nfor i in 1 2; do\n  b\ndone\nc\n", [1, 2, 5]),
    ],
)
def test_it_is_known_in_which_line_a_command_begins(form: ListForm, text: str, lines: list[int]) -> None:
    assert read_commands(text, form).lines == lines
    reader = CommandReader(form.delimiter, form.blocks)
    in_parts = [line for character in text for line in reader.read(character).lines]
    assert [*in_parts, *reader.read("", final=True).lines] == lines


def test_what_is_wrong_with_a_command_is_told_with_its_line() -> None:
    def refuse(command: str) -> str:
        if command == "b":
            raise UsageError("No b.")
        return command

    with pytest.raises(UsageError, match=r"^line 3: No b\.$"):
        read_commands("a\n\nb\n", ONE_PER_LINE).each(refuse)
    with pytest.raises(UsageError, match=r"^No b\.$"):  # typed
        CommandList(["b"]).each(refuse)
    assert read_commands("a\nc\n", ONE_PER_LINE).each(refuse) == ["a", "c"]
