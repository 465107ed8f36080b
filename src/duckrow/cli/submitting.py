"""What `duckrow submit` does once its words are parsed: the jobs are on disk before their ids are printed."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping, Sequence

from duckrow.api.client import Client
from duckrow.api.jobs.submit import submit_jobs
from duckrow.cli.console import print_json, say, tell
from duckrow.cli.options.command_words import command_of
from duckrow.cli.options.submit_output import output_of, refuse_outputs
from duckrow.cli.options.submitted_script import SubmittedScript, say_not_read, say_unused, variables_for_sbatch
from duckrow.cli.options.typed_job_options import JobOptions, nothing_typed, read_job_options
from duckrow.core.errors import EXIT_FAILED, EXIT_OK, FieldError, UsageError
from duckrow.core.jobs.command_list import CommandList
from duckrow.core.jobs.job import SKIP
from duckrow.core.life.states import Outcome
from duckrow.core.named_tuple import NamedTuple

TYPE_CHECKING = False  # of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from typing import Any

    from duckrow.core.jobs.arrays import Array
    from duckrow.core.jobs.job import JobSpec
    from duckrow.core.jobs.output_names import OutputNames
    from duckrow.core.life.dependencies import Dependency


class SubmitOptions(NamedTuple):
    """The options of `submit` alone, as typed; by default, as if none was typed."""

    delimiter: str | None = None
    form: str = "commands"  # of the lines: commands, or JSON
    wrap: str | None = None
    outfile: str | None = None
    error: str | None = None
    after: tuple[str, ...] = ()
    dependency: tuple[str, ...] = ()  # the same in sbatch's syntax
    if_broken: str | None = None
    begin: str | None = None
    array: str | None = None
    priority: int | None = None
    root: str | None = None
    snapshot: bool = False
    hold: bool = False
    waits: bool = False
    as_json: bool = False


def submit_plainly(words: Sequence[str]) -> int:
    """A command without any option."""
    return submit_commands(CommandList([command_of_words(words)]), SubmitOptions(), read_job_options(nothing_typed()))


def submit_commands(
    listed: CommandList,
    given: SubmitOptions,
    options: JobOptions,
    gpus: int | None = None,
    script: SubmittedScript = SubmittedScript(),  # noqa: B008
    on: str | None = None,
    asked: Mapping[str, Any] | None = None,
) -> int:
    """`on`, `asked`: the cluster, and the request to it."""
    options.priority = options.priority if given.priority is None else given.priority
    output = output_of(given.outfile, given.error)
    outfile = None if output else given.outfile
    if given.form == "json":
        specs = _specs_of_lines(listed, options, gpus, outfile, on)
    else:
        specs = listed.each(options.spec_maker(gpus, outfile))
    _say_when(specs, given)
    array = None if given.array is None else _array(given.array)
    if array is not None:
        specs = _arrayed(specs, array)
    refuse_outputs(specs, given.outfile, output)
    with Client() as client:
        if on is not None:
            return _submit_on(client, on, asked or {}, specs, given, dict(options.variables), options.name, script)
        try:
            return _submit_here(client, specs, given, options, array, output, script)
        except FieldError as error:
            raise _of_its_line(error, listed) if given.form == "json" else error from None


def _say_when(specs: Sequence[JobSpec], given: SubmitOptions) -> None:
    """What they wait for besides a device, if anything."""
    if not (given.hold or given.if_broken or given.begin):
        return
    begin = (None, None) if given.begin is None else _begin(given.begin)
    for spec in specs:
        spec.held, spec.if_broken = given.hold, given.if_broken or SKIP
        spec.not_before, spec.delay_s = begin


def _submit_here(
    client: Client,
    specs: list[JobSpec],
    given: SubmitOptions,
    options: JobOptions,
    array: Array | None,
    output: OutputNames | None,
    script: SubmittedScript,
) -> int:
    if given.root or given.snapshot:
        from duckrow.api.adding.run_folders import give_folders

        give_folders(specs, given.root or client.runs_folder, given.snapshot)
    after = _after(given)
    limit = array.max_running if array else None
    variables = {**variables_for_sbatch(script, specs[0], array, given.wrap), **dict(options.variables)}
    ids = submit_jobs(client, specs, variables, after, limit, output)
    gc.enable()
    say_unused(script)
    _print_ids(ids, specs, given.as_json)
    return _wait(client, ids) if given.waits else EXIT_OK


def command_of_words(words: Sequence[str], script: str = "", moves: bool = False) -> str:
    """`script`: its text, if the first word is one; `moves`: it runs in another folder than this one."""
    if script and moves:
        words = [os.path.abspath(words[0]), *words[1:]]  # its path is relative to here, but it runs there
    if script and not os.access(words[0], os.X_OK):
        words = [*interpreter(script), *words]
    elif script and "/" not in words[0]:
        words = [f"./{words[0]}", *words[1:]]
    elif not script:
        _refuse_no_script(words)
    return command_of(words)


def interpreter(script: str) -> list[str]:
    first = script.split("\n", 1)[0]
    return first[2:].split() if first.startswith("#!") else ["/bin/sh"]


def _array(text: str) -> Array:
    from duckrow.core.jobs.arrays import parse_array

    return parse_array(text)


def _refuse_no_script(words: Sequence[str]) -> None:
    """Refuse `duckrow submit train.sh` if there is no such file, or nothing that could run it."""
    path, ending = words[0], os.path.splitext(words[0])[1]
    if ending not in _PROGRAMS or any(character in path for character in " ;|&<>$`'\"()"):
        return
    if not os.path.exists(path):
        import shutil

        if "/" in path or shutil.which(path) is None:
            raise UsageError(f"There is no file {path} in this folder. Give its path, or a command to run.")
    elif os.path.isfile(path) and ("/" not in path or not os.access(path, os.X_OK)):
        import shlex

        rest = f" {shlex.join(words[1:])}" if words[1:] else ""
        raise UsageError(
            f"{path} does not begin with #!, so duckrow does not know which program runs it. Write: "
            f"duckrow submit -- {_PROGRAMS[ending]} {path}{rest}"
        )


_PROGRAMS = {".sh": "sh", ".bash": "bash", ".py": "python", ".sbatch": "bash", ".slurm": "bash"}


def _specs_of_lines(
    listed: CommandList, options: JobOptions, gpus: int | None, outfile: str | None, on: str | None
) -> list[JobSpec]:
    """Jobs from lines of JSON; `on`: the cluster that they go to."""
    from duckrow.cli.options.json_jobs import OwnFolders, refuse_own_request, spec_of_line

    folders = OwnFolders()

    def spec_of(line: str) -> JobSpec:
        spec = folders.take(spec_of_line(line, options, gpus))
        spec.outfile = spec.outfile or (None if outfile is None else os.path.abspath(outfile))
        if on is None:
            refuse_own_request(spec)
        return spec

    return listed.each(spec_of)


def _of_its_line(error: FieldError, listed: CommandList) -> UsageError:
    """An error about one of the jobs, in the words of the line of JSON that it comes from."""
    from duckrow.cli.options.json_jobs import names_in

    number = min(error.number or 0, len(listed.commands) - 1)  # an array has many jobs of one line
    return UsageError(listed.told(number, error.written(names_in(listed.commands[number]))))


def _after(given: SubmitOptions) -> list[Dependency]:
    """What it waits for, from `--after` and sbatch's `--dependency`."""
    if not (given.after or given.dependency):
        return []
    from duckrow.core.life.dependencies import parse_after

    texts = list(given.after)
    if given.dependency:
        from duckrow.core.slurm.sbatch_values import after

        texts += [after(text) for text in given.dependency]
    return [dependency for text in texts for dependency in parse_after(text)]


def _submit_on(
    client: Client,
    on: str,
    asked: Mapping[str, Any],
    specs: list[JobSpec],
    given: SubmitOptions,
    variables: dict[str, str],
    name: str,
    script: SubmittedScript,
) -> int:
    """Submit to a cluster, without waiting for the runs."""
    from duckrow.api.clusters.submit import read_request, submit_batch
    from duckrow.cli.options.slurm_options import refuse_with_cluster

    in_slurm = "SLURM has it itself: --sbatch="
    own_log = "Each run has its own log: duckrow logs."
    refuse_with_cluster([("begin", given.begin, f"{in_slurm}--begin=..."), ("error", given.error, own_log)])
    if given.outfile and "%" in given.outfile:
        raise UsageError(f"--outfile {given.outfile}: a % does not go with --on. {own_log}")
    say_not_read(script)
    after = _after(given)
    if after and given.hold:
        raise UsageError("--hold does not go with --after on a cluster: hold the jobs that they wait for.")
    if given.root or given.snapshot:
        from duckrow.api.adding.run_folders import give_folders

        give_folders(specs, given.root or "duckrow-runs", given.snapshot)
    ids = submit_batch(client, specs, read_request(on, asked), variables, name, tell=tell, after=after)
    _print_ids(ids, specs, given.as_json)
    return _wait(client, ids) if given.waits else EXIT_OK


def _begin(text: str) -> tuple[float | None, float | None]:
    """(not before, delay)."""
    from duckrow.api.adding.begin import parse_begin

    return parse_begin(text)


def _arrayed(specs: list[JobSpec], array: Array) -> list[JobSpec]:
    """One job for each index."""
    if len(specs) != 1:
        raise UsageError("--array is for one command. A file already has one job per line.")
    from dataclasses import replace

    return [replace(specs[0], array_index=index) for index in array.indices]


def _wait(client: Client, ids: Sequence[int]) -> int:
    """The exit code of one job, as a shell reports it; for several, whether all succeeded."""
    from duckrow.api.jobs.wait import wait

    views = wait(client, ids, tell=tell)
    if len(views) > 1:
        return EXIT_OK if all(view.outcome == Outcome.SUCCEEDED for view in views) else EXIT_FAILED
    if views[0].signal is not None:
        return 128 + views[0].signal
    return EXIT_FAILED if views[0].exit_code is None else views[0].exit_code


def _print_ids(ids: Sequence[int], specs: list[JobSpec], as_json: bool) -> None:
    if as_json:
        print_json([{"id": job_id, "name": spec.name} for job_id, spec in zip(ids, specs, strict=True)])
    elif len(ids) == 1:
        print(ids[0])
    else:
        print(f"{ids[0]}-{ids[-1]}")
        say(f"duckrow: {len(ids)} jobs submitted.")
