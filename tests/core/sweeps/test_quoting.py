"""Quoting: what a program receives when real shells run a command that values were put into."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from duckrow.core.errors import UsageError
from duckrow.core.sweeps.template import render
from tests.conftest import DEADLINE_S

NASTY = """a b|it's|say "hi"|$HOME|`id`|$(id)|two\nlines|; rm -rf x|*|ü日本|-n|\\|a\\|\\n|!x|#c|a'b"c`d$e\\f|~|{a,b}"""
VALUES = ["0.1", "", "a,b", "1..3", "=x", "|&", "\t ", "\\'", '\\"', "\\`", "\\\\$x", "<>()[]?", *NASTY.split("|")]

# A place in a command, and what a program receives there of a value X.
PLACES = {
    "{x}": "X",
    "--a={x}": "--a=X",
    "pre{x}post": "preXpost",
    "{x}{x}": "XX",
    "{x}#b": "X#b",
    "{{{x}}}": "{X}",
    "'{x}'": "X",
    "'a {x} b'": "a X b",
    '"{x}"': "X",
    '"a {x}\'s b"': "a X's b",
    "'{\"a\": {x}}'": '{"a": X}',
    '"{\\"a\\": {x}}"': '{"a": X}',
    "\\\"{x}\\'": "\"X'",
    '"\\"{x}\\""': '"X"',
    "\\{x}": "X",
    '"\\{x}"': "\\X",
    "'\\{x}'": "\\X",
    "\\\\{x}": "\\X",
    "$V{x}": "vX",
    "$V\\{x}": "vX",
    '"$V{x}{x}"': "vXX",
    '"${V}{x}" # it\'s {x}': "vX",
    "${V:-d}{x}": "vX",
    '"$((1+1)){x}"': "2X",
    "\"$(printf '%s.' {x})\"": "X.",
    '"$(printf "%s." "{x}")"': "X.",
    '"$(printf "%s." \'{x}\')"': "X.",
    '"$( (printf "%s." {x}) )"{x}': "X.X",
    '"$(printf "%s." "$(printf "%s." {x})")"': "X..",
    "\"`printf '%s.' {x}`\"": "X.",
    "\"`printf '%s.' '{x}'`\"": "X.",
    '"$(printf "%s." "$V"`true "{x}"`{x})"': "vX.",
}


def received(shell: str, commands: list[str]) -> list[list[str]]:
    """The arguments that each of the commands passes to its program."""
    script = "\n".join(["V=v", 'got() { printf \'%s\\0\' "$#" "$@"; }', *(f"got {each}" for each in commands)])
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    run = subprocess.run([shell, "-c", script], capture_output=True, timeout=DEADLINE_S, check=True, env=environment)
    assert run.stderr == b""
    words = iter(run.stdout.decode().split("\0")[:-1])
    return [[next(words) for _ in range(int(number))] for number in words]


@pytest.mark.parametrize("shell", ["/bin/sh", "bash"])
def test_a_program_receives_every_value_as_one_word_at_every_place(shell: str) -> None:
    cases = [(place, value) for place in PLACES for value in VALUES]
    answers = received(shell, [render(place, {"x": value}) for place, value in cases])
    assert len(answers) == len(cases) > 900
    for (place, value), arguments in zip(cases, answers, strict=True):
        assert arguments == [PLACES[place].replace("X", value)], f"{value!r} at {place}"


def test_a_value_that_needs_no_quotes_has_none() -> None:
    assert render("a --lr={x} '{x}' \"{x}\" {x}.txt", {"x": "0.1"}) == "a --lr=0.1 '0.1' \"0.1\" 0.1.txt"
    assert render("a --x={x}", {"x": "a b"}) == "a --x='a b'"


def test_a_value_that_zsh_would_take_for_the_path_of_a_program_is_quoted() -> None:
    assert render("{x} {y}", {"x": "=ls", "y": "a=b"}) == "'=ls' a=b"


@pytest.mark.parametrize(
    "before", ["kill $$'\\'", "echo $'a'", "echo $#", "echo $((1 << 2))", "cat <<< a", "cat <<<'a'"]
)
def test_what_is_read_past_does_not_matter(before: str) -> None:
    assert render(before + " {x}", {"x": "a b"}) == before + " 'a b'"


def test_unquoted_the_text_is_put_in_as_it_is() -> None:
    assert render("echo '{x}' {x}", {"x": "it's $HOME"}, quoted=False) == "echo 'it's $HOME' it's $HOME"


def test_a_comment_cannot_be_left_by_a_value() -> None:
    assert render("true # {x}\necho {x}", {"x": "a\nrm it's"}) == "true # a_rm_it_s\necho 'a\nrm it'\\''s'"


HARD_PLACES = [
    "cat <<EOF\n{x}\nEOF",
    "cat <<'EOF'\n# {x}\nEOF",
    "echo ${V:-{x}}",
    'echo "${V:-{x}}"',
    "echo $(({x} + 1))",
    "(({x} + 1))",
    "echo $'{x}'",
    "echo $'it\\'s' {x}",
    "echo `echo \\`echo {x}\\``",
    'echo "`echo "{x}"`"',
    "echo `true # {x}`",
    'echo "$(case a in a) echo {x};; esac)"',
    "echo $(true)#{x}",
    "echo `echo \\`echo a\\`` {x}",
]


@pytest.mark.parametrize("pattern", HARD_PLACES)
def test_where_quoting_is_in_doubt_only_a_harmless_value_is_put(pattern: str) -> None:
    assert render(pattern, {"x": "0.1"}) == pattern.replace("{x}", "0.1")
    for value in ("a b", "$(id)", "", "'"):
        with pytest.raises(UsageError, match=r"^The value '.*' of x cannot be quoted at its place"):
            render(pattern, {"x": value})


def test_before_a_doubtful_place_all_values_are_quoted() -> None:
    pattern = "X={x} cat <<EOF\nit's $X\nEOF"
    assert render(pattern, {"x": "a b"}) == pattern.replace("{x}", "'a b'")
    assert render('{x} "${V:-{y}}"', {"x": "a b", "y": "c"}) == "'a b' \"${V:-c}\""


@pytest.mark.parametrize(
    ("pattern", "mark"), [("echo it's {x}", "'"), ('echo "{x}', '"'), ("echo $(echo {x}", "("), ("echo `echo {x}", "`")]
)
def test_a_quote_that_is_never_closed_is_told(pattern: str, mark: str) -> None:
    with pytest.raises(UsageError) as raised:
        render(pattern, {"x": "a b"})
    assert str(raised.value) == (
        f"The value 'a b' of x cannot be quoted: the command opens a {mark} and does not close it. Close it, or put a"
        " backslash before it."
    )
    assert render(pattern, {"x": "0.1"}) == pattern.replace("{x}", "0.1")


def in_double_quotes(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Words that a shell takes as one, made of others."""
    return st.one_of(
        inner.map("\"$(printf '%s.' {})\"".format),
        inner.map("\"a $(true 'it'\\''s'; printf \\%s. {}) b\"".format),
        st.lists(inner, min_size=2, max_size=4).map("".join),
    )


ATOMS = [
    "{x}",
    '"{x}"',
    "'{x}'",
    "a",
    "\\'",
    '\\"',
    "\\\\",
    "$V",
    '"$V"',
    "${V}",
    "'\"'",
    '"\'"',
    "\\`",
    '"\\`"',
    "{",
    "}",
]
QUOTED = ["\"`printf '%s.' {x}`\"", '"a{x}$V{x}"', "' {x}\"{x}'", '"$(:)"', "\\$", "'$('", '"\\$(" ', "$((1+1))", "\\#"]
WORDS = st.recursive(st.sampled_from(ATOMS + [word.strip() for word in QUOTED]), in_double_quotes, max_leaves=8)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(WORDS, min_size=10, max_size=10),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6),
)
def test_a_value_goes_wherever_a_harmless_word_goes(patterns: list[str], value: str) -> None:
    kept = [pattern for pattern in patterns if "{x}" in pattern]
    assume(kept)
    for shell in ("/bin/sh", "bash"):
        harmless = received(shell, [render(pattern, {"x": "WORD"}) for pattern in kept])
        nasty = received(shell, [render(pattern, {"x": value}) for pattern in kept])
        assert nasty == [[word.replace("WORD", value) for word in words] for words in harmless]
