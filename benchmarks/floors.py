"""The least that Python needs for 1,000 commands, two at a time.

`python -m benchmarks.floors [--sessions] FILE [DATABASE]`: a process for each with `posix_spawn`, its end by a pidfd.
With a database, a row that it starts and one that it ended. With --sessions, each in its own session, as duckrow does.
"""

from __future__ import annotations

import os
import select
import sqlite3
import sys

AT_A_TIME = 2


def run(commands: list[str], database: sqlite3.Connection | None, sessions: bool) -> None:
    epoll, running = select.epoll(), dict[int, tuple[int, int]]()
    waiting = list(enumerate(commands))[::-1]
    while waiting or running:
        while waiting and len(running) < AT_A_TIME:
            number, command = waiting.pop()
            if database is not None:
                database.execute("INSERT INTO jobs (id, command) VALUES (?, ?)", (number, command))
            pid = os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ, setsid=sessions)
            pidfd = os.pidfd_open(pid)
            epoll.register(pidfd, select.EPOLLIN)
            running[pidfd] = (number, pid)
        for pidfd, _ in epoll.poll():
            number, pid = running.pop(pidfd)
            _, status = os.waitpid(pid, 0)
            epoll.unregister(pidfd)  # a process that is just starting may still have a copy of it
            os.close(pidfd)
            if database is not None:
                database.execute("UPDATE jobs SET status = ? WHERE id = ?", (status, number))


def opened(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute("DROP TABLE IF EXISTS jobs")
    database.execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY, command TEXT, status INTEGER)")
    return database


if __name__ == "__main__":
    file, *database = [word for word in sys.argv[1:] if word != "--sessions"]
    with open(file) as lines:
        run(lines.read().splitlines(), opened(*database) if database else None, "--sessions" in sys.argv)
