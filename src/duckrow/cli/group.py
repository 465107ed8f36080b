"""The verbs for click: finds the one that was typed, and loads only that one."""

from __future__ import annotations

import gc
import importlib
from typing import TYPE_CHECKING, Any

import click

from duckrow.cli.completing import is_completing, read_nothing
from duckrow.cli.help import OPTIONS, help_text
from duckrow.cli.help_all import shows_all, with_help_all
from duckrow.cli.verbs import ALIAS_LINES, ALIASES, ELSEWHERE, VERBS
from duckrow.core.errors import EXIT_INTERRUPTED, EXIT_OK, DuckrowError
from duckrow.core.nearest_word import nearest_word

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        module = importlib.import_module(f"duckrow.cli.commands.{name}")
        gc.freeze()  # the collector need not look at it again, in a host that lives for days or in its children
        gc.enable()
        command: click.Command = module.command
        return with_help_all(command)

    def get_help(self, ctx: click.Context) -> str:
        return help_text(whole=shows_all(ctx))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Words from a list, so that no verb has to be loaded."""
        from click.shell_completion import CompletionItem

        # An alias that begins like a verb would keep the verb from being completed.
        lines = VERBS if any(name.startswith(incomplete) for name in VERBS) and incomplete else {**VERBS, **ALIAS_LINES}
        verbs = [CompletionItem(name, help=line) for name, line in lines.items() if name.startswith(incomplete)]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if name == "help":
            return self._resolve_help(ctx, args[1:])
        if name in ELSEWHERE and not ctx.resilient_parsing:
            raise click.UsageError(f"There is no command '{name}'. Use: {ELSEWHERE[name]}", ctx)
        if name in ALIASES:
            return super().resolve_command(ctx, [*ALIASES[name].split(), *args[1:]])
        if name not in VERBS and not ctx.resilient_parsing:
            near = nearest_word(name, [*VERBS, *ALIASES])
            hint = f" Did you mean `duckrow {near}`?" if near else " `duckrow --help` lists the commands."
            raise click.UsageError(f"There is no command '{name}'.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def _resolve_help(self, ctx: click.Context, args: list[str]) -> Any:
        """`duckrow help`, `duckrow help ls`."""
        if not args:
            click.echo(ctx.get_help())
            ctx.exit()
        return self.resolve_command(ctx, [*args, "--help"])


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from duckrow.api.machine.versions import versions

        for name, version in versions().items():
            click.echo(f"{name} {version}")
        ctx.exit()


@click.group(
    cls=Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, callback=_version, expose_value=False, is_eager=True, help=OPTIONS["--version"]
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        from duckrow.cli.views.overview import overview

        click.echo("\n".join(overview()))


with_help_all(cli)


def run_verb(arguments: list[str]) -> int:
    if is_completing():
        read_nothing()
    try:
        result = cli.main(arguments, prog_name="duckrow", standalone_mode=False)
        return result if isinstance(result, int) else EXIT_OK
    except click.ClickException as error:
        return _refused(error)
    except click.Abort:
        return EXIT_INTERRUPTED
    except DuckrowError:
        if is_completing():
            return EXIT_OK  # half a command line is often wrong
        raise


def _refused(error: click.ClickException) -> int:
    from duckrow.cli.refusals import say
    from duckrow.cli.wrong_usage import refusal_of

    say(f"duckrow: {refusal_of(error)}")
    return error.exit_code
