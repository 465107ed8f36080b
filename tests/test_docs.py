"""The documentation says what is so: help texts, states, fields, exit codes, links, commands, and what they do.

`python -m tests.test_docs --write` writes the generated blocks again.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from click.testing import CliRunner

from duckrow import __version__
from duckrow.api.queue.views import JobView
from duckrow.api.sweeps.files import _KEYS as _SWEEP_KEYS
from duckrow.cli.commands.dropin import TOOLS
from duckrow.cli.group import cli
from duckrow.cli.options.json_jobs import KEYS as JOB_KEYS
from duckrow.cli.verbs import VERBS
from duckrow.core import errors
from duckrow.core.life.states import TRANSITIONS, Outcome, State
from duckrow.core.settings import SECTIONS, SETTINGS
from duckrow.scheduler.life.job_environment import extra_environment, launcher_environment
from tests.conftest import Duckrow
from tests.core.language import attempt, job
from tests.house import house_block, rooms_block

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
WRITE = f"Run: {Path(sys.executable).name} -m tests.test_docs --write"
HELP_WIDTH = 100

_BLOCK = re.compile(r"(<!-- (help: \w+|settings: \w+|transitions|rooms|house) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


# -- what is generated ----------------------------------------------------------------------------------------------


def help_block(verb: str) -> str:
    words = [] if verb == "duckrow" else [verb]
    shown = CliRunner().invoke(cli, [*words, "--help-all"], prog_name="duckrow", env={"COLUMNS": str(HELP_WIDTH)})
    assert shown.exit_code == 0, shown.output
    return f"```text\n{shown.output.rstrip()}\n```\n"


def transitions_block() -> str:
    """The table of states, in the order of the code."""
    rows = [f"| {before} | {after} | {cause} |" for (before, after), cause in TRANSITIONS.items()]
    return "\n".join(["| from | to | because |", "| --- | --- | --- |", *rows]) + "\n"


def settings_block(section: str) -> str:
    """The settings of a section, in the words of `duckrow config`."""
    found = [setting for setting in SETTINGS if setting.section == section]
    rows = [f"| `{each.key}` | {each.kind} | {_as_written(each.default)} | {each.help} |" for each in found]
    return "\n".join(["| key | what | default | |", "| --- | --- | --- | --- |", *rows]) + "\n"


def _as_written(default: object) -> str:
    return "" if default is None else f"`{json.dumps(default)}`"


def render(marker: str) -> str:
    drawn = {"transitions": transitions_block, "rooms": rooms_block, "house": house_block}
    kind, _, name = marker.partition(": ")
    return drawn[kind]() if kind in drawn else {"help": help_block, "settings": settings_block}[kind](name)


def regenerated(text: str) -> str:
    """The page with each generated block as it should be."""
    return _BLOCK.sub(lambda found: found[1] + render(found[2]) + found[4], text)


def blocks_of(page: Path) -> list[str]:
    return [found[2] for found in _BLOCK.finditer(page.read_text())]


@pytest.mark.parametrize("page", ["cli.md", "architecture.md", "settings.md"])
def test_generated_blocks_are_up_to_date(page: str) -> None:
    text = (DOCS / page).read_text()
    assert text == regenerated(text), f"{page} is out of date. {WRITE}"


def test_every_section_of_the_settings_has_its_table() -> None:
    assert blocks_of(DOCS / "settings.md") == [f"settings: {section}" for section in SECTIONS]


def test_every_verb_is_documented_with_its_help() -> None:
    documented = {marker.removeprefix("help: ") for marker in blocks_of(DOCS / "cli.md")}
    assert documented == {"duckrow", *VERBS}
    headings = set(re.findall(r"^## (\w+)$", (DOCS / "cli.md").read_text(), re.MULTILINE))
    assert set(VERBS) <= headings


def test_the_table_of_states_is_on_the_architecture_page() -> None:
    assert "transitions" in blocks_of(DOCS / "architecture.md")
    assert transitions_block() in (DOCS / "architecture.md").read_text()


# -- what must be named ---------------------------------------------------------------------------------------------


def rows_of(text: str, heading: str) -> set[str]:
    """The names in the first column of the tables under a heading."""
    section = text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


def test_every_field_of_a_job_is_explained() -> None:
    documented = rows_of((DOCS / "json.md").read_text(), "A job")
    assert documented == {field.name for field in dataclasses.fields(JobView)}


def test_every_field_that_is_printed_is_explained(duckrow: Duckrow) -> None:
    text = (DOCS / "json.md").read_text()
    try:
        duckrow("up", "--slots", "1")
        submitted = json.loads(duckrow("submit", "--json", "--", "sleep 600").stdout)
        duckrow.wait_for(1, "running")
        devices = json.loads(duckrow("gpus", "--json").stdout)
        story = json.loads(duckrow("show", "last", "--json").stdout)[0]
        duckrow("submit", "--after", "1", "--", "true")
        after = json.loads(duckrow("show", "2", "--json").stdout)[0]["after"]
        reasons = json.loads(duckrow("why", "last", "--json").stdout)
        duckrow("limit", "thesis", "--max-running", "2")
        limits = json.loads(duckrow("limit", "--json").stdout)
    finally:
        duckrow("down", "--kill")
    assert set(submitted[0]) == rows_of(text, "A submission")
    assert set(reasons[0]) == rows_of(text, "A reason")
    assert set(limits[0]) == rows_of(text, "A limit")
    assert set(devices[0]) | set(devices[0]["jobs"][0]) == rows_of(text, "A device")
    told = set(after[0]) | set(story["attempts_made"][0]) | set(story["events"][0])
    assert told == rows_of(text, "The story of a job")
    assert set(story) == rows_of(text, "A job") | {"after", "attempts_made", "events", "metrics", "needs", "pace"}


def test_every_field_of_a_sweep_and_of_an_event_is_explained(duckrow: Duckrow) -> None:
    text = (DOCS / "json.md").read_text()
    try:
        points = json.loads(duckrow("sweep", "echo {x}", "-p", "x", "1", "2", "--json").stdout)
        duckrow("up", "--slots", "1")
        queued = json.loads(duckrow("sweep", "echo {x}", "-p", "x", "1", "2", "--submit", "--json").stdout)
    finally:
        duckrow("down", "--kill")
    duckrow("run", "--slots", "1", "--events", "events.jsonl", stdin="true\n")
    starting, ended = map(json.loads, (duckrow.work / "events.jsonl").read_text().splitlines())
    assert set(points[0]) == rows_of(text, "A point")
    assert set(queued) == rows_of(text, "A queued sweep")
    assert set(starting) < set(ended)
    assert set(ended) == rows_of(text, "An event")


def test_every_key_of_a_job_in_json_is_explained() -> None:
    section = (DOCS / "run.md").read_text().split("\n### Lines of JSON\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [*JOB_KEYS]


def test_every_key_of_a_sweep_file_is_explained() -> None:
    section = (DOCS / "sweeps.md").read_text().split("\n## Files\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.+?) \| ", section, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == {*_SWEEP_KEYS}


def test_every_exit_code_is_explained() -> None:
    codes = {value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    assert len(codes) > 4
    section = (DOCS / "cli.md").read_text().split("\n## Exit codes\n")[1].split("\n## ")[0]
    assert codes <= {int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)}


def test_every_variable_of_a_job_is_explained() -> None:
    documented = rows_of((DOCS / "cli.md").read_text(), "The variables of a job")
    of_array = attempt(job(array_id=7, array_index=3), holds=(("0", 1), ("1", 1)))
    variables = {**extra_environment(of_array, "/folder"), **launcher_environment(of_array, lambda: 7)}
    assert documented == {name.decode() for name in variables}


def test_variables_that_only_arrays_have_are_marked() -> None:
    plain, of_array = (extra_environment(attempt(of), "/folder") for of in (job(), job(array_id=7, array_index=3)))
    marked = re.findall(r"^\| `(\w+)` \|.*; arrays only \|$", (DOCS / "cli.md").read_text(), re.MULTILINE)
    assert sorted(marked) == sorted(name.decode() for name in set(of_array) - set(plain))


@pytest.mark.parametrize("page", ["jobs.md", "architecture.md"])
def test_every_state_and_outcome_is_explained(page: str) -> None:
    text = (DOCS / page).read_text()
    assert not [state for state in State if f"`{state}`" not in text]
    table = text.split("\n| outcome |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `([\w-]+)` \| \w.* \|$", table, re.MULTILINE) == [*Outcome]


_STATE = rf"`?({'|'.join(State)})`?"
# In a diagram (`queued --> starting: why`), in prose (queued → starting) or in a table (| queued | starting |).
_MOVE = re.compile(rf"(?<![\w-]){_STATE}\s*(?:-+>|→|\|)\s*{_STATE}(?![\w-])")


def moves_in(text: str) -> set[tuple[State, State]]:
    return {(State(before), State(after)) for before, after in _MOVE.findall(text)}


def test_all_moves_are_drawn_and_none_is_invented() -> None:
    assert moves_in((DOCS / "architecture.md").read_text()) == set(TRANSITIONS)
    for page in PAGES:
        assert moves_in(page.read_text()) <= set(TRANSITIONS), page


@pytest.mark.parametrize("pattern", ["    {} --> {}: because", "{} -> {}", "`{}` → `{}`", "| {} | {} | because |"])
def test_a_move_would_be_found_however_it_is_drawn(pattern: str) -> None:
    moves = [*TRANSITIONS, (State.QUEUED, State.RUNNING)]
    assert moves_in("\n".join(pattern.format(*move) for move in moves)) == set(moves)


def test_the_readme_fits_a_screen_and_a_half() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 130
    first, *others = re.findall(r"^\| (?!you used|---)(.+) \|$", text.split("\n## Coming from\n")[1], re.MULTILINE)
    assert first.startswith("`for ")
    assert len(others) <= 5, "docs/coming-from.md has the rest"


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "README.md").read_text()
    index += (DOCS / "coming-from.md").read_text()  # which lists the pages of the older tools
    assert not [page.name for page in DOCS.glob("*.md") if page.stem != "README" and f"({page.name}" not in index]


def test_every_state_and_outcome_is_in_the_glossary() -> None:
    text = (DOCS / "glossary.md").read_text()
    assert not [word for word in (*State, *Outcome) if f"`{word}`" not in text]


def test_the_changelog_knows_this_version() -> None:
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text()


# -- links ----------------------------------------------------------------------------------------------------------


def anchors_of(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(page: Path) -> Iterator[str]:
    for target in re.findall(r"\]\(([^)\s]+)\)", _FENCE.sub("", page.read_text())):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        aim = (page.parent / path).resolve() if path else page
        if not aim.exists() or (anchor and anchor not in anchors_of(aim)):
            yield f"{page.relative_to(ROOT)}: {target}"


def test_every_link_leads_somewhere() -> None:
    assert not [link for page in PAGES for link in dead_links(page)]


# -- commands -------------------------------------------------------------------------------------------------------


class Mention(NamedTuple):
    """A `duckrow ...` that a page tells people to type."""

    where: str
    verb: str
    options: tuple[str, ...]


def shell_lines(text: str) -> Iterator[str]:
    """The commands of code blocks: all lines of sh, the lines with a prompt of console, what is in inline code."""
    for language, body in _FENCE.findall(text):
        lines = body.replace("\\\n", " ").split("\n")
        if language == "sh":
            yield from lines
        elif language == "console":
            yield from [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    for inline in re.findall(r"`([^`\n]+)`", _FENCE.sub("", text)):
        if inline.startswith(("duckrow ", "#DUCKROW ")) or "| duckrow " in inline:
            yield inline


_QUOTED = re.compile(r"'[^']*'")  # a command for a job: what looks like an option in it is not ours


def mentions_in(where: str, line: str) -> Iterator[Mention]:
    if line.startswith("#DUCKROW "):
        line = f"duckrow submit {line.removeprefix('#DUCKROW ')}"
    for part in re.split(r"\|\||&&|[|;()]", _QUOTED.sub("TEXT", re.split(r"(^|\s)#", line)[0])):
        words = part.split()
        if "duckrow" not in words:
            continue
        words = words[words.index("duckrow") + 1 :]
        words = words[: words.index("--")] if "--" in words else words
        options = tuple(word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-zA-Z]", word))
        yield Mention(where, words[0] if words else "", options)


def complaint(mention: Mention) -> str | None:
    if mention.verb.startswith("-") or mention.verb in ("VERB", "help"):
        return None
    if mention.verb not in VERBS:
        return f"{mention.where}: there is no verb '{mention.verb}'"
    command: click.Command = importlib.import_module(f"duckrow.cli.commands.{mention.verb}").command
    known = {"--help", "-h", "--help-all"}.union(
        *(set(param.opts) | set(param.secondary_opts) for param in command.params)
    )
    if mention.verb == "dropin":
        known |= options_of_older_tools()
    unknown = [option for option in mention.options if option not in known]
    return f"{mention.where}: duckrow {mention.verb} has no {', '.join(unknown)}" if unknown else None


@functools.cache
def options_of_older_tools() -> set[str]:
    helps = [
        subprocess.run([sys.executable, "-m", f"duckrow.dropin.{tool}", "--help"], capture_output=True, text=True)
        for tool in TOOLS
    ]
    return set(re.findall(r"--?[a-z][\w-]*", "".join(told.stdout for told in helps)))


def test_every_command_that_is_mentioned_exists() -> None:
    mentions = [
        mention
        for page in PAGES
        for line in shell_lines(page.read_text())
        for mention in mentions_in(str(page.relative_to(ROOT)), line)
    ]
    assert len(mentions) > 50
    assert not [sentence for mention in mentions if (sentence := complaint(mention))]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_every_make_target_that_is_mentioned_exists(page: str) -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    mentioned = set(re.findall(r"(?:^|`)make (\w+)", (ROOT / page).read_text(), re.MULTILINE))
    assert mentioned
    assert mentioned <= targets


def test_a_command_that_does_not_exist_would_be_found() -> None:
    text = "```sh\nfoo | duckrow runn x\nduckrow run --gpu 0 -- x --y  # --z\n```\nand `duckrow ls --jsn`."
    found = [complaint(mention) for line in shell_lines(text) for mention in mentions_in("page", line)]
    assert found == ["page: there is no verb 'runn'", "page: duckrow run has no --gpu", "page: duckrow ls has no --jsn"]


def test_options_within_the_command_of_a_job_and_of_an_older_tool_are_told_apart() -> None:
    text = "```sh\nduckrow sweep 'x --y' -p y 1 --rum\nduckrow dropin simple_gpu_scheduler --gpus 0 --gpu\n```\n"
    found = [complaint(mention) for line in shell_lines(text) for mention in mentions_in("page", line)]
    assert found == ["page: duckrow sweep has no --rum", "page: duckrow dropin has no --gpu"]


# -- what is shown really runs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        "run --devices 0,1 examples/commands.txt",
        "run --slots 2 --delimiter %% examples/blocks.txt",
    ],
)
def test_an_example_runs_as_its_first_lines_say(duckrow: Duckrow, words: str) -> None:
    file = ROOT / shlex.split(words)[-1]
    assert f"#   duckrow {words}" in file.read_text()
    done = subprocess.run(
        duckrow.command(*shlex.split(words)), cwd=ROOT, env=duckrow.env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_checkpoint_example_goes_on_where_it_stopped(duckrow: Duckrow) -> None:
    script = ROOT / "examples/checkpoint.sh"
    shown = next(body for _, body in _FENCE.findall((DOCS / "jobs.md").read_text()) if "USR2@2m" in body)
    assert shown.split("\n")[:2] == script.read_text().split("\n")[:2]
    env = {"STEPS": "15", "STEP_S": "0.1"}
    try:
        duckrow("submit", "--timeout", "2s", "--signal", "USR2@1s", str(script), env=env)
        duckrow("wait", "last")
        *stopped, last = [attempt["exit_code"] for attempt in duckrow.job(1)["attempts_made"]]
        assert (set(stopped), last) == ({75}, 0)  # how often depends on how quick the machine is
        assert duckrow("logs", "last").stdout == "all 15 steps done\n"
    finally:
        duckrow("down", "--kill")


def write() -> None:
    for page in PAGES:
        text = page.read_text()
        if text != regenerated(text):
            page.write_text(regenerated(text))
            print(f"{page.relative_to(ROOT)} was rewritten.")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("Usage: python -m tests.test_docs --write")
    write()
