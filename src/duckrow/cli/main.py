"""`duckrow`: finds the verb, loads it alone, and turns errors into sentences."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from duckrow.cli.completing import is_completing, read_nothing
from duckrow.cli.refusals import open_missing_streams, refused_by_click, refused_by_machine, say
from duckrow.core.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, DuckrowError
from duckrow.core.nearest_word import nearest_word

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# The verbs in the order of the help, each with its line there, so that showing help loads none of them.
VERBS = {
    "run": "Run commands from a file or a pipe, here and now.",
    "sweep": "Run a command over a grid of parameters.",
    "submit": "Add a job, or thousands, to the daemon's queue.",
    "ls": "List jobs.",
    "show": "Show everything about a job.",
    "logs": "Show the output of jobs.",
    "results": "Show the runs of a sweep: parameters, metrics, how they went.",
    "report": "Record metrics of a run, from a shell script.",
    "why": "Say why a job is not running.",
    "wait": "Wait until jobs are done; the exit code tells success.",
    "kill": "Stop jobs, with all their processes.",
    "rerun": "Put jobs that are done back into the queue.",
    "hold": "Hold waiting jobs back.",
    "release": "Let held jobs start.",
    "priority": "Change which jobs come first.",
    "move": "Change the order of waiting jobs.",
    "edit": "Change a job that waits.",
    "rm": "Forget jobs that wait or are done.",
    "clean": "Forget jobs that have been done for long, and what ended runs have left.",
    "pause": "Start nothing more, of all or of a project; or pause jobs.",
    "resume": "Go on after a pause.",
    "batches": "Show the batches of runs on clusters.",
    "limit": "Limit how many jobs of a project run at a time.",
    "gpus": "Show the devices, add, drain and remove them.",
    "memory": "Show, correct and forget what was learned about the GPU memory of jobs.",
    "web": "Show the queue in a browser, and steer it.",
    "up": "Start the daemon.",
    "down": "Stop the daemon; running jobs go on.",
    "config": "Show the settings and where they come from.",
    "doctor": "Check this installation and say what to do.",
    "dropin": "Stand in for an older tool: simple_gpu_scheduler, simple_hypersearch, gpupeasy.",
    "completion": "Print the completion script of a shell.",
}
# The words of Slurm and pueue that are in people's fingers.
ALIASES = {
    "add": "submit",
    "status": "ls",
    "queue": "ls",
    "log": "logs",
    "follow": "logs -f",
    "cancel": "kill",
    "restart": "rerun",
}


# What other tools call it, where ours works differently, with what to type here.
ELSEWHERE = {
    "sbatch": "duckrow submit script.sh",
    "srun": "duckrow run -- python train.py",
    "squeue": "duckrow ls",
    "scancel": "duckrow kill 12",
    "ps": "duckrow ls",
    "start": "duckrow up (the daemon), duckrow release 12 (a held job) or duckrow resume (after a pause)",
    "stop": "duckrow kill 12 (a job) or duckrow down (the daemon)",
    "stash": "duckrow hold 12",
    "enqueue": "duckrow release 12",
    "parallel": "duckrow run commands.txt (a list) or duckrow limit (how many of a project run at a time)",
    "group": "a project: duckrow submit --project thesis, duckrow limit thesis 2",
}


_ALIAS_LINES = {alias: f"Same as {words}." for alias, words in ALIASES.items()}


class Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        module = importlib.import_module(f"duckrow.cli.commands.{name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))
        with formatter.section("Also known as"):
            formatter.write_dl([(alias, f"Same as {words}.") for alias, words in ALIASES.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Words of a list, so that none of the verbs has to be loaded."""
        from click.shell_completion import CompletionItem

        # An alias that begins like a verb would only keep that from being completed.
        lines = (
            VERBS if any(name.startswith(incomplete) for name in VERBS) and incomplete else {**VERBS, **_ALIAS_LINES}
        )
        verbs = [CompletionItem(name, help=line) for name, line in lines.items() if name.startswith(incomplete)]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if name == "help":
            return self._resolve_help(ctx, args[1:])
        if name in ELSEWHERE and not ctx.resilient_parsing:
            raise click.UsageError(f"There is no command '{name}'. Here it is: {ELSEWHERE[name]}", ctx)
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
        from duckrow.api.versions import versions

        for name, version in versions().items():
            click.echo(f"{name} {version}")
        ctx.exit()


@click.group(
    cls=Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, callback=_version, expose_value=False, is_eager=True, help="Print the versions."
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """duckrow gets your GPU jobs in a row.

    \b
    duckrow run --devices 0,1 commands.txt  run a list of commands, one per GPU at a time
    duckrow submit -- python train.py       add a job to the queue and go home
    duckrow ls                              see how it goes
    """
    if ctx.invoked_subcommand is None:
        from duckrow.cli.overview import overview

        click.echo("\n".join(overview()))


def main() -> NoReturn:
    if is_completing():
        read_nothing()
    open_missing_streams()
    code = run_cli(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass  # whoever read us has gone
    # To take the interpreter apart would take as long as many a command.
    os._exit(code)


def run_cli(arguments: list[str]) -> int:
    try:
        result = cli.main(arguments, prog_name="duckrow", standalone_mode=False)
        code = result if isinstance(result, int) else 0
        sys.stdout.flush()
        return code
    except click.ClickException as error:
        return refused_by_click(error)
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except DuckrowError as error:
        if is_completing():
            return EXIT_OK  # what is half typed may well be wrong
        say(f"duckrow: {error}")
        return error.exit_code
    except BrokenPipeError:
        # Whoever read us has gone (`duckrow ls | head`); there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except OSError as error:
        say(f"duckrow: {refused_by_machine(error, arguments[0] if arguments else '')}")
        return EXIT_FAILED
