"""`duckrow dropin`: an older tool's command by its own name and options."""

from __future__ import annotations

import click

from duckrow.api.calls.interpreter import become, module_command
from duckrow.core.errors import UsageError

TOOLS = ("simple_gpu_scheduler", "simple_hypersearch", "gpupeasy")


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []},
    short_help="Run an older tool's own command.",
)
@click.argument("words", nargs=-1, metavar="TOOL [OPTIONS]...", type=click.UNPROCESSED)
def command(words: tuple[str, ...]) -> int:
    """Run an older tool's command, with its own options and output.

    \b
    duckrow dropin simple_gpu_scheduler --gpus 0 1 2 < commands.txt
    duckrow dropin simple_hypersearch 'python train.py --lr {lr}' -p lr 0.1 0.01
    duckrow dropin gpupeasy server
    duckrow dropin gpupeasy gui

    `duckrow dropin TOOL --help` shows its options.
    """
    if not words or words[0] in ("-h", "--help"):
        print(command.get_help(click.get_current_context()))
        return 0
    tool = words[0].replace("-", "_")
    if tool not in TOOLS:
        raise UsageError(f"There is no drop-in '{words[0]}'. Choose from: {', '.join(TOOLS)}.")
    return become(module_command(f"duckrow.dropin.{tool}", *words[1:]))
