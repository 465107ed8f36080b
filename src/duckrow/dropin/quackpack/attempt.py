"""Runs first in the attempt of a job with apply functions: gets the command from them, and replaces itself by it."""

from __future__ import annotations

import os
import signal
import sys

from duckrow.dropin.quackpack.apply_calls import Answer, call_stored
from duckrow.dropin.quackpack.apply_server import ask
from duckrow.dropin.quackpack.command_words import split_words

NOT_FOUND = 127  # as in shells


def main(folder: str, cmd: str) -> int:
    attempt = f"{os.environ['DUCKROW_JOB_ID']}.{os.environ['DUCKROW_ATTEMPT']}"
    answer = ask(folder, attempt) or call_stored(folder, cmd, dict(os.environ))
    if answer.failure:
        print(answer.failure, file=sys.stderr, flush=True)
        return 1
    return _become(answer)


def _become(answer: Answer) -> int:
    words = split_words(answer.command)
    if not words:
        print("The apply functions have left no command.", file=sys.stderr)
        return 1
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    for name, value in answer.changes.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    for file in answer.claims:
        os.set_inheritable(file, True)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, but commands expect the defaults
        signal.signal(number, signal.SIG_DFL)
    try:
        return os.execvp(words[0], words)
    except OSError as error:
        print(f"{words[0]} cannot be run: {error.strerror}.", file=sys.stderr)
        return NOT_FOUND


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
