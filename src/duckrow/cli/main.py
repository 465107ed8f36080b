"""`duckrow`: answers --help at once, runs the verb otherwise, and turns errors into messages."""

from __future__ import annotations

import gc
import os
import sys

from duckrow.cli.plain import answer
from duckrow.cli.refusals import end_line, open_missing_streams, refused_by_machine, say
from duckrow.core.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, DuckrowError

TYPE_CHECKING = False  # that of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    open_missing_streams()
    code = run_cli(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass  # the reader has gone
    # Tearing the interpreter down would take as long as many a command.
    os._exit(code)


def run_cli(arguments: list[str]) -> int:
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        end_line()
        return EXIT_INTERRUPTED
    except DuckrowError as error:
        say(f"duckrow: {error}")
        return error.exit_code
    except BrokenPipeError:
        # The reader has gone (`duckrow ls | head`), so there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except OSError as error:
        say(f"duckrow: {refused_by_machine(error, arguments[0] if arguments else '')}")
        return EXIT_FAILED


def _run(arguments: list[str]) -> int:
    if arguments in (["--help"], ["-h"]):
        from duckrow.cli.help import help_text

        print(help_text(whole=False))
        return EXIT_OK
    gc.disable()  # until the verb is loaded: nothing that it loads is garbage
    code = answer(arguments)
    if code is not None:
        return code
    from duckrow.cli.group import run_verb  # click takes longer to load than many a verb

    return run_verb(arguments)
