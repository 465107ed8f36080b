"""Commands over several lines, as a shell reads them."""

from __future__ import annotations

import pytest

from duckrow.core.jobs.commands import CommandReader

IF = "if test -e x; then\n  echo yes  # fi\n\nelse\n  echo no\nfi"
FOR = "for i in 1 2\ndo\n  if true; then echo $i; fi\ndone > out"
CASE = "case $x in\n  a) echo a;;\n  *) echo if;;\nesac"
NESTED = "while read line; do\nuntil false\ndo\nbreak\ndone\ndone"
FUNCTION = "work() {\necho $1\n}; work 1"
PIPE = "make |\n  tee log &&\n  echo done"


def jobs_of(text: str) -> list[str]:
    reader = CommandReader(blocks=True)
    return [*reader.feed(text), *reader.finish()]


@pytest.mark.parametrize("block", [IF, FOR, CASE, NESTED, FUNCTION, PIPE])
def test_a_block_is_one_job_and_what_is_around_it_others(block: str) -> None:
    assert jobs_of(f"echo before\n{block}\n# between\necho after\n{block}\n") == [
        "echo before",
        block,
        "echo after",
        block,
    ]


@pytest.mark.parametrize(
    "line",
    [
        "for i in 1 2; do echo $i; done",
        "if true; then echo a; fi; echo b",
        "case a in a) echo;; esac",
        "echo if; echo for while '{' \"case",
        "python if.py {a,b} ${x} --if for",
        "git commit -m 'if it works'",
        "echo it's",
        "echo \\if",
        "(cd x; make) & wait",
        "done",
        "fi",
        "X=if true",
        "echo # if",
    ],
)
def test_a_line_that_is_whole_is_a_job_by_itself(line: str) -> None:
    assert jobs_of(f"{line}\necho next\n") == [line, "echo next"]


def test_a_block_that_does_not_end_is_handed_over_with_the_end_of_the_input() -> None:
    assert jobs_of("echo a\nif true; then\necho b\n") == ["echo a", "if true; then\necho b"]


def test_without_blocks_each_line_is_a_job() -> None:
    assert CommandReader().feed("for i in 1 2\ndo\n") == ["for i in 1 2", "do"]
