"""A command of plain words starts its program at once, and does what it would do in a shell."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duckrow.core.ports import Ended
from duckrow.engines.local.program import find_program
from tests.core.language import job
from tests.engines.harness import HARNESSES, Harness, Life

SHOW = '#!/bin/sh\nprintf \'%s\\n\' "$0" "$@" "$PWD"\n'


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Harness]:
    harness = HARNESSES["local"](tmp_path)
    yield harness
    harness.close()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with programs, which is on the PATH by its own name."""
    work = tmp_path / "project"
    (work / "bin" / "folder").mkdir(parents=True)
    programs = {"show": SHOW, "bare": "printf 'bare %s\\n' \"$@\"\n", "lost": "#!/no/such/shell\n"}
    for name, text in programs.items():
        for place in (work, work / "bin"):
            (place / name).write_text(text)
            (place / name).chmod(0o755)
    (work / "letter").write_text(SHOW)  # which nobody may execute
    return work


def results(local: Harness, commands: list[str], cwd: Path, shell: str = "/bin/sh", **variables: str) -> list[Any]:
    """Exit code and output of each, run as an attempt."""

    def body(life: Life) -> list[Any]:
        os.environ.update(variables)
        orders = [life.order("prints") for _ in commands]
        for order, command in zip(orders, commands, strict=True):
            order.attempt.job = job(id=order.attempt.job.id, command=command, cwd=str(cwd), shell=shell)
        life.engine.start(orders)
        ends = [life.wait_for(Ended, order.attempt) for order in orders]
        return [(end.exit_code, Path(order.attempt.log).read_text()) for end, order in zip(ends, orders, strict=True)]

    found: list[Any] = local.life(body)
    return found


def by_shell(command: str, cwd: Path, shell: str = "/bin/sh", **variables: str) -> Any:
    done = subprocess.run(
        [shell, "-c", command],
        cwd=cwd,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


COMMANDS = [
    "show a  b=1\tc:2 ,x @y %z +w -- -v",
    "./show x",
    "../project/show x",
    "bin/show x",
    "bare x y",  # a script without `#!`
    "./bare x y",
    "lost x",  # its interpreter is not there
    "nosuchprogram x",
    "./nosuchprogram",
    "./letter x",
    "./bin",
    "folder",
    "true",
    "false",
    "echo -n x",
    "A=1 show x",
]


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_it_does_what_the_shell_would_do(local: Harness, work: Path, shell: str) -> None:
    path = f"{work}/bin:{os.environ['PATH']}"
    expected = [by_shell(command, work, shell, PATH=path) for command in COMMANDS]
    assert results(local, COMMANDS, work, shell, PATH=path) == expected


def test_the_shell_is_not_started_for_it(local: Harness, work: Path) -> None:
    shell = work / "sh"
    shell.write_text('#!/bin/sh\necho "a shell"\nexec /bin/sh "$@"\n')
    shell.chmod(0o755)
    plain, piped = results(local, ["./show x", "./show x | cat"], work, str(shell))
    assert plain == (0, f"./show\nx\n{work}\n")
    assert piped == (0, f"a shell\n./show\nx\n{work}\n")


@pytest.mark.parametrize("said", ["{link}", "/nowhere", "/", "project", ""])
def test_the_variable_pwd_is_as_the_shell_sets_it(local: Harness, work: Path, said: str) -> None:
    link = work.parent / "link"
    link.symlink_to(work)
    said = said.format(link=link)
    assert results(local, ["printenv PWD"], work, PWD=said) == [by_shell("printenv PWD", work, PWD=said)]


def test_a_place_on_the_path_that_depends_on_the_folder_is_left_to_the_shell(work: Path) -> None:
    assert find_program("show", str(work), b"/nowhere:%s/bin" % os.fsencode(work)) == b"%s/bin/show" % os.fsencode(work)
    assert find_program("show", str(work), b"bin:%s/bin" % os.fsencode(work)) is None
    assert find_program("show", str(work), b":%s/bin" % os.fsencode(work)) is None
    assert find_program("show", str(work), None) is None


def test_a_program_that_the_job_before_installs_is_found(local: Harness, work: Path) -> None:
    def body(life: Life) -> str:
        os.environ["PATH"] = f"{work}/early:{work}/bin:{os.environ['PATH']}"
        first = life.begin("runs")
        second = life.order("prints", follows=first)
        second.attempt.job = job(id=second.attempt.job.id, command="show x", cwd=str(work))
        life.engine.line_up(second)
        (work / "early").mkdir()
        (work / "early" / "show").write_text("#!/bin/sh\necho the new one\n")
        (work / "early" / "show").chmod(0o755)
        life.engine.stop(first, 2)
        life.wait_for(Ended, second.attempt)
        return Path(second.attempt.log).read_text()

    assert local.life(body) == "the new one\n"
