"""Previews jobs before they are added: how a text is read, what is wrong with it, where it would run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from duckrow.api.adding.options import Request, read_options, with_recipe
from duckrow.api.adding.program_words import without_shell
from duckrow.api.adding.run_folders import give_folders
from duckrow.api.adding.would_place import WouldPlace
from duckrow.api.client import Client
from duckrow.api.jobs.submit import submit_jobs
from duckrow.core.errors import UsageError
from duckrow.core.jobs.arrays import Array, parse_array
from duckrow.core.jobs.job import JobSpec, shorten
from duckrow.core.jobs.job_lines import Entry, read_batch
from duckrow.core.units import plural

MOST_JOBS = 10_000
_AWAY = "it goes to the cluster, which places it"


@dataclass(frozen=True)
class DraftedJobs:
    """What somebody wants to add, in the words of `duckrow submit`."""

    text: str
    options: Mapping[str, Any] = field(default_factory=dict)  # those of `duckrow.submit`
    array: str | None = None  # 0-9%4: run the one command once for each index
    delimiter: str | None = None  # a line that is just this ends a job of several lines
    root: str | None = None  # create the runs' folders there
    snapshot: bool = False  # copy the code first


@dataclass
class Draft:
    entry: Entry
    spec: JobSpec | None = None  # None: it is invalid
    problems: list[str] = field(default_factory=list)


def read_drafts(wanted: DraftedJobs) -> tuple[Request, list[Draft]]:
    """Every job of the text with its problems; a problem of all of them raises an error."""
    request = read_options(wanted.options)
    entries = read_batch(wanted.text, wanted.delimiter)
    if not entries:
        raise UsageError("There is no command in this text. Write one on each line.")
    drafts = [_draft(entry, request) for entry in entries]
    if wanted.array is not None:
        drafts = _arrayed(drafts, parse_array(wanted.array))
    if len(drafts) > MOST_JOBS:
        raise UsageError(f"{len(drafts)} jobs are too many for one request: at most {MOST_JOBS}.")
    if len(drafts) > 1 and wanted.options.get("outfile"):
        raise UsageError("An output file is for one job: several would overwrite each other's output.")
    _find_shared_outfiles(drafts)
    return request, drafts


def _arrayed(drafts: list[Draft], array: Array) -> list[Draft]:
    """One job for each index."""
    if len(drafts) != 1:
        raise UsageError("An array is for one command. This text already has one job per line.")
    if len(array.indices) > MOST_JOBS or drafts[0].spec is None:
        return drafts * len(array.indices)
    spec = drafts[0].spec
    return [replace(drafts[0], spec=replace(spec, array_index=index)) for index in array.indices]


def _draft(entry: Entry, request: Request) -> Draft:
    if entry.problem:
        return Draft(entry, None, [entry.problem])
    draft = Draft(entry)
    try:
        command = _program(entry.command) if entry.is_program else entry.command
        spec = with_recipe(request.spec(command=command, name=entry.name or request.name), None)
    except UsageError as error:
        draft.problems.append(str(error))
        return draft
    if entry.outfile is not None:
        spec.outfile = os.path.join(spec.cwd, entry.outfile)
        draft.problems += outfile_problems(spec.outfile)
    draft.spec = spec
    return draft


def _program(command: str) -> str:
    """A command that is split like in a shell, but runs without one."""
    try:
        return without_shell(shlex.split(command))
    except ValueError as error:
        written = shorten(command)
        raise UsageError(f"The command '{written}' cannot be split into words: {str(error).lower()}.") from None


def outfile_problems(path: str) -> list[str]:
    """Why the output cannot go there. Checked before anything is written; an existing file is never overwritten."""
    if "\0" in path:
        return ["The output file has a NUL byte in its name."]
    folder = os.path.dirname(path)
    if os.path.lexists(path):
        return [f"The output file {path} already exists."]
    if not os.path.isdir(folder):
        return [f"The output file {path} cannot be opened: there is no folder {folder}."]
    if not os.access(folder, os.W_OK):
        return [f"The output file {path} cannot be opened: {folder} cannot be written."]
    return []


def _find_shared_outfiles(drafts: Sequence[Draft]) -> None:
    seen: set[str] = set()
    for draft in drafts:
        path = None if draft.entry.outfile is None or draft.spec is None else draft.spec.outfile
        if path in seen and path is not None:
            draft.problems.append(f"Another of these jobs also writes to {path}.")
        elif path is not None:
            seen.add(path)


def preview(client: Client, wanted: DraftedJobs) -> dict[str, Any]:
    try:
        request, drafts = read_drafts(wanted)
    except UsageError as error:
        return {"jobs": [], "problems": [str(error)]}
    would = WouldPlace(client) if request.cluster is None else None
    jobs = [_previewed(draft, would) for draft in drafts]
    return {"jobs": jobs, "problems": [problem for job in jobs for problem in job["problems"]]}


def _previewed(draft: Draft, would: WouldPlace | None) -> dict[str, Any]:
    """`would`: None for a cluster, which places jobs itself."""
    words, note = _words(draft.entry.command)
    placement, never = ("", None) if draft.spec is None else (_AWAY, None) if would is None else would.place(draft.spec)
    return {
        "name": draft.spec.name if draft.spec else draft.entry.name,
        "command": draft.entry.command,
        "array_index": None if draft.spec is None else draft.spec.array_index,
        "words": words,
        "note": note,
        "outfile": None if draft.spec is None else draft.spec.outfile,
        "placement": placement,
        "problems": [*draft.problems, *([never] if never else [])],
    }


def _words(command: str) -> tuple[list[str], str | None]:
    """(the words as a shell would split them, a hint at a mistake)."""
    try:
        return shlex.split(command), None
    except ValueError as error:
        return command.split(), f"A shell may not understand this: {str(error).lower()}."


def add_drafts(client: Client, wanted: DraftedJobs) -> list[int]:
    """Add all of them or none."""
    request, drafts = read_drafts(wanted)
    problems = [problem for draft in drafts for problem in draft.problems]
    if problems:
        more = f" ({plural(len(problems) - 1, 'more problem')})" if len(problems) > 1 else ""
        raise UsageError(f"{problems[0]}{more} Nothing was added.")
    specs = [draft.spec for draft in drafts if draft.spec is not None]
    if wanted.root or wanted.snapshot:
        give_folders(specs, os.path.join(specs[0].cwd, wanted.root or client.folder.runs), wanted.snapshot)
    if request.cluster is not None:
        from duckrow.api.clusters.submit import submit_batch

        return list(submit_batch(client, specs, request.cluster, request.environment, request.name))
    limit = None if wanted.array is None else parse_array(wanted.array).max_running
    return list(submit_jobs(client, specs, request.environment, request.after, limit))
