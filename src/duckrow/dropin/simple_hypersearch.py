"""simple_hypersearch's command on duckrow: a grid as commands, in the same order as the original."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Iterable, Sequence

from duckrow.core.errors import EXIT_FAILED, EXIT_OK, DuckrowError, UsageError
from duckrow.core.sweeps.sweep import shuffle
from duckrow.core.sweeps.template import render


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    grid = {name: values for name, *values in options.parameter}  # the last of several with the same name wins
    points = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    if options.sampling_mode == "shuffled_grid":
        points = shuffle(points, options.seed)
    try:
        return _print([_formatted(options.command_pattern, point) for point in points[: options.n_samples]])
    except DuckrowError as error:
        print(f"simple_hypersearch: {error}", file=sys.stderr)
        return error.exit_code


def _print(commands: Iterable[str]) -> int:
    """As bytes: what was typed may not be valid text in this locale."""
    if sys.stdout is None:  # closed
        return EXIT_OK
    try:
        with open(sys.stdout.fileno(), "wb", closefd=False) as out:
            out.writelines(os.fsencode(command) + b"\n" for command in commands)
    except BrokenPipeError:
        return EXIT_FAILED  # the reader has gone
    except OSError as error:
        raise DuckrowError(f"The commands cannot be written: {error.strerror}.") from None
    return EXIT_OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="simple_hypersearch", description="Print a command for each combination of the parameters."
    )
    parser.add_argument("command_pattern", help="the command, with {name} where a value goes")
    parser.add_argument(
        "--sampling-mode", choices=["shuffled_grid", "grid"], default="shuffled_grid", help="order of the commands"
    )
    parser.add_argument("--n-samples", type=int, help="print only N commands, drawn without replacement")
    parser.add_argument("--seed", type=int, help="same seed, same order")
    parser.add_argument(
        "-p",
        "--parameter",
        nargs="+",
        action="append",
        default=[],
        metavar=("NAME", "VALUES"),
        help="a parameter and its values: -p lr 0.01 0.001",
    )
    return parser


def _formatted(pattern: str, point: dict[str, str]) -> str:
    """As in the original; in a pattern with other braces, such as ${HOME} or JSON, only the parameters are replaced."""
    try:
        return pattern.format(**point)
    except (KeyError, IndexError, ValueError, AttributeError, TypeError):
        return render(pattern, point, quoted=False)
    except (MemoryError, OverflowError):
        raise UsageError("A command would not fit into memory. Look at the widths in the pattern.") from None


if __name__ == "__main__":
    sys.exit(main())
