"""Commands that arrive bit by bit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.core.jobs.commands import CommandReader
from duckrow.engines.dry.clock import HandClock
from duckrow.engines.dry.reactor import HandReactor
from duckrow.scheduler.hosts.command_source import CommandSource


class Piped:
    def __init__(self) -> None:
        self.fd, self.end = os.pipe()
        self.taken: list[str] = []
        self.reactor = HandReactor(HandClock())
        self.source = CommandSource(
            self.fd, CommandReader(None, False), lambda given: self.taken.extend(given.commands)
        )
        self.source.attach(self.reactor)

    def write(self, data: bytes) -> list[str]:
        """What was taken of it."""
        os.write(self.end, data)
        self.reactor.wait(0)
        taken, self.taken[:] = [*self.taken], []
        return taken

    def close(self) -> None:
        os.close(self.end)
        self.end = -1
        self.reactor.wait(0)


@pytest.fixture
def piped() -> Iterator[Piped]:
    pipe = Piped()
    yield pipe
    pipe.reactor.close()
    for fd in (pipe.fd, pipe.end):
        if fd >= 0:
            os.close(fd)


def test_a_line_is_taken_when_it_is_complete(piped: Piped) -> None:
    assert piped.write(b"echo a\necho ") == ["echo a"]
    assert piped.write(b"b\n") == ["echo b"]


def test_a_character_may_arrive_in_two_parts(piped: Piped) -> None:
    data = "echo é\n".encode()
    assert piped.write(data[:6]) == []
    assert piped.write(data[6:]) == ["echo é"]


def test_a_last_line_without_a_newline_counts(piped: Piped) -> None:
    assert piped.write(b"echo a") == []
    piped.close()
    assert (piped.taken, piped.source.ended, piped.source.is_whole) == (["echo a"], True, True)


def test_who_reads_no_more_takes_nothing_more(piped: Piped) -> None:
    piped.source.stop()
    assert piped.write(b"echo a\n") == []
    assert (piped.source.ended, piped.source.is_whole) == (True, False)


def test_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    commands = [f"echo {number}" for number in range(20_000)]
    (tmp_path / "list").write_text("\n".join(commands))
    taken: list[str] = []
    reactor = HandReactor(HandClock())
    fd = os.open(tmp_path / "list", os.O_RDONLY)
    source = CommandSource(fd, CommandReader(None, False), lambda given: taken.extend(given.commands))
    source.attach(reactor)
    while not source.ended:
        reactor.wait(0)
    os.close(fd)
    reactor.close()
    assert (source.is_file, taken) == (True, commands)


def test_nothing_at_all_ends_at_once() -> None:
    taken: list[str] = []
    reactor = HandReactor(HandClock())
    fd = os.open("/dev/null", os.O_RDONLY)
    source = CommandSource(fd, CommandReader(None, False), lambda given: taken.extend(given.commands))
    source.attach(reactor)
    os.close(fd)
    reactor.close()
    assert (source.ended, taken) == (True, [])
