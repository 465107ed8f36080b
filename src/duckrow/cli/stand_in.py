"""The process that a terminal or systemd watches: it ends with the daemon, while the daemon's keeper stays for jobs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from duckrow.core.errors import EXIT_FAILED, EXIT_OK, DuckrowError
from duckrow.kernel.parentage import signal_when_it_dies

_KILLED = 128 + signal.SIGKILL  # it did not say how it ended, so it could not
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


def stand_in(serve: Callable[[], None]) -> int:
    """Serve in a child, which becomes the keeper and the daemon's parent; the exit code, once the daemon has ended.

    The keeper may have to stay for hours, until the last job has ended. Your prompt, or a restart by systemd, must not
    wait that long.
    """
    reading, writing = os.pipe()  # the keeper closes its copy, so the pipe ends with the daemon
    stand_in = os.getpid()
    keeper = os.fork()
    if keeper == 0:
        os.close(reading)
        return _serve(serve, writing, stand_in)
    os.close(writing)
    for number in _PASSED_ON:
        signal.signal(number, lambda number, _frame: os.kill(keeper, number))
    said = b""
    while more := os.read(reading, 16):
        said += more
    return said[-1] if said else _KILLED


def _serve(serve: Callable[[], None], writing: int, stand_in: int) -> int:
    if not signal_when_it_dies(stand_in, signal.SIGTERM):  # without it, nobody would watch the daemon
        return EXIT_FAILED
    try:
        serve()
    except BaseException as error:  # others report the error; here it is only an exit code
        os.write(writing, bytes([error.exit_code if isinstance(error, DuckrowError) else EXIT_FAILED]))
        raise
    os.write(writing, bytes([EXIT_OK]))
    return EXIT_OK
