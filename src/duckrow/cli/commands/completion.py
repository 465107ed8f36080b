"""`duckrow completion`: the script for shell completion."""

from __future__ import annotations

import os
import stat
import sys

import click

from duckrow.api.machine.doctor import COMPLETIONS, completion_install
from duckrow.cli.completing import VARIABLE
from duckrow.cli.console import say
from duckrow.core.errors import EXIT_OK

_ALSO = {
    "bash": "; it needs the package bash-completion",
    "zsh": ", with fpath+=~/.zfunc before compinit in ~/.zshrc",
    "fish": "",
}
# If duckrow has no suggestions, complete files, as without a script. In fish, click's script would also cut suggestions
# at the first comma.
_LOOP_ZSH, _LOOP_FISH = "    for type key", "    for completion"
_CHANGES = {
    "bash": {"complete -o nosort": "complete -o nosort -o default"},
    "zsh": {_LOOP_ZSH: f'    [[ -z "$response" ]] && {{ _files; return }}\n\n{_LOOP_ZSH}'},
    "fish": {
        _LOOP_FISH: f'    test -z "$response"; and __fish_complete_path (commandline -ct);\n\n{_LOOP_FISH}',
        'string split ","': 'string split --max 1 ","',
    },
}


@click.command(short_help="Print the completion script for a shell.")
@click.argument("shell", type=click.Choice(list(COMPLETIONS)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print the script that completes verbs, options, ids and names of jobs in your shell.

    \b
    duckrow completion bash > ~/.local/share/bash-completion/completions/duckrow
    duckrow completion zsh > ~/.zfunc/_duckrow
    duckrow completion fish > ~/.config/fish/completions/duckrow.fish
    eval "$(duckrow completion bash)"      only in this shell

    If the folder does not exist, create it first: mkdir -p ~/.zfunc
    """
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)
    assert complete is not None, shell
    # Only the text: `source` would run bash to check its version, perhaps on the wrong machine.
    maker = complete(ctx.find_root().command, {}, "duckrow", VARIABLE)
    script = complete.source_template % maker.source_vars()
    for old, new in _CHANGES[shell].items():
        script = script.replace(old, new)
    print(script)
    if not _is_read_by_a_shell():
        say(f"duckrow: to install it: {completion_install(shell)}{_ALSO[shell]}; then open a new shell.")
    return EXIT_OK


def _is_read_by_a_shell() -> bool:
    """`eval "$(duckrow completion bash)"` may be in a .bashrc: then a message in every shell would be annoying."""
    try:
        return stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):
        return False
