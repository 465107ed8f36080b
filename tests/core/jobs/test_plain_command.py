"""Which commands need no shell."""

from __future__ import annotations

import pytest

from duckrow.core.jobs.plain_command import plain_words


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("true", ["true"]),
        ("python train.py --lr 0.1 model=gpt-2", ["python", "train.py", "--lr", "0.1", "model=gpt-2"]),
        (" \t./run.sh  a\tb ", ["./run.sh", "a", "b"]),
        (
            "/opt/x/bin/fit @args +trainer.x=1,2 50% host:80",
            ["/opt/x/bin/fit", "@args", "+trainer.x=1,2", "50%", "host:80"],
        ),
        ("env A=1 python x.py", ["env", "A=1", "python", "x.py"]),
    ],
)
def test_plain_words_need_no_shell(command: str, words: list[str]) -> None:
    assert plain_words(command, "/bin/sh", {}) == words


@pytest.mark.parametrize("sign", [*"$`\"'\\|&;<>()*?[]#~!{}^\n\r", "\x00", "\x0b", "\x85", "\xa0", "ü", "\ud83d"])
def test_what_a_shell_may_read_as_more_than_a_letter_needs_one(sign: str) -> None:
    assert plain_words(f"python a{sign}b", "/bin/sh", {}) is None
    assert plain_words(f"python {sign} b", "/bin/sh", {}) is None


@pytest.mark.parametrize(
    "command", ["", " ", "A=1 python x.py", "-x", "%1", ". file", "time python x.py", "exec python"]
)
def test_a_first_word_that_is_not_a_program_needs_a_shell(command: str) -> None:
    assert plain_words(command, "/bin/sh", {}) is None


@pytest.mark.parametrize(
    "command", ["echo -n x", "printf x", "test -e x", "kill 1", "pwd -P", "cd x", "exit 3", "if", "source x"]
)
def test_what_shells_do_themselves_is_left_to_them(command: str) -> None:
    assert plain_words(command, "/bin/sh", {}) is None


@pytest.mark.parametrize("shell", ["/bin/zsh", "/usr/bin/fish", "/bin/rbash", "/opt/my-sh", ""])
def test_a_shell_that_may_do_more_first_is_asked(shell: str) -> None:
    assert plain_words("true", shell, {}) is None


@pytest.mark.parametrize("name", [b"BASH_ENV", b"SHELLOPTS", b"BASHOPTS", b"BASH_FUNC_python%%"])
def test_a_variable_that_changes_what_the_shell_does_counts(name: bytes) -> None:
    assert plain_words("python x.py", "/bin/bash", {name}) is None


def test_a_function_of_another_name_does_not_count() -> None:
    assert plain_words("python x.py", "/bin/bash", {b"BASH_FUNC_which%%"}) == ["python", "x.py"]
