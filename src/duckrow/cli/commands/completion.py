"""`duckrow completion`: the script by which a shell completes duckrow's words."""

from __future__ import annotations

import click

from duckrow.cli.completing import VARIABLE
from duckrow.cli.console import say
from duckrow.core.errors import EXIT_OK

INSTALL = {
    "bash": "duckrow completion bash > ~/.local/share/bash-completion/completions/duckrow",
    "zsh": "duckrow completion zsh > ~/.zfunc/_duckrow, with fpath+=~/.zfunc before compinit in ~/.zshrc",
    "fish": "duckrow completion fish > ~/.config/fish/completions/duckrow.fish",
}


@click.command(short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(list(INSTALL)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print the script by which a shell completes verbs, options, ids and names of jobs.

    \b
    duckrow completion bash > ~/.local/share/bash-completion/completions/duckrow
    duckrow completion zsh > ~/.zfunc/_duckrow
    duckrow completion fish > ~/.config/fish/completions/duckrow.fish
    eval "$(duckrow completion bash)"      just in this shell
    """
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)
    assert complete is not None, shell
    # The text alone: `source` would run bash, to complain about an old one on the wrong machine.
    maker = complete(ctx.find_root().command, {}, "duckrow", VARIABLE)
    print(complete.source_template % maker.source_vars())
    say(f"duckrow: to install it: {INSTALL[shell]}; then open a new shell.")
    return EXIT_OK
